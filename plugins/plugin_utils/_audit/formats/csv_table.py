# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The audit's report as CSV (RFC 4180): a header, and a line for each finding.

A spreadsheet treats a cell as a formula if it begins with certain characters. Such a cell gets a leading apostrophe.
"""

from __future__ import annotations

import csv
import io
import unicodedata
from collections.abc import Mapping

from ..._documents.finding import AuditReport, Finding
from ..._documents.fix import render_in_one_line
from .groups import describe_age
from .shared import escape_invisible, list_fields, show_declaration

LONGEST = 120  # characters of a value
FORMULA = ("=", "+", "-", "@")
MEMBERS = ("severity", "rule", "account", "capability", "resource", "place", "class", "cause", "owner", "text")
HEADER = (*MEMBERS, "cluster", "seen", "baseline", "waived_until", "difference", "fix", "declared", "fingerprint")


def render(report: AuditReport) -> str:
    """Return the report as a table in CSV."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(HEADER)
    report = escape_invisible(report)
    clusters = {account["name"]: account["cluster"] for account in report["accounts"]}
    writer.writerows(
        map(as_text, _list_cells(finding, clusters.get(finding["account"], ""))) for finding in report["findings"]
    )
    return out.getvalue()


def _list_cells(finding: Finding, cluster: str) -> list[str]:
    """Return the cells of a finding's line, in the order of HEADER. cluster: of its account."""
    difference = "; ".join(
        f"{name}: {_shorten(actual)} instead of {_shorten(desired)}"
        for name, desired, actual in list_fields(finding)
        if name.partition(" ")[0] != finding["rule"]  # a field of an audit check, whose value is the text already
    )
    waiver = finding["waiver"]
    members: Mapping[str, object] = finding
    return [
        *(str(members[name]) for name in MEMBERS),
        *(cluster, describe_age(finding), finding["baseline"], waiver["expires"] if waiver else "", difference),
        *(render_in_one_line(finding["fix"]), show_declaration(finding), finding["fingerprint"]),
    ]


def _shorten(value: str) -> str:
    """Return a value for the column "difference", which must stay readable: cut after LONGEST characters."""
    if not value:  # the field does not exist
        return "nothing"
    return value if len(value) <= LONGEST else f"{value[:LONGEST]}…"


def as_text(cell: str) -> str:
    """Return the text of a cell, with an apostrophe if a spreadsheet would treat the text as a formula."""
    first = unicodedata.normalize("NFKC", cell.lstrip()[:1])  # a full-width "=" begins a formula, too
    return f"'{cell}" if first.startswith(FORMULA) else cell
