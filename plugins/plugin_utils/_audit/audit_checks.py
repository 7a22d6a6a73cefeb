# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The audit checks of an account, which inspect read-only what no role declares.

An audit check is sent to the account as an entry of a plan, like a resource. Its kind is the name of the check.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .._delivery.plan import ResourceTypes
from .._roles.table import class_name
from . import key_checks, place_checks

if TYPE_CHECKING:
    from .._documents.declaration import PlanEntry

PACKAGES = {  # package below module_utils -> its audit checks
    "_audit_checks": (
        "conda_traces",
        "enroot_lines",
        "job_requests",
        "slurm_rights",
        "startup_files",
        "tool_settings",
        "trusted_files",
    ),
    "_key_checks": ("open_keys", "scattered_keys", "shadowed_keys", "unread_keys"),
    "_storage_checks": ("areas", "home_caches", "quota"),
}
KINDS = ResourceTypes(
    {kind: f"{package}.{kind}.{class_name(kind)}" for package, kinds in PACKAGES.items() for kind in kinds}
)


def plan_checks(
    cluster: Mapping[str, Any],
    account: Mapping[str, Any],
    declared: Sequence[PlanEntry],
    known_keys: key_checks.KnownKeys,
    may_start_shells: bool = True,
) -> list[PlanEntry]:
    """Return the plan entries of an account's audit checks, in the order of their run.

    cluster: the profile. account: from the inventory. declared: the entries of all roles. known_keys: keys of this
    machine by the fingerprint that the account reports for them. may_start_shells: to see what start-up files do.
    """
    keys = key_checks.plan_key_checks(cluster, declared, known_keys)
    # Without a profile, the places to check are unknown.
    places = place_checks.plan_place_checks(cluster, account, declared, may_start_shells) if cluster else []
    # "areas" comes first: it reads access times, and the other checks read files, which would change them.
    return sorted([*keys, *places], key=lambda entry: entry["kind"] != "areas")
