# SPDX-License-Identifier: GPL-3.0-or-later
"""What an audit calls new or resolved has changed since the audit before it, with and without a baseline."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.integration.audit.audit_scene import Audit, Scene

pytestmark = pytest.mark.testbed


def counted(audit: Audit) -> tuple[int, int]:
    """How many findings are new, and how many are resolved; the last line says the same."""
    summary, shown = audit.report["summary"], " ".join(audit.ran.text.split())
    for word in ("new", "resolved"):
        assert (f"{summary[word]} {word}" in shown) == bool(summary[word]), shown
    assert sum(one["new"] for one in audit.findings) == summary["new"]
    assert len(audit.report["resolved"]) == summary["resolved"]
    return summary["new"], summary["resolved"]


@pytest.mark.parametrize("with_baseline", [False, True])
def test_new_and_resolved_say_what_changed_since_the_last_audit(bed: Any, tmp_path: Path, with_baseline: bool) -> None:
    account = bed.new_account("lrz")
    scene = Scene(bed, tmp_path / "scene", [account])
    assert scene.onboard().code == 0
    account.ssh("chmod 644 enroot/.credentials")
    baseline = {"audit_baseline": str(tmp_path / "baseline.json")} if with_baseline else {}
    first = scene.audit(**baseline, **({"audit_baseline_write": True} if with_baseline else {}))
    found = len(first.findings)
    assert "SEC-001" in {one["rule"] for one in first.findings}
    assert counted(first) == (found, 0)
    accepted = found if with_baseline else 0

    again = scene.audit(**baseline)
    assert counted(again) == (0, 0)
    assert f" since {datetime.now(UTC):%Y-%m-%d}" in " ".join(again.ran.text.split()) or with_baseline
    account.ssh("mv dss dss.mine")
    drifted = scene.audit(**baseline)
    assert counted(drifted) == (1, 0)
    assert [one["rule"] for one in drifted.findings if one["new"]] == ["LNK-001"]
    assert counted(scene.audit(**baseline)) == (0, 0)
    account.ssh("mv dss.mine dss")
    fixed = scene.audit(**baseline, audit_since="last")
    assert counted(fixed) == (0, 1)
    assert "resolved" in fixed.ran.text
    assert "SEC-001" not in fixed.ran.text, "it is known"
    nothing = scene.audit(**baseline, audit_since="last")
    assert counted(nothing) == (0, 0)
    assert "Nothing new since the last audit (" in nothing.ran.text
    assert nothing.ran.code == fixed.ran.code
    assert len(nothing.findings) == found, "documents for programs are whole"
    last = scene.audit(**baseline)
    assert counted(last) == (0, 0)
    for audit in (again, drifted, fixed, last):
        assert audit.report["summary"]["accepted"] == accepted
        assert (f"{found} in the baseline" in " ".join(audit.ran.text.split())) == with_baseline
    assert fixed.ran.code == (0 if with_baseline else 2)
    assert [(one["new"], one["resolved"]) for one in last.report["history"]] == [
        *((found, 0), (0, 0), (1, 0), (0, 0), (0, 1), (0, 0))
    ]


def test_what_a_baseline_has_is_not_new_where_no_audit_is_remembered(bed: Any, tmp_path: Path) -> None:
    account = bed.new_account("lrz")
    scene = Scene(bed, tmp_path / "scene", [account])
    assert scene.onboard().code == 0
    account.ssh("chmod 644 enroot/.credentials")
    baseline = {"audit_baseline": str(tmp_path / "baseline.json")}
    found = len(scene.audit(**baseline, audit_baseline_write=True).findings)
    for file in (tmp_path / "scene" / "state" / "hpc.onboard" / "audit").iterdir():
        file.unlink()
    audit = scene.audit(**baseline)
    assert (counted(audit), audit.report["summary"]["accepted"]) == ((0, 0), found)
