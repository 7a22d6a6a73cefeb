# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""One account in an audit: what is sent to be looked at, and what its answer comes to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from ...module_utils._core.errors import AccountError
from ...module_utils._receipt import notes as _notes
from ...module_utils._receipt.receipt import IDENTITY
from .._delivery import offboarding
from .._delivery.plan import KINDS, Plan, key_of, skip_missing_keys
from .._roles.collect import Declared
from .._state import receipts
from .._state.fingerprint_key import account_key
from . import audit_checks, key_ages, key_checks, local_checks, report
from . import findings as _findings
from .judges.common import Look
from .rules import RULES, SEVERITIES

if TYPE_CHECKING:
    from .._delivery.account_session import AccountSession
    from .._delivery.conversation import Conversation
    from .._documents.answer import AccountReceipt, Notes, ReceiptNote
    from .._documents.declaration import PlanEntry
    from .._documents.finding import AccountSite, AuditRow, Cause, Cell, Class, FoundDifference
    from .._documents.outcome import ResourceOutcome

Variables = Mapping[str, Any]  # Ansible's, of one account

MOST = 300  # findings of one account


def about(variables: Variables) -> AccountSite:
    """What a row tells of an account whatever came of it."""
    cluster: Mapping[str, Any] = variables.get("cluster") or {}
    return {
        "cluster": str(cluster.get("id", "")),
        "site": str(cluster.get("name", "")),
        "profile": {"verified_on": str(cluster.get("verified_on", "")), "status": str(cluster.get("status", ""))},
    }


def unmeasured(variables: Variables, reason: str) -> AuditRow:
    """The row of an account that could not be looked at; a certificate that has ended may be why."""
    row = report.unmeasured(str(variables.get("inventory_hostname", "it")), reason, about(variables))
    return {**row, "findings": [*row["findings"], *here(variables)]}


def here(variables: Variables) -> list[FoundDifference]:
    """What this machine knows of an account without looking at it: certificates, tickets, the profile's age."""
    cluster, account = variables.get("cluster") or {}, variables.get("account") or {}
    if not cluster or account.get("sandbox"):
        return []
    age = int(variables.get("audit_max_age") or local_checks.MAX_AGE)
    return local_checks.findings(variables, datetime.now(UTC), age)


def _of_receipt(receipt: AccountReceipt | None, kept: Notes, in_place: Sequence[str]) -> list[FoundDifference]:
    """The finding of a receipt that cannot be read or noted in, or that does not say what was noted.

    kept: this machine's copy of it. in_place: the keys of what is on the account as it is wanted.
    """
    if receipt and receipt["problem"]:
        return [_receipt_finding("RUN-003", "broken", "unknown", f"{receipt['problem']}.")]
    notes = receipt["notes"] if receipt else {}
    gone = [key for key in in_place if key in kept and key not in notes]
    forged = [key for key, note in notes.items() if _is_forged(note, kept.get(key))] + offboarding.list_forged(notes)
    texts = {"is there, and is noted no more": gone, "is not noted as we noted it": forged}
    said = [f"{_some(keys)} {text}." for text, keys in texts.items() if keys]
    return [_receipt_finding("RUN-004", "changed" if forged else "missing", "hand", " ".join(said))] if said else []


def _is_forged(note: ReceiptNote, kept: ReceiptNote | None) -> bool:
    """Whether a note claims for ours what was there before us: nobody has changed the thing since we saw that."""
    return bool(kept and note["made"] and not kept["made"] and note["hashes"] == kept["hashes"])


def _some(keys: Sequence[str]) -> str:
    """The first of some things, by their names, and how many more there are."""
    name = keys[0].partition(" ")[2] or keys[0]
    return name if len(keys) == 1 else f"{name} (and {len(keys) - 1} more)"


def _receipt_finding(rule: str, what: Class, cause: Cause, text: str) -> FoundDifference:
    return {
        "rule": rule,
        "capability": "watch",
        "resource": IDENTITY,
        "place": "",
        "class": what,
        "cause": cause,
        "severity": RULES[rule].severity,
        "text": text,
        "desired": {},
        "actual": {},
    }


def _bounded(findings: list[FoundDifference]) -> list[FoundDifference]:
    """The worst of an account's findings, and how many are left out: one that lies must not fill the report."""
    worst = sorted(findings, key=lambda finding: SEVERITIES.index(finding["severity"]))
    rest = worst[MOST:]
    if not rest:
        return findings
    text = f"{len(rest)} findings more are left out: fix these first, then run again."
    unseen: FoundDifference = {
        **rest[0],
        "rule": "RUN-001",
        "class": "unknown",
        "cause": "unknown",
        "severity": RULES["RUN-001"].severity,
        "place": "",
        "text": text,
        "desired": {},
        "actual": {},
    }
    return [*worst[:MOST], unseen]


