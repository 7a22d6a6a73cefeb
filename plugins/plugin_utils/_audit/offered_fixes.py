# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fixes that fix.yml can apply: their resource types, and the findings of the last audits that offer them.

An account can report a fix together with a finding: a change that loses no data. The finding then offers this fix, as
a resource that is sent to the account. This machine keeps the findings of the last audits, with their fixes.
"""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from .._delivery.plan import TYPES, ResourceTypes
from .._input.collection import find_accounts_file
from .._roles.table import class_name
from .._state import audit_history, last_runs
from .._state.audit_history import Known

if TYPE_CHECKING:
    from .._documents.declaration import PlanEntry, ResourceEntry

FIXES = ("access_fix", "key_fix", "leftover_fix", "statement_fix")
KINDS = ResourceTypes({kind: f"_fixes.{kind}.{class_name(kind)}" for kind in FIXES})


def read_offer(offer: ResourceEntry | None) -> ResourceEntry | None:
    """Return a fix that an account offers, with defaults for missing options.

    Return None without a fix, or if it is not valid: another user may want hpc-onboard to change other files.
    """
    if offer is None or offer["kind"] not in KINDS:
        return None
    fix_type, options = KINDS[offer["kind"]], offer["options"]
    has_valid_names = set(options) <= set(fix_type.OPTIONS)
    has_valid_path = str(options.get("path", "")).startswith(("~", "/"))
    has_valid_values = all(_is_valid(options.get(name), spec) for name, spec in fix_type.OPTIONS.items())
    if not (has_valid_names and has_valid_path and has_valid_values):
        return None
    return {"kind": offer["kind"], "options": fix_type.with_defaults(options)}


def _is_valid(value: Any, spec: Mapping[str, Any]) -> bool:
    """Return True if the value of an option has the type and the choices of its spec. None: the option is not set."""
    if value is None:
        return not spec.get("required")
    return isinstance(value, TYPES[spec["type"]]) and value in spec.get("choices", [value])


class FixableFinding(NamedTuple):
    """A finding of the last audit that fix.yml can fix. auto_fix: the valid fix that the account offers."""

    account: str
    rule: str
    place: str
    text: str
    auto_fix: ResourceEntry


def find_offers(known: Known, accounts: Container[str]) -> list[FixableFinding]:
    """Return the findings of these accounts that offer a valid fix, in a fixed order.

    known: the findings of earlier audits, by fingerprint. accounts: names.
    """
    fixable = []
    for finding in known.values():
        if "auto_fix" in finding and finding.get("account") in accounts:
            fix = read_offer(json.loads(finding["auto_fix"]))
            if fix:
                place = finding["place"]
                fixable.append(FixableFinding(finding["account"], finding["rule"], place, finding["text"], fix))
    return sorted(fixable, key=lambda finding: (finding.account, finding.rule, finding.place))


def plan_fixes(offered: Iterable[FixableFinding], account: str) -> list[PlanEntry]:
    """Return the plan entries of an account's fixes, each fix once: several findings can be about one line."""
    entries: list[PlanEntry] = []
    for finding in offered:
        fix = finding.auto_fix
        # "watch": in place of a role, because the fix belongs to an audit check
        entry: PlanEntry = {"kind": fix["kind"], "capability": "watch", "options": fix["options"]}
        if finding.account == account and entry not in entries:
            entries.append(entry)
    return entries


def find_fixable_findings(variables: Mapping[str, Any], options: Mapping[str, Any]) -> list[FixableFinding]:
    """Return the findings that can be fixed on the accounts of a run. Raises StateError.

    options: Ansible's options of the command line.
    """
    accounts = {str(host) for host in variables["ansible_play_hosts_all"]}
    findings_id = audit_history.hash_series(*accounts_files(options))
    known, _runs = audit_history.read(findings_id, series="")  # "": former runs are not needed
    return find_offers(known, accounts - find_offboarded_accounts(variables))


def find_offboarded_accounts(variables: Mapping[str, Any]) -> set[str]:
    """Return the accounts of a run that were offboarded after their last audit, so its fixes may be outdated.

    Raise StateError.
    """
    accounts = {str(host) for host in variables["ansible_play_hosts_all"]}
    return {
        name
        for (name, was_sandbox), runs in last_runs.read_last_runs().items()
        if name in accounts and "audit" in runs and "offboard" in runs
        if runs["offboard"]["at"] > runs["audit"]["at"]
        and is_sandbox(variables, name) == was_sandbox  # a sandbox can have the name of an account
    }


def is_sandbox(variables: Mapping[str, Any], account: str) -> bool:
    """Return True if an account of a run is a sandbox, a folder on this machine that simulates an account."""
    return bool((variables["hostvars"][account].get("account") or {}).get("sandbox"))


def was_audited(options: Mapping[str, Any]) -> bool:
    """Return True if this machine has audited these accounts files. Raises StateError."""
    return audit_history.has_audit(audit_history.hash_series(*accounts_files(options)))


def accounts_files(options: Mapping[str, Any]) -> list[str]:
    """Return the paths of a run's accounts files. Each combination of files has its own records of audits."""
    return [str(find_accounts_file(Path(source).resolve())) for source in options.get("inventory") or ()]
