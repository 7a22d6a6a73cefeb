# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The audit of one account: the plan that is sent, and the row of the report from its answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from ...module_utils._core.errors import AccountError
from ...module_utils._receipt import notes as _notes
from ...module_utils._receipt.receipt import IDENTITY
from .._delivery import offboarding
from .._delivery.plan import KINDS, Plan, key_of, skip_missing_keys
from .._input import extra_vars
from .._roles.collect import DeclaredResources
from .._state import receipts
from .._state.fingerprint_key import account_key
from . import audit_checks, key_ages, key_checks, local_checks, report
from .findings import (
    check_findings,
    finding_key,
    orphan_findings,
    resource_findings,
    simple_finding,
    skipped_findings,
)
from .resource_rules import AccountContext
from .rules.catalogue import SEVERITIES

if TYPE_CHECKING:
    from .._delivery.account_session import AccountSession
    from .._delivery.conversation import Conversation
    from .._documents.answer import AccountReceipt, Notes, ReceiptNote
    from .._documents.declaration import PlanEntry
    from .._documents.finding import AccountSite, AuditRow, Cell, Class, FoundDifference
    from .._documents.outcome import ResourceOutcome

Variables = Mapping[str, Any]  # Ansible's, of one account

MOST = 300  # findings of one account; one that lies must not fill the report


def describe_account(variables: Variables) -> AccountSite:
    """Return the members of a row that do not depend on the result."""
    cluster: Mapping[str, Any] = variables.get("cluster") or {}
    return {
        "cluster": str(cluster.get("id", "")),
        "site": str(cluster.get("name", "")),
        "profile": {"verified_on": str(cluster.get("verified_on", "")), "status": str(cluster.get("status", ""))},
    }


def unmeasured_account(variables: Variables, reason: str) -> AuditRow:
    """Return the row of an account that could not be measured; an expired certificate may be why."""
    row = report.unmeasured_row(str(variables.get("inventory_hostname", "it")), reason, describe_account(variables))
    return {**row, "findings": [*row["findings"], *local_findings(variables)]}


def local_findings(variables: Variables) -> list[FoundDifference]:
    """Return the findings that need no connection: certificates, tickets, the profile's age, manual steps."""
    cluster, account = variables.get("cluster") or {}, variables.get("account") or {}
    if not cluster or account.get("sandbox"):
        return []
    age = int(variables.get("audit_max_age") or local_checks.MAX_AGE)
    return local_checks.find_problems(variables, datetime.now(UTC), age)


def _check_receipt(receipt: AccountReceipt | None, kept: Notes, in_place: Sequence[str]) -> list[FoundDifference]:
    """Return the finding of a receipt that is unusable, or that differs from this machine's copy.

    kept: the copy. in_place: the keys of all that is up to date on the account.
    """
    if receipt and receipt["problem"]:
        text = f"{receipt['problem']}."
        return [simple_finding("RUN-003", IDENTITY, text, found_class="broken", cause="unknown")]
    notes = receipt["notes"] if receipt else {}
    gone = [key for key in in_place if key in kept and key not in notes]
    forged = [key for key, note in notes.items() if _is_forged(note, kept.get(key))] + offboarding.list_forged(notes)
    texts = {"exists, but is no longer in the receipt": gone, "has an entry that hpc-onboard did not write": forged}
    text = " ".join(f"{_name_some(keys)} {text}." for text, keys in texts.items() if keys)
    found: Class = "changed" if forged else "missing"
    return [simple_finding("RUN-004", IDENTITY, text, found_class=found, cause="hand")] if text else []


def _is_forged(note: ReceiptNote, kept: ReceiptNote | None) -> bool:
    """Return True if a note claims a thing that existed before hpc-onboard and was not changed since."""
    return bool(kept and note["made"] and not kept["made"] and note["hashes"] == kept["hashes"])


def _name_some(keys: Sequence[str]) -> str:
    """Return the name of the first resource, and the number of further ones."""
    name = keys[0].partition(" ")[2] or keys[0]
    return name if len(keys) == 1 else f"{name} (and {len(keys) - 1} more)"


def _distinct(findings: Iterable[FoundDifference]) -> list[FoundDifference]:
    """Return each finding once; of a file or a folder that is open to others, the one that names the key in it."""
    found = list({finding_key(one): one for one in findings}.values())
    of_keys = {one["place"] for one in found if one["rule"] in ("SEC-001", "SEC-002")}
    return [one for one in found if one["rule"] != "SEC-010" or one["place"] not in of_keys]


def _limit(findings: list[FoundDifference]) -> list[FoundDifference]:
    """Return the worst of an account's findings, and one that counts those left out."""
    worst = sorted(findings, key=lambda finding: SEVERITIES.index(finding["severity"]))
    rest = worst[MOST:]
    if not rest:
        return findings
    text = f"{len(rest)} more findings are not listed: fix these first, then run again."
    left_out = simple_finding("RUN-001", rest[0]["resource"], text, found_class="unknown", cause="unknown")
    return [*worst[:MOST], {**left_out, "capability": rest[0]["capability"]}]


def _with_own_names(entry: PlanEntry, outcome: ResourceOutcome) -> ResourceOutcome:
    """Return an outcome with this machine's name of the resource: an account's words go into no command."""
    identity = key_of(entry).partition(" ")[2] if entry["kind"] in KINDS else outcome["identity"]
    return {**outcome, "capability": entry["capability"], "identity": identity}


