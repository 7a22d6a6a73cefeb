# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The audit checks of an account: read-only looks at what no role declares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...module_utils._audit_checks.audit_check import AuditCheck
from . import key_checks, place_checks

if TYPE_CHECKING:
    from .._documents.declaration import PlanEntry

KINDS: dict[str, type[AuditCheck]] = {**key_checks.KINDS, **place_checks.KINDS}


def plan_checks(
    cluster: Mapping[str, Any],
    account: Mapping[str, Any],
    declared: Sequence[PlanEntry],
    known: key_checks.KnownKeys,
    shells: bool = True,
) -> list[PlanEntry]:
    """Return the plan entries {kind, capability, options} of an account's checks, their options complete.

    known: the keys that this machine knows, by the fingerprints that the account shows of them. shells: whether shells
    are started for what start-up files do.
    """
    keys = key_checks.plan_key_checks(cluster, account, declared, known)
    places = place_checks.plan_place_checks(cluster, account, declared, shells) if cluster else []
    return sorted(
        [*keys, *places], key=lambda entry: entry["kind"] != "areas"
    )  # reading files there would count as their use
