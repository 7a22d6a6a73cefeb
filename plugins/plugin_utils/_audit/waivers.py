# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The file of waivers, which are findings that a user accepts until a given day (docs/schemas/waivers.schema.json).

The report lists expired and unused waivers, because a forgotten waiver may hide a finding.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from ...module_utils._core import document_version
from ...module_utils._core.errors import AccountError
from .._accounts.profiles import schema
from .._input.diagnostics import Mistake, Mistakes, YamlText, display_path, nearest, read_text
from .._input.json_schema import Checker
from .rules.catalogue import RULES

if TYPE_CHECKING:
    from .._documents.finding import AuditedAccount, AuditRun, Excuse, Finding, WaiverEntry

Entry = Mapping[str, Any]  # of the file, valid by its schema

SCHEMA = "hpc.onboard/waivers/1.0"
LONGEST = timedelta(days=366)
LONGEST_CRITICAL = timedelta(days=30)


class Waiver(NamedTuple):
    """One entry of the file. account, resource: names, which may contain the wildcards * and ?.

    expires: the last day on which the waiver applies. by: who accepted the finding. where: file and line of the entry.
    """

    rule: str
    account: str
    resource: str
    justification: str
    expires: str
    by: str
    where: str

    def covers(self, finding: Finding) -> bool:
        """Return True if the waiver applies to this finding, whatever the day: rule, account and resource match."""
        path = finding["place"].partition(":")[0]  # without the number of the line
        subjects = (finding["resource"], finding["place"], path)
        return (
            self.rule == finding["rule"]
            and fnmatchcase(finding["account"], self.account)
            and any(fnmatchcase(subject, self.resource) for subject in subjects)
        )

    def as_excuse(self) -> Excuse:
        """Return the fields of the waiver that a finding shows."""
        return {"justification": self.justification, "expires": self.expires, "by": self.by, "where": self.where}

    def has_expired(self, today: date) -> bool:
        """Return True if the last day is past."""
        return self.expires < today.isoformat()


def read_waivers(file: Path, today: date) -> list[Waiver]:
    """Return the waivers of a file, also expired ones. today: limits how long a waiver may last.

    Raises Mistakes, also for a file that cannot be read, or AccountError for the format of a newer version.
    """
    yaml_text = YamlText(file, read_text(file))
    document = yaml_text.document()
    version = document.get("schema", SCHEMA) if isinstance(document, dict) else SCHEMA
    refusal = document_version.refusal(
        version, SCHEMA, display_path(file), f"set `schema: {SCHEMA}`, or remove the `schema` line"
    )
    if refusal:
        raise AccountError(refusal)
    violations = Checker(schema("waivers")).violations(document)
    mistakes = yaml_text.duplicates()
    mistakes += [yaml_text.mistake(violation.place, violation.text, violation.at_key) for violation in violations]
    if not mistakes:
        entries = list(enumerate(document.get("waivers") or []))
        mistakes = [mistake for number, entry in entries for mistake in _find_mistakes(yaml_text, number, entry, today)]
    if mistakes:
        raise Mistakes(mistakes)
    return [_read_waiver(yaml_text, number, entry) for number, entry in entries]


def _read_waiver(yaml_text: YamlText, number: int, entry: Entry) -> Waiver:
    """Return the waiver of a valid entry. number: the position of the entry in the file, from 0."""
    where = f"{display_path(yaml_text.file)}:{yaml_text.line_of(('waivers', number))}"
    optional = {"resource": str(entry.get("resource") or "*"), "by": str(entry.get("by") or "")}
    required = {name: str(entry[name]) for name in ("rule", "account", "justification", "expires")}
    return Waiver(**required, **optional, where=where)


def _find_mistakes(yaml_text: YamlText, number: int, entry: Entry, today: date) -> Iterator[Mistake]:
    """Yield the mistakes that the schema cannot find: an unknown rule, a day that does not exist or is too late."""
    if entry["rule"] not in RULES:
        yield yaml_text.mistake(
            ("waivers", number, "rule"), f'unknown rule "{entry["rule"]}"; {nearest(entry["rule"], RULES, listed=())}'
        )
        return
    try:
        expires = date.fromisoformat(entry["expires"])
    except ValueError:
        yield yaml_text.mistake(("waivers", number, "expires"), f'"{entry["expires"]}" is not a date.')
        return
    is_critical = RULES[entry["rule"]].severity == "critical"
    if expires > today + (LONGEST_CRITICAL if is_critical else LONGEST):
        text = "a waiver lasts at most a year; set an earlier date."
        if is_critical:
            text = "a waiver of a critical rule lasts at most 30 days; set an earlier date."
        yield yaml_text.mistake(("waivers", number, "expires"), text)


def apply_waivers(
    waivers: list[Waiver], findings: list[Finding], run: AuditRun, accounts: Sequence[AuditedAccount], today: date
) -> list[WaiverEntry]:
    """Add each waiver to the findings that it covers; return all waivers with their state.

    The state is used, expired, unused, or "not_checked": the run has not checked all that the waiver may cover.
    accounts: of the run.
    """
    measured = {account["name"] for account in accounts if account["state"] == "measured"}
    incomplete = {account["name"] for account in accounts} - measured
    incomplete |= {finding["account"] for finding in findings if finding["rule"] == "RUN-001"}

    def is_checked(pattern: str) -> bool:
        """Return True if the run has checked everything on all accounts that match the pattern."""
        has_all_accounts = not run["limit"] or pattern in measured
        return has_all_accounts and not run["tags"] and not any(fnmatchcase(name, pattern) for name in incomplete)

    entries: list[WaiverEntry] = []
    for waiver in waivers:
        covered = [finding for finding in findings if waiver.covers(finding)]
        is_expired = waiver.has_expired(today)
        if not is_expired:
            for finding in covered:
                finding["waiver"] = finding["waiver"] or waiver.as_excuse()  # the first waiver applies
        without_finding: Literal["unused", "not_checked"] = "unused" if is_checked(waiver.account) else "not_checked"
        entry: WaiverEntry = {
            "rule": waiver.rule,
            "account": waiver.account,
            "resource": waiver.resource,
            **waiver.as_excuse(),
            "state": "expired" if is_expired else "used" if covered else without_finding,
        }
        entries.append(entry)
    return entries
