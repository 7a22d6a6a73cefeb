# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The inspection of an account by adopt: a preview of onboarding, and what the user has set up before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...module_utils._core.errors import AccountError
from .._delivery.conversation import Conversation
from .._delivery.plan import Plan, ResourceTypes, key_of, skip_missing_keys
from .._roles import container_caches, tool_caches
from .._roles.table import ROLES
from . import proposals

if TYPE_CHECKING:
    from .._delivery.account_session import AccountSession
    from .._documents.adoption import AdoptAccount
    from .._documents.declaration import PlanEntry
    from .._documents.outcome import ResourceOutcome
    from .._roles.collect import DeclaredResources

KINDS = ResourceTypes({"existing_setup": "_audit_checks.existing_setup.ExistingSetup"})
SECONDS = 30  # the time limit of each step on the account
OVERRIDING_VARIABLES = ("HF_HOME", "TRANSFORMERS_CACHE", "XDG_CACHE_HOME")  # they override variables of roles


def inspect_account(session: AccountSession) -> AdoptAccount:
    """Return what the user already has on the account, found in one SSH session. Nothing is changed there.

    session: the connection to the account, with its Ansible variables.
    """
    # what they declare; the task itself has no resources
    all_roles = session.collect(list(ROLES), resources=[], tolerated=(AccountError,))
    selected_roles = session.select(list(ROLES))  # by --tags
    declared = skip_missing_keys(all_roles.of_roles(selected_roles), session.key)
    plan = Plan.of(declared.resources, session.key)
    inspection = inspection_entry(session.variables.get("cluster") or {}, declared.resources)
    # receipt: compare with the account's record of what hpc-onboard has created
    settings = {"work": "preview", "receipt": True, "seconds": SECONDS}
    # The inspection is first, because a preview simulates its changes for the entries after it.
    entries = [inspection, *plan.entries]
    conversation = Conversation(session, entries, settings)
    observation, *previews = conversation.fetch_outcomes(wait=0)  # wait: not needed, because a preview starts no job
    all_previews = plan.add_unmet(previews)  # with those of resources that could not be sent, because a key is missing
    outcomes = list(map(_name_as_planned, declared.resources, all_previews))
    desired = proposals.Desired(declared.resources, _is_conda_desired(session, declared.resources))
    result: AdoptAccount = {
        "kind": "adopt_account",
        "changed": False,
        "things": proposals.list_things(outcomes, observation["evidence"].get("existing", []), desired),
        "unclear": [*observation["remarks"], *filter(None, [observation["reason"]]), *_describe_refused(all_roles)],
    }
    return {**result, "sandbox": session.sandbox["root"]} if session.sandbox else result


def _describe_refused(declared: DeclaredResources) -> list[str]:
    """Return a sentence about each role with invalid settings, which cannot be compared with the account."""
    return [
        f"role {role}: not compared with the account, because its settings are invalid: {reason}"
        for role, reason in declared.refused.items()
    ]


def _name_as_planned(entry: PlanEntry, outcome: ResourceOutcome) -> ResourceOutcome:
    """Return the outcome with the name from its plan entry: a name from the account must not become a setting."""
    return {**outcome, "identity": key_of(entry).partition(" ")[2]}  # without the resource type before the space


def _is_conda_desired(session: AccountSession, declared: Sequence[PlanEntry]) -> bool:
    """Return True if the account shall have a conda, even if its distribution is not decided yet.

    declared: the resources of the selected roles. If the distribution is not decided, they contain no conda.
    """
    conda = (session.variables.get("cluster") or {}).get("conda", {})
    without = (session.variables.get("account") or {}).get("without", [])
    is_requested = any(session.value(f"conda_{name}") for name in ("wanted", "environments"))
    is_declared = any(entry["kind"] == "conda_install" for entry in declared)
    return is_declared or (is_requested and conda.get("policy") != "refused" and "conda" not in without)


def inspection_entry(cluster: Mapping[str, Any], declared: Sequence[PlanEntry]) -> PlanEntry:
    """Return the plan entry of the inspection, with the areas, variables and programs that roles could use.

    cluster: the profile. declared: the resources of the selected roles.
    """
    paths = [str(area.get("path") or area.get("variable") or "") for area in cluster.get("storage", [])]
    names = [variable for variables in tool_caches.TOOLS.values() for variable in variables]
    names += [variable for variables in container_caches.CACHES.values() for variable in variables]
    launchers = [entry["options"] for entry in declared if entry["capability"] == "launchers"]
    scripts = [str(options["path"]) for options in launchers if "content" in options]  # without declared folders
    options = {
        "areas": [{"path": path} for path in paths if path and "{" not in path],  # {project} may be unknown
        "variables": [*dict.fromkeys([*names, *OVERRIDING_VARIABLES])],  # each once
        "programs": [{"path": path} for path in scripts],
    }
    return {"kind": "existing_setup", "capability": "adopt", "options": options}
