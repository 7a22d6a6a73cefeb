# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The one look of adopt at an account: the plan of onboarding, previewed, and what the user has set up before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

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

KINDS = ResourceTypes({"existing_setup": "_audit_checks.existing_setup.ExistingSetup"})
SECONDS = 30
OUTRANKING = ("HF_HOME", "TRANSFORMERS_CACHE", "XDG_CACHE_HOME")  # variables next to those of the roles


def look_at_account(session: AccountSession) -> AdoptAccount:
    """Look at the account in one SSH session, and return what it has already. Nothing is changed there."""
    every = session.collect(list(ROLES), [])
    declared = skip_missing_keys(every.of(session.select(list(ROLES))), session.key)
    plan = Plan.of(declared.resources, session.key)
    own = plan_look(session.variables.get("cluster") or {}, declared.resources)
    settings = {"work": "foresee", "receipt": True, "seconds": SECONDS}
    entries = [own, *plan.entries]  # the look comes before any change is previewed
    looked, *outcomes = Conversation(session, entries, settings).fetch_outcomes(0)
    named = list(map(_with_own_name, declared.resources, plan.add_unmet(outcomes)))
    desired = proposals.Desired(declared.resources, _is_conda_desired(session, declared.resources))
    result: AdoptAccount = {
        "kind": "adopt_account",
        "changed": False,
        "things": proposals.list_things(named, looked["evidence"].get("existing", []), desired),
        "unclear": [*looked["remarks"], *filter(None, [looked["reason"]])],
    }
    return {**result, "sandbox": session.sandbox["root"]} if session.sandbox else result


def _with_own_name(entry: PlanEntry, outcome: ResourceOutcome) -> ResourceOutcome:
    """Return an outcome with this machine's name of the resource: an account's words become no setting."""
    return {**outcome, "identity": key_of(entry).partition(" ")[2]}


def _is_conda_desired(session: AccountSession, declared: Sequence[PlanEntry]) -> bool:
    """Return True if the account is to have a conda, even if the user must still decide which."""
    conda = (session.variables.get("cluster") or {}).get("conda", {})
    without = (session.variables.get("account") or {}).get("without", [])
    is_wanted = any(session.value(f"conda_{name}") for name in ("wanted", "environments"))
    is_declared = any(one["kind"] == "conda_install" for one in declared)
    return is_declared or (is_wanted and conda.get("policy") != "refused" and "conda" not in without)


def plan_look(cluster: Mapping[str, Any], declared: Sequence[PlanEntry]) -> PlanEntry:
    """Return the plan entry of the read-only check, with what could be of use to the roles of this account."""
    paths = [str(area.get("path") or area.get("variable") or "") for area in cluster.get("storage", [])]
    names = [variable for variables in tool_caches.TOOLS.values() for variable in variables]
    names += [variable for variables in container_caches.CACHES.values() for variable in variables]
    launchers = [one["options"] for one in declared if one["capability"] == "launchers"]
    scripts = [str(options["path"]) for options in launchers if "content" in options]
    options = {
        "areas": [{"path": path} for path in paths if path and "{" not in path],
        "variables": [*dict.fromkeys([*names, *OUTRANKING])],
        "programs": [{"path": path} for path in scripts],
    }
    return {"kind": "existing_setup", "capability": "adopt", "options": options}
