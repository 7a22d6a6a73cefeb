# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What can be fixed on an account: the kinds of fixes, and which of them an audit's findings offer."""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ...module_utils._fixes.access_fix import AccessFix
from ...module_utils._fixes.fix_resource import FixResource
from ...module_utils._fixes.key_fix import KeyFix
from ...module_utils._fixes.leftover_fix import LeftoverFix
from ...module_utils._fixes.statement_fix import StatementFix
from .._input.collection import serving
from .._state import audit_history, last_runs
from .._state.audit_history import Known

if TYPE_CHECKING:
    from .._documents.declaration import PlanEntry, ResourceEntry

KINDS: dict[str, type[FixResource]] = {kind.KIND: kind for kind in (AccessFix, KeyFix, LeftoverFix, StatementFix)}

TYPES: dict[str, type] = {"str": str, "path": str, "list": list}


def checked(told: ResourceEntry | None) -> ResourceEntry | None:
    """A fix that an account offers, if it is such as we make; the account may have told anything."""
    if told is None or told["kind"] not in KINDS:
        return None
    kind, options = KINDS[told["kind"]], told["options"]
    known = set(options) <= set(kind.OPTIONS) and str(options.get("path", "")).startswith(("~", "/"))
    if not known or not all(_fits(options.get(name), spec) for name, spec in kind.OPTIONS.items()):
        return None
    return {"kind": told["kind"], "options": kind.whole(options)}


def _fits(value: Any, spec: Mapping[str, Any]) -> bool:
    """Whether an option is as it should be; one that is not given may be."""
    if value is None:
        return not spec.get("required")
    return isinstance(value, TYPES[spec["type"]]) and value in spec.get("choices", [value])


class Offered(NamedTuple):
    """A finding of the last audit that can be fixed."""

    account: str
    rule: str
    place: str
    text: str
    auto_fix: ResourceEntry


def remembered(known: Known, accounts: Container[str]) -> list[Offered]:
    """What the last audits of these accounts offer, in one order."""
    found = []
    for one in known.values():
        fix = checked(json.loads(one["auto_fix"])) if "auto_fix" in one and one.get("account") in accounts else None
        if fix:
            found.append(Offered(one["account"], one["rule"], one["place"], one["text"], fix))
    return sorted(found, key=lambda one: (one.account, one.rule, one.place))


def entries(offered: Iterable[Offered], account: str) -> list[PlanEntry]:
    """What is sent to an account: each fix once, for several findings may be of one line."""
    found: list[PlanEntry] = []
    for one in offered:
        entry: PlanEntry = {"kind": one.auto_fix["kind"], "capability": "watch", "options": one.auto_fix["options"]}
        if one.account == account and entry not in found:
            found.append(entry)
    return found


def of_run(variables: Mapping[str, Any], options: Mapping[str, Any]) -> list[Offered]:
    """What is offered for the accounts of a run. options: Ansible's of the command line. Raises StateError."""
    accounts = {str(host) for host in variables["ansible_play_hosts_all"]}
    return remembered(_known(options), accounts - left_since(accounts))


def left_since(accounts: Container[str]) -> set[str]:
    """Return which accounts were offboarded after their last audit: what it offers may rest on what was removed."""
    left = set()
    for (name, _is_sandbox), verbs in last_runs.read_last_runs().items():
        if name in accounts and "audit" in verbs and "offboard" in verbs:
            left |= {name} if verbs["offboard"]["at"] > verbs["audit"]["at"] else set()
    return left


def was_audited(options: Mapping[str, Any]) -> bool:
    """Whether an audit of these accounts files was made from here. Raises StateError."""
    return audit_history.has_audit(audit_history.hash_series(*sources(options)))


def sources(options: Mapping[str, Any]) -> list[str]:
    """The accounts files of a run: what is remembered of one says nothing of another."""
    return [str(serving(Path(source).resolve())) for source in options.get("inventory") or ()]


def _known(options: Mapping[str, Any]) -> Known:
    place = audit_history.hash_series(*sources(options))
    return audit_history.read(place, "")[0]
