# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fixes that the last audits offer: their resource types, and the findings that they belong to."""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from .._delivery.plan import ResourceTypes
from .._input.collection import find_accounts_file
from .._roles.table import class_name
from .._state import audit_history, last_runs
from .._state.audit_history import Known

if TYPE_CHECKING:
    from .._documents.declaration import PlanEntry, ResourceEntry

FIXES = ("access_fix", "key_fix", "leftover_fix", "statement_fix")
KINDS = ResourceTypes({kind: f"_fixes.{kind}.{class_name(kind)}" for kind in FIXES})
TYPES: dict[str, type] = {"str": str, "path": str, "list": list}


def read_offer(offer: ResourceEntry | None) -> ResourceEntry | None:
    """Return a fix that an account offers with all its options; None if it is invalid, for an account may lie."""
    if offer is None or offer["kind"] not in KINDS:
        return None
    kind, options = KINDS[offer["kind"]], offer["options"]
    is_known = set(options) <= set(kind.OPTIONS) and str(options.get("path", "")).startswith(("~", "/"))
    if not is_known or not all(_fits(options.get(name), spec) for name, spec in kind.OPTIONS.items()):
        return None
    return {"kind": offer["kind"], "options": kind.with_defaults(options)}


def _fits(value: Any, spec: Mapping[str, Any]) -> bool:
    if value is None:
        return not spec.get("required")
    return isinstance(value, TYPES[spec["type"]]) and value in spec.get("choices", [value])


class FixableFinding(NamedTuple):
    """A finding of the last audit that can be fixed."""

    account: str
    rule: str
    place: str
    text: str
    auto_fix: ResourceEntry


def find_offers(known: Known, accounts: Container[str]) -> list[FixableFinding]:
    """Return the findings of these accounts' last audits that offer a valid fix, in a fixed order."""
    found = []
    for one in known.values():
        fix = read_offer(json.loads(one["auto_fix"])) if "auto_fix" in one and one.get("account") in accounts else None
        if fix:
            found.append(FixableFinding(one["account"], one["rule"], one["place"], one["text"], fix))
    return sorted(found, key=lambda one: (one.account, one.rule, one.place))


def plan_fixes(offered: Iterable[FixableFinding], account: str) -> list[PlanEntry]:
    """Return the plan entries for an account, each fix once: several findings can share a line."""
    found: list[PlanEntry] = []
    for one in offered:
        entry: PlanEntry = {"kind": one.auto_fix["kind"], "capability": "watch", "options": one.auto_fix["options"]}
        if one.account == account and entry not in found:
            found.append(entry)
    return found


def find_fixable(variables: Mapping[str, Any], options: Mapping[str, Any]) -> list[FixableFinding]:
    """Return what can be fixed on the accounts of a run. options: Ansible's command line. Raises StateError."""
    accounts = {str(host) for host in variables["ansible_play_hosts_all"]}
    return find_offers(_known(options), accounts - offboarded_since(accounts))


def offboarded_since(accounts: Container[str]) -> set[str]:
    """Return the accounts that were offboarded after their last audit, whose offers may be outdated."""
    left = set()
    for (name, _is_sandbox), verbs in last_runs.read_last_runs().items():
        if name in accounts and "audit" in verbs and "offboard" in verbs:
            left |= {name} if verbs["offboard"]["at"] > verbs["audit"]["at"] else set()
    return left


def was_audited(options: Mapping[str, Any]) -> bool:
    """Return True if this machine has audited these accounts files. Raises StateError."""
    return audit_history.has_audit(audit_history.hash_series(*accounts_files(options)))


def accounts_files(options: Mapping[str, Any]) -> list[str]:
    """Return the paths of a run's accounts files; each combination has records of its own."""
    return [str(find_accounts_file(Path(source).resolve())) for source in options.get("inventory") or ()]


def _known(options: Mapping[str, Any]) -> Known:
    place = audit_history.hash_series(*accounts_files(options))
    return audit_history.read(place, "")[0]
