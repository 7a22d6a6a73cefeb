# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The probe of one account: its observations, made in one SSH session, and their comparison with the profile."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...module_utils._core.errors import AccountError
from .._delivery.conversation import Conversation
from .._delivery.plan import ResourceTypes
from .comparison import compare, compare_jobs
from .observations import Observations

if TYPE_CHECKING:
    from .._delivery.account_session import AccountSession
    from .._documents.declaration import PlanEntry
    from .._documents.probe import ProbeAccount
    from .._documents.result import JobCheckResult

KINDS = ResourceTypes({"site_probe": "_audit_checks.site_probe.SiteProbe"})
SECONDS = 60  # the time limit of the probe on the account
USUAL_VARIABLES = ("SCRATCH", "WORK", "PROJECT", "DATA", "STORE", "GROUP_SCRATCH", "GROUP_HOME", "PSCRATCH", "CFS")
USUAL_FOLDERS = ("scratch", "work", "data", "project", "projects")
"""Variables that contain paths of storage areas, and top folders with areas; used if the profile names no area."""
PROGRAMS = (
    "sbatch",
    "sinfo",
    "qsub",
    "apptainer",
    "singularity",
    "enroot",
    "podman",
    "conda",
    "lfs",
    "myquota",
    "quota",
)


def probe_account(session: AccountSession, jobs: Sequence[JobCheckResult]) -> ProbeAccount:
    """Observe the account in one SSH session, and compare the observations with its profile. Raise AccountError.

    jobs: the results of a test job on this account.
    """
    profile = session.variables.get("cluster") or {}  # describes the cluster
    user = session.name.rpartition("@")[0]
    entry = plan_probe(profile, user)
    # read-only; the account's receipt, its record of created resources, is not needed
    settings = {"work": "examine", "receipt": False, "seconds": SECONDS}
    (outcome,) = Conversation(session, [entry], settings).fetch_outcomes(wait=0)  # the probe starts no job to wait for
    if outcome["status"] in ("blocked", "failed") or "observed" not in outcome["evidence"]:
        raise AccountError(str(outcome["reason"] or "the probe of the account returned no observations"))
    texts = outcome["evidence"]["observed"]
    slurm: dict[str, Any] = {**outcome["evidence"].get("slurm", {})}
    result: ProbeAccount = {
        "kind": "probe_account",
        "changed": False,
        "facts": [*compare(profile, Observations(texts, slurm), user), *compare_jobs(profile, jobs)],
        "observed": texts,
        "slurm": slurm,
        "unclear": outcome["remarks"],
    }
    return {**result, "sandbox": session.sandbox["root"]} if session.sandbox else result


def plan_probe(profile: Mapping[str, Any], user: str) -> PlanEntry:
    """Return the plan entry of the read-only probe. profile: filled in for the user's account."""
    container = profile.get("container", {})
    quota = profile.get("quota_command", "")
    storage = profile.get("storage", ())
    module = container.get("module", "" if storage else "apptainer")  # a cluster without a profile may have apptainer
    variables = [area["variable"].removeprefix("$") for area in storage if area.get("variable")]
    options = {
        # a path with "{" has a placeholder that is unknown for this account
        "areas": [{"name": name, "path": path} for name, path in _list_paths(profile, user) if "{" not in path],
        "variables": [*dict.fromkeys([*variables, *(() if storage else USUAL_VARIABLES)])],
        "programs": [*dict.fromkeys([*PROGRAMS, *quota.split()[:1]])],  # also the program of the quota command
        "modules": [module] if module else [],
        "quota": quota,
    }
    return {"kind": "site_probe", "capability": "probe", "options": options}


def _list_paths(profile: Mapping[str, Any], user: str) -> Iterator[tuple[str, str]]:
    """Yield the name and the path of each folder or image to inspect; the name is for Observations.area()."""
    for area in profile.get("storage", ()):
        path = str(area.get("path") or area.get("variable") or "")
        if path:
            yield area["name"], path
        if path.startswith("/"):  # the folder that the site created: set in the profile, else the top folder
            yield f"{area['name']} root", str(area.get("root") or "/" + path.split("/")[1])
    for number, launcher in enumerate(profile.get("launchers", ())):
        if launcher.get("image"):
            yield f"launcher {number}", launcher["image"]
    if images := profile.get("container", {}).get("images"):
        yield "images", images
    if not profile.get("storage"):
        for folder in USUAL_FOLDERS:
            yield folder, f"/{folder}/{user}"
