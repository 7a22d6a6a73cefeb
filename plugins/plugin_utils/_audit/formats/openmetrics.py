# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The audit's numbers as OpenMetrics, which Prometheus and node exporter's textfile collector read.

A label is a cluster, a severity or another word of a short list, never an account or a path: the number of time series
stays that of the clusters.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime

from ..._documents.finding import AuditReport
from ..rules.catalogue import SEVERITIES
from .shared import harmless, unwaived

PREFIX = "hpc_onboard_audit"
Labels = Mapping[str, str]
Sample = tuple[Labels, float]


def text(report: AuditReport) -> str:
    """Return the whole exposition."""
    lines = [
        line for name, unit, told, samples in _metrics(harmless(report)) for line in _lines(name, unit, told, samples)
    ]
    return "\n".join([*lines, "# EOF"]) + "\n"


def _metrics(report: AuditReport) -> Iterator[tuple[str, str, str, list[Sample]]]:
    """Yield name, unit, description and samples of each metric."""
    summary, run = report["summary"], report["run"]
    clusters = {one["name"]: one["cluster"] for one in report["accounts"]}
    names = sorted(set(clusters.values()))
    counts = Counter((clusters.get(one["account"], ""), one["severity"]) for one in unwaived(report["findings"]))
    states = Counter((one["cluster"], one["state"]) for one in report["accounts"])
    changes = {"new": summary["new"], "changed": summary["changed"], "resolved": summary["resolved"]}
    started = datetime.fromisoformat(run["started"]).timestamp()
    yield (
        "findings",
        "",
        "Findings that count, without waived ones.",
        [
            ({"cluster": name, "severity": severity}, counts[name, severity])
            for name in names
            for severity in SEVERITIES
        ],
    )
    yield (
        "accounts",
        "",
        "Accounts by what the audit could do.",
        [
            ({"cluster": name, "state": state}, states[name, state])
            for name in names
            for state in ("measured", "unknown")
        ],
    )
    yield "changes", "", "Findings since the last audit.", [({"change": one}, changes[one]) for one in changes]
    yield (
        "checks",
        "",
        "Checks, and how many of them are up to date.",
        [({"state": "up_to_date"}, summary["ok"]), ({"state": "other"}, summary["checks"] - summary["ok"])],
    )
    yield "waived_findings", "", "Findings with a waiver.", [({}, summary["waived"])]
    yield "failed", "", "1 if the audit fails.", [({}, int(summary["failed"]))]
    yield "started_timestamp_seconds", "seconds", "When the audit started, in seconds since 1970.", [({}, started)]
    yield "duration_seconds", "seconds", "How long the audit took.", [({}, run["seconds"])]


def _lines(name: str, unit: str, told: str, samples: list[Sample]) -> Iterator[str]:
    full = f"{PREFIX}_{name}"
    yield f"# TYPE {full} gauge"
    if unit:
        yield f"# UNIT {full} {unit}"
    yield f"# HELP {full} {told}"
    for labels, value in samples:
        inner = ",".join(f'{label}="{_escape(word)}"' for label, word in labels.items())
        yield f"{full}{{{inner}}} {_number(value)}" if inner else f"{full} {_number(value)}"


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)


def _escape(word: str) -> str:
    return word.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
