# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Waivers: findings that a user accepts until a given day, in a file (docs/schemas/waivers.schema.json).

The report names expired and unused waivers, because a forgotten waiver hides a finding.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date, timedelta
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ...module_utils._core import document_version
from ...module_utils._core.errors import AccountError
from .._accounts.profiles import schema
from .._input.diagnostics import Mistake, Mistakes, YamlText, display_path, nearest
from .._input.json_schema import Checker
from .rules.catalogue import RULES

if TYPE_CHECKING:
    from .._documents.finding import Excuse, Finding, WaiverEntry

Entry = Mapping[str, Any]  # of the file, checked by its schema

SCHEMA = "hpc.onboard/waivers/1.0"
LONGEST = timedelta(days=366)
LONGEST_CRITICAL = timedelta(days=30)


class Waiver(NamedTuple):
    """One entry of the file. expires: the last day on which it counts. where: its file and line."""

    rule: str
    account: str
    resource: str
    justification: str
    expires: str
    by: str
    where: str

    def covers(self, finding: Finding) -> bool:
        """Return True if the waiver is for this finding."""
        about = (finding["resource"], finding["place"], finding["place"].partition(":")[0])
        return (
            self.rule == finding["rule"]
            and fnmatchcase(finding["account"], self.account)
            and any(fnmatchcase(one, self.resource) for one in about)
        )

    def as_excuse(self) -> Excuse:
        """Return the waiver as it appears in a finding."""
        return {"justification": self.justification, "expires": self.expires, "by": self.by, "where": self.where}

    def has_expired(self, today: date) -> bool:
        """Return True if the last day is past."""
        return self.expires < today.isoformat()


def read(file: Path, today: date) -> list[Waiver]:
    """Return the waivers of a file. Raises Mistakes with all of them, OSError, or AccountError for a newer format."""
    lines = YamlText(file, file.read_text(encoding="utf-8"))
    document = lines.document()
    said = document.get("schema", SCHEMA) if isinstance(document, dict) else SCHEMA
    why = document_version.refusal(said, SCHEMA, display_path(file), f"write {SCHEMA}, or leave the line out")
    if why:
        raise AccountError(why)
    found = [lines.mistake(one.place, one.text, one.at_key) for one in Checker(schema("waivers")).violations(document)]
    if not found:
        entries = (document or {}).get("waivers") or []
        found = [mistake for at, entry in enumerate(entries) for mistake in _refusals(lines, at, entry, today)]
    if found or document is None:
        raise Mistakes(found or [Mistake(file, 0, 'is empty; it needs "waivers".')])
    return [_waiver(lines, at, entry) for at, entry in enumerate(entries)]


def _waiver(lines: YamlText, at: int, entry: Entry) -> Waiver:
    where = f"{display_path(lines.file)}:{lines.line_of(('waivers', at))}"
    optional = {"resource": str(entry.get("resource") or "*"), "by": str(entry.get("by") or "")}
    required = {name: str(entry[name]) for name in ("rule", "account", "justification", "expires")}
    return Waiver(**required, **optional, where=where)


def _refusals(lines: YamlText, at: int, entry: Entry, today: date) -> Iterator[Mistake]:
    """Yield the mistakes that the schema cannot find."""
    if entry["rule"] not in RULES:
        yield lines.mistake(
            ("waivers", at, "rule"), f'unknown rule "{entry["rule"]}"; {nearest(entry["rule"], RULES, ())}'
        )
        return
    try:
        expires = date.fromisoformat(entry["expires"])
    except ValueError:
        yield lines.mistake(("waivers", at, "expires"), f'"{entry["expires"]}" is not a date.')
        return
    critical = RULES[entry["rule"]].severity == "critical"
    if expires > today + (LONGEST_CRITICAL if critical else LONGEST):
        most = "30 days, because the rule is critical" if critical else "a year"
        yield lines.mistake(("waivers", at, "expires"), f"a waiver counts for at most {most}: name an earlier day.")


def apply_waivers(waivers: list[Waiver], findings: list[Finding], today: date) -> list[WaiverEntry]:
    """Add each waiver to the findings that it covers; return all waivers with their state: used, unused, expired."""
    entries: list[WaiverEntry] = []
    for waiver in waivers:
        mine = [finding for finding in findings if waiver.covers(finding)]
        expired = waiver.has_expired(today)
        for finding in () if expired else mine:
            finding["waiver"] = finding["waiver"] or waiver.as_excuse()
        entry: WaiverEntry = {
            "rule": waiver.rule,
            "account": waiver.account,
            "resource": waiver.resource,
            **waiver.as_excuse(),
            "state": "expired" if expired else "used" if mine else "unused",
        }
        entries.append(entry)
    return entries
