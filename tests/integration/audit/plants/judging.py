# SPDX-License-Identifier: GPL-3.0-or-later
"""What an audit found of what was laid: found, missed, reported without need, and how well."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from .plants import Laid

SEVERITIES = ("info", "low", "medium", "high", "critical")
OWNERS = {"user", "site", "hpc-onboard", "time", "unknown"}
CAUSES = {"hand": "user", "spec": "hpc-onboard"}
"""The report's words for what the data call otherwise."""
Finding = Mapping[str, Any]


class Verdict(NamedTuple):
    """What came of one thing. cause, line: None where it was not found, or nothing is asked."""

    laid: Laid
    found: bool
    fitting: list[Finding]
    cause: bool | None = None
    line: bool | None = None


def plain(one: Laid, finding: Finding) -> tuple[str, str]:
    """Return rule and words of a finding without what is the account's own, to compare accounts."""
    words = f"{finding['resource']} {finding['place']} {finding['text']}"
    own = {one.account.home: "~", one.account.user: "USER", one.account.project: "PROJECT"}
    for old, new in own.items():
        words = words.replace(old, new)
    return finding["rule"], words


def beyond_controls(laid: Iterable[Laid], findings: Iterable[Finding]) -> dict[str, list[Finding]]:
    """Return the findings by account, without those that accounts have on which nothing was laid."""
    by_account: dict[str, list[Finding]] = defaultdict(list)
    for finding in findings:
        by_account[finding["account"]].append(finding)
    usual: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for one in laid:
        if "id" not in one.thing:
            usual[one.likeness] |= {plain(one, finding) for finding in by_account[one.account.name]}
    return {
        one.account.name: [f for f in by_account[one.account.name] if plain(one, f) not in usual[one.likeness]]
        for one in laid
    }


def judge(one: Laid, findings: Iterable[Finding]) -> Verdict:
    """Return what came of a drift."""
    fitting = [finding for finding in findings if _fits(one, finding)]
    if not fitting:
        return Verdict(one, False, [])
    causes = listed(one.thing["cause"])
    cause = any(CAUSES.get(finding["cause"], finding["cause"]) in causes for finding in fitting)
    wanted = _line(one)
    return Verdict(
        one,
        True,
        fitting,
        cause,
        any(str(finding["place"]).endswith(wanted) for finding in fitting) if wanted else None,
    )


def reported(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings above info."""
    return [finding for finding in findings if finding["severity"] != "info"]


def why_missed(one: Laid, findings: Iterable[Finding]) -> str:
    """Return which part of a missed drift's findings is wrong; no part names the drift."""
    findings = [finding for finding in findings if any(_names(one, finding, file) for file in one.files)]
    rules = listed(one.thing["rule"])
    if not findings:
        return "nothing about its file"
    return "another rule" if rules and not any(f["rule"] in rules for f in findings) else "a lower severity"


def _fits(one: Laid, finding: Finding) -> bool:
    """Return True if the finding is severe enough, of a right rule, and names a right file."""
    rules = listed(one.thing["rule"])
    enough = SEVERITIES.index(finding["severity"]) >= SEVERITIES.index(one.thing["severity"])
    return enough and (not rules or finding["rule"] in rules) and any(_names(one, finding, file) for file in one.files)


def _names(one: Laid, finding: Finding, file: str) -> bool:
    """Return True if the finding's resource, place or text names the file."""
    words = f"{finding['resource']} {finding['place']} {finding['text']}".replace(one.account.home, "~")
    path = re.escape(file.replace(one.account.home, "~"))
    return bool(re.search(rf"(?<![\w./~-]){path}(?![\w~-]|/\w|\.\w)", words))


def _line(one: Laid) -> str:
    """Return :LINE of the thing's line in the first of its files that has it, or nothing."""
    mark = one.words(one.thing.get("line") or "")
    for file in one.files if mark else ():
        try:
            content = one.account.read(file.removeprefix("~/")).decode(errors="replace")
        except OSError:
            continue
        for number, text in enumerate(content.split("\n"), 1):
            if mark in text:
                return f":{number}"
    return ""


def listed(value: Any) -> list[str]:
    """Return a word, several or none as a list."""
    return value if isinstance(value, list) else [value] if value else []
