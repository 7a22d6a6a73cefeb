# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The audit's report as CSV (RFC 4180): a header, and a line for each finding.

A spreadsheet takes a cell for a formula by its first character; such a cell gets an apostrophe in front.
"""

from __future__ import annotations

import csv
import io
import unicodedata
from collections.abc import Mapping

from ..._documents.finding import AuditReport, Finding
from ..._documents.fix import render_in_one_line
from .groups import age
from .shared import declared, fields, harmless

LONGEST = 120  # characters of a value
FORMULA = ("=", "+", "-", "@")
MEMBERS = ("severity", "rule", "account", "capability", "resource", "place", "class", "cause", "text")
HEADER = (*MEMBERS, "cluster", "seen", "baseline", "waived_until", "difference", "fix", "declared", "fingerprint")


def text(report: AuditReport) -> str:
    """Return the whole table."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(HEADER)
    report = harmless(report)
    clusters = {account["name"]: account["cluster"] for account in report["accounts"]}
    writer.writerows(
        map(as_text, _row(finding, clusters.get(finding["account"], ""))) for finding in report["findings"]
    )
    return out.getvalue()


def _row(finding: Finding, cluster: str) -> list[str]:
    difference = "; ".join(
        f"{name}: {_short(actual)} instead of {_short(desired)}"
        for name, desired, actual in fields(finding)
        if name.partition(" ")[0] != finding["rule"]  # of an audit check, whose text says it
    )
    waiver = finding["waiver"]
    members: Mapping[str, object] = finding
    return [
        *(str(members[name]) for name in MEMBERS),
        *(cluster, age(finding), finding["baseline"], waiver["expires"] if waiver else "", difference),
        *(render_in_one_line(finding["fix"]), declared(finding), finding["fingerprint"]),
    ]


def _short(value: str) -> str:
    return value if 0 < len(value) <= LONGEST else f"{value[:LONGEST]}…" if value else "nothing"


def as_text(cell: str) -> str:
    """Return a cell that no spreadsheet calculates, however its first character is written."""
    begins = unicodedata.normalize("NFKC", cell.lstrip()[:1])
    return f"'{cell}" if begins.startswith(FORMULA) else cell
