# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The numbers of the audit as OpenMetrics, for Prometheus and the textfile collector of its node exporter.

Labels have few values (clusters, severities, states), never accounts or paths, to keep the number of time series small.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime

from ..._documents.finding import AuditReport
from ..rules.catalogue import SEVERITIES
from .shared import escape_invisible, list_unwaived

PREFIX = "hpc_onboard_audit"
Labels = Mapping[str, str]
Sample = tuple[Labels, float]  # the labels of a number, and the number


def render(report: AuditReport) -> str:
    """Return the report as OpenMetrics."""
    lines = [line for metric in _list_metrics(escape_invisible(report)) for line in _list_lines(*metric)]
    return "\n".join([*lines, "# EOF"]) + "\n"


def _list_metrics(report: AuditReport) -> Iterator[tuple[str, str, str, list[Sample]]]:
    """Yield name, unit (empty for a plain number), description and samples of each metric."""
    summary, run = report["summary"], report["run"]
    clusters = {account["name"]: account["cluster"] for account in report["accounts"]}
    cluster_names = sorted(set(clusters.values()))
    counts = Counter(
        (clusters.get(finding["account"], ""), finding["severity"]) for finding in list_unwaived(report["findings"])
    )
    states = Counter((account["cluster"], account["state"]) for account in report["accounts"])
    changes = {"new": summary["new"], "changed": summary["changed"], "resolved": summary["resolved"]}
    started = datetime.fromisoformat(run["started"]).timestamp()
    yield (
        "findings",
        "",
        "Number of findings that are not waived.",
        [
            ({"cluster": name, "severity": severity}, counts[name, severity])
            for name in cluster_names
            for severity in SEVERITIES
        ],
    )
    yield (
        "accounts",
        "",
        "Number of accounts by state: measured or unknown.",
        [
            ({"cluster": name, "state": state}, states[name, state])
            for name in cluster_names
            for state in ("measured", "unknown")
        ],
    )
    yield (
        "changes",
        "",
        "Number of findings that are new, changed or resolved since the last audit.",
        [({"change": change}, number) for change, number in changes.items()],
    )
    yield (
        "checks",
        "",
        "Number of checks by state: up_to_date if the check found no problem, otherwise other.",
        [({"state": "up_to_date"}, summary["ok"]), ({"state": "other"}, summary["checks"] - summary["ok"])],
    )
    yield "waived_findings", "", "Number of waived findings.", [({}, summary["waived"])]
    yield "failed", "", "1 if the audit failed, otherwise 0.", [({}, int(summary["failed"]))]
    yield "started_timestamp_seconds", "seconds", "Start time of the audit as a Unix timestamp.", [({}, started)]
    yield "duration_seconds", "seconds", "Duration of the audit in seconds.", [({}, run["seconds"])]


def _list_lines(name: str, unit: str, description: str, samples: list[Sample]) -> Iterator[str]:
    """Yield the lines of a metric: its type, unit and description, then a line for each sample."""
    full_name = f"{PREFIX}_{name}"
    yield f"# TYPE {full_name} gauge"
    if unit:
        yield f"# UNIT {full_name} {unit}"
    yield f"# HELP {full_name} {description}"
    for labels, number in samples:
        label_text = ",".join(f'{label}="{_escape(value)}"' for label, value in labels.items())
        label_part = f"{{{label_text}}}" if label_text else ""
        yield f"{full_name}{label_part} {_format_number(number)}"


def _format_number(value: float) -> str:
    """Return a number as text, a whole one without a decimal point."""
    return str(int(value)) if value == int(value) else repr(value)


def _escape(value: str) -> str:
    """Return the value of a label with the escapes that OpenMetrics requires."""
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
