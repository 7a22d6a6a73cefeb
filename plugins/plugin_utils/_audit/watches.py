# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which watches an account gets: looks at what no capability declares, by the audit alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...module_utils._watches.watch import Watch
from . import watch_keys, watch_places

if TYPE_CHECKING:
    from .._documents.declaration import PlanEntry

KINDS: dict[str, type[Watch]] = {**watch_keys.KINDS, **watch_places.KINDS}


def watches(
    cluster: Mapping[str, Any],
    account: Mapping[str, Any],
    declared: Sequence[PlanEntry],
    known: watch_keys.KnownKeys,
) -> list[PlanEntry]:
    """The entries {kind, capability, options} of an account's watches, their options complete.

    known: the keys that this machine knows, by the fingerprints that the account shows of them.
    """
    keys = watch_keys.watches(cluster, account, declared, known)
    places = watch_places.watches(cluster, account, declared) if cluster else []
    return sorted([*keys, *places], key=lambda one: one["kind"] != "areas")  # before any file there is read