def plan_audit(session: AccountSession, names: Sequence[str], resources: Sequence[object]) -> AccountAudit:
    """Plan the audit of a session's account: what these roles declare, what is no longer declared, and the checks."""
    every = session.collect(list(names), resources)
    asked = session.select(list(names))
    watching = bool(session.select(["watch"]))  # whether --tags and --skip-tags leave what no capability declares
    declared = skip_missing_keys(every.of(asked), session.key)
    plan = Plan.of(declared.resources, session.key)
    kept = receipts.read_notes(session.name, bool(session.sandbox))
    return AccountAudit(
        session.variables, declared, every.resources, plan, kept, asked, session.key if watching else None
    )


class AccountAudit:
    """The plan for one account, and the rating of its outcomes."""

    def __init__(
        self,
        variables: Variables,
        declared: DeclaredResources,
        every: Sequence[PlanEntry],
        plan: Plan,
        kept: Notes,
        asked: Sequence[str],
        key: Callable[[str], str] | None,
    ) -> None:
        """asked: the capabilities that --tags leave; every: all that is declared, whatever --tags say.

        kept: this machine's copy of the account's receipt. key: gives the value of a secret; None: nothing is watched.
        """
        watching = key is not None
        self._variables, self._declared, self._plan, self._kept = variables, declared, plan, kept
        self._asked = asked
        cluster, account = variables.get("cluster") or {}, variables.get("account") or {}
        self._orphans = (
            Plan.of(offboarding.list_undeclared(every, kept, str(cluster.get("id", ""))), lambda _name: "").entries
            if watching
            else []
        )
        names = {str(one["options"]["secret"]) for one in every if one["options"].get("secret")}
        name = str(variables.get("inventory_hostname", ""))
        self._secrets = key_ages.read_versions(names)
        self._marks = key_ages.map_fingerprints(self._secrets, name)
        current = key_checks.current_marks(names, name, key) if key else {}
        known = key_checks.known_keys(self._secrets, self._marks, current)
        shells = not extra_vars.read_bool("audit_no_shells", variables.get("audit_no_shells") or False)
        self._checks = audit_checks.plan_checks(cluster, account, every, known, shells) if watching else []
        self._watching = watching

    @property
    def entries(self) -> list[PlanEntry]:
        """Return what is sent: the plan, what is no longer declared, and the audit checks."""
        return [*self._plan.entries, *self._orphans, *self._checks]

    def row(self, outcomes: list[ResourceOutcome], conversation: Conversation) -> AuditRow:
        """Return the row of the report. conversation: has the receipt and the seconds."""
        if len(outcomes) != len(self.entries):
            raise AccountError(f"the account reported {len(outcomes)} of {len(self.entries)} results: run again")
        outcomes = [_with_own_names(*pair) for pair in zip(self.entries, outcomes, strict=True)]
        ours, rest = outcomes[: len(self._plan.entries)], outcomes[len(self._plan.entries) :]
        orphans, watched = rest[: len(self._orphans)], rest[len(self._orphans) :]
        merged, context = self._plan.add_unmet(ours), self._context(conversation.receipt)
        entries = self._declared.resources
        found = [resource_findings(e, key_of(e), o, context) for e, o in zip(entries, merged, strict=True)]
        found += [orphan_findings(e, o) for e, o in zip(self._orphans, orphans, strict=True)]
        found += [check_findings(e, o) for e, o in zip(self._checks, watched, strict=True)]
        in_place = [key_of(e) for e, o in zip(entries, merged, strict=True) if o["status"] == "ok"]
        found += filter(None, map(skipped_findings, self._declared.notes))
        found += [one for one in (_check_receipt(conversation.receipt, self._kept, in_place),) if one]
        if self._watching:
            found += [key_ages.key_findings(self._secrets, datetime.now(UTC).date()), local_findings(self._variables)]
        return {
            "name": str(self._variables["inventory_hostname"]),
            **describe_account(self._variables),
            "state": "measured",
            "reason": "",
            "next": [],
            "declared": None,
            "project": str((self._variables.get("account") or {}).get("project", "")),
            "seconds": round(conversation.seconds, 1),
            "checks": len(found),
            "ok": sum(not one for one in found),
            "capabilities": self._capabilities(),
            "findings": _limit(_distinct(finding for one in found for finding in one)),
        }

    def _context(self, receipt: AccountReceipt | None) -> AccountContext:
        # The account's own notes are newer than this machine's copy if another machine has written since.
        notes = (receipt["notes"] if receipt else None) or self._kept
        areas = (self._variables.get("cluster") or {}).get("storage", [])
        purged = [
            str(area[name]) for area in areas if area.get("purge") for name in ("path", "variable") if area.get(name)
        ]
        own = _notes.fingerprint_key_id(account_key(str(self._variables["inventory_hostname"])))
        return AccountContext(notes, own, key_ages.map_old_keys(self._secrets, self._marks), tuple(purged))

    def _capabilities(self) -> dict[str, Cell]:
        """Return each role of the audit: ok, until a finding says more, or not applicable to this account."""
        declaring = {entry["capability"] for entry in self._declared.resources}
        further = [name for name in declaring if name not in self._asked]
        states: dict[str, Cell] = {
            name: "ok" if name in declaring else "not_applicable" for name in [*self._asked, *further]
        }
        return {**states, "watch": "ok"} if self._watching else states