def _named_here(entry: PlanEntry, outcome: ResourceOutcome) -> ResourceOutcome:
    """An outcome with the names that we have for the thing: what an account calls it goes into no command."""
    identity = key_of(entry).partition(" ")[2] if entry["kind"] in KINDS else outcome["identity"]
    return {**outcome, "capability": entry["capability"], "identity": identity}


def prepared(session: AccountSession, names: Sequence[str], resources: Sequence[object]) -> Audited:
    """Plan the audit of a session's account: what these roles declare, what is no longer declared, and the checks."""
    every = session.collect(list(names), resources)
    asked = session.select(list(names))
    watching = bool(session.select(["watch"]))  # whether --tags and --skip-tags leave what no capability declares
    declared = skip_missing_keys(every.of(asked), session.key)
    plan = Plan.of(declared.resources, session.key)
    kept = receipts.read_notes(session.name, bool(session.sandbox))
    return Audited(session.variables, declared, every.resources, plan, kept, asked, session.key if watching else None)


class Audited:
    """The look at one account."""

    def __init__(
        self,
        variables: Variables,
        declared: Declared,
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
        self._secrets = key_ages.known(names)
        self._marks = key_ages.marks(self._secrets, name)
        current = key_checks.current_marks(names, name, key) if key else {}
        known = key_checks.known_keys(self._secrets, self._marks, current)
        self._checks = audit_checks.plan_checks(cluster, account, every, known) if watching else []
        self._watching = watching

    @property
    def entries(self) -> list[PlanEntry]:
        """What is sent: the plan, what is declared no more, and the audit checks."""
        return [*self._plan.entries, *self._orphans, *self._checks]

    def row(self, outcomes: list[ResourceOutcome], conversation: Conversation) -> AuditRow:
        """What the account comes to. conversation: what was said with it, receipt and seconds."""
        if len(outcomes) != len(self.entries):
            raise AccountError(f"the account answered for {len(outcomes)} of {len(self.entries)} things: run again")
        outcomes = [_named_here(*pair) for pair in zip(self.entries, outcomes, strict=True)]
        ours, rest = outcomes[: len(self._plan.entries)], outcomes[len(self._plan.entries) :]
        orphans, watched = rest[: len(self._orphans)], rest[len(self._orphans) :]
        merged, look = self._plan.merged(ours), self._look(conversation.receipt)
        entries = self._declared.resources
        found = [_findings.of_resource(e, key_of(e), o, look) for e, o in zip(entries, merged, strict=True)]
        found += [_findings.of_orphan(e, o) for e, o in zip(self._orphans, orphans, strict=True)]
        found += [_findings.of_check(e, o) for e, o in zip(self._checks, watched, strict=True)]
        in_place = [key_of(e) for e, o in zip(entries, merged, strict=True) if o["status"] == "ok"]
        found += filter(None, map(_findings.of_left_out, self._declared.notes))
        found += [one for one in (_of_receipt(conversation.receipt, self._kept, in_place),) if one]
        if self._watching:
            found += [key_ages.findings(self._secrets, datetime.now(UTC).date()), here(self._variables)]
        return {
            "name": str(self._variables["inventory_hostname"]),
            **about(self._variables),
            "state": "measured",
            "reason": "",
            "next": [],
            "declared": None,
            "seconds": round(conversation.seconds, 1),
            "checks": len(found),
            "ok": sum(not one for one in found),
            "capabilities": self._capabilities(),
            "findings": _bounded(list({_findings.same(finding): finding for one in found for finding in one}.values())),
        }

    def _look(self, told: AccountReceipt | None) -> Look:
        """The account's own notes go before this machine's copy: another machine may have written since."""
        notes = (told["notes"] if told else None) or self._kept
        areas = (self._variables.get("cluster") or {}).get("storage", [])
        purged = [
            str(area[name]) for area in areas if area.get("purge") for name in ("path", "variable") if area.get(name)
        ]
        own = _notes.fingerprint_key_id(account_key(str(self._variables["inventory_hostname"])))
        return Look(notes, own, key_ages.old_keys(self._secrets, self._marks), tuple(purged))

    def _capabilities(self) -> dict[str, Cell]:
        """Each capability that was looked at: it is ok, until a finding says more, or not for this account."""
        declaring = {entry["capability"] for entry in self._declared.resources}
        further = [name for name in declaring if name not in self._asked]
        states: dict[str, Cell] = {
            name: "ok" if name in declaring else "not_applicable" for name in [*self._asked, *further]
        }
        return {**states, "watch": "ok"} if self._watching else states
