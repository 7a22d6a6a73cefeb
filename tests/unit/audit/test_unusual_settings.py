# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings and files of an audit that are not as expected: what is reported, and that the rest is still reported."""

from __future__ import annotations

import json
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit import accepted
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.account import local_findings, unmeasured_account
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.fixes import FixCommands
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.formats.files import render_report
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.key_ages import key_findings
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.report_findings import MOST_FINDINGS, limit_number
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.run import read_settings
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.waivers import read_waivers
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.command_line import Invocation
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.diagnostics import Mistakes
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets.versions import KeyVersion, Secret

from tests.unit.report_example import example

TODAY = date(2026, 11, 21)
CLUSTER = {"id": "daint", "name": "CSCS Daint", "verified_on": "2020-01-01", "auth": {"archetype": "key"}}
WAIVER = '  - {{rule: ENV-001, account: "a@lrz", justification: {}, expires: "2027-03-01"}}\n'


def variables(**more: Any) -> dict[str, Any]:
    """Ansible's variables of one account."""
    given = {"inventory_hostname": "ada@daint", "cluster": CLUSTER, "account": {"name": "ada@daint"}}
    return {**given, **more}


@pytest.mark.parametrize(("age", "rules"), [(None, ["PRO-001"]), ("", ["PRO-001"]), ("9000", [])])
def test_the_age_of_a_profile_can_be_set_for_an_account(age: object, rules: list[str]) -> None:
    assert [one["rule"] for one in local_findings(variables(audit_max_age=age))] == rules


def test_an_age_of_0_days_is_not_the_default() -> None:
    """The number 0, as in `vars: {audit_max_age: 0}`, reports every profile that was not checked today."""
    recent = {**CLUSTER, "verified_on": str(date.today() - timedelta(days=2))}
    assert [one["rule"] for one in local_findings(variables(audit_max_age=0, cluster=recent))] == ["PRO-001"]
    assert local_findings(variables(cluster=recent)) == []


def test_an_invalid_age_costs_one_account_its_row_and_not_the_report() -> None:
    odd = variables(audit_max_age="90 days")
    with pytest.raises(AccountError, match="audit_max_age is '90 days', but must be a whole number"):
        local_findings(odd)
    row = unmeasured_account(odd, "could not connect")
    assert [(one["rule"], one["text"]) for one in row["findings"]] == [("RUN-002", "could not connect")]


def test_waivers_in_another_encoding_are_a_mistake_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "waivers.yml"
    file.write_bytes(("waivers:\n" + WAIVER.format("Müller")).encode("latin-1"))
    with pytest.raises(Mistakes, match=r"waivers\.yml:2: the file is not UTF-8"):
        read_waivers(file, TODAY)


def test_a_second_list_of_waivers_does_not_hide_the_first(tmp_path: Path) -> None:
    file = tmp_path / "waivers.yml"
    file.write_text("waivers:\n" + WAIVER.format("one") + "waivers:\n" + WAIVER.format("two"))
    with pytest.raises(Mistakes, match='duplicate key "waivers"; the first one is on line 1'):
        read_waivers(file, TODAY)


def baseline(file: Path, **more: Any) -> dict[str, Any]:
    """The settings of an audit with that baseline file."""
    return read_settings((), {"audit_baseline": str(file), **more}.get)


def test_formats_without_a_folder_are_refused() -> None:
    with pytest.raises(AccountError, match=r"^-e audit_formats=FORMAT requires -e audit_output=DIR$"):
        read_settings((), {"audit_formats": "json,md"}.get)
    assert read_settings((), {"audit_formats": "json", "audit_output": "out"}.get)["audit_formats"] == ("json",)


def test_the_command_that_creates_a_folder_can_be_pasted(tmp_path: Path) -> None:
    file = tmp_path / "my audits" / "baseline.json"
    with pytest.raises(AccountError, match=f"Run: mkdir -p '{file.parent}'$"):
        accepted.read_accepted({}, baseline(file, audit_baseline_write=True), TODAY)


def test_a_missing_baseline_is_to_be_created(tmp_path: Path) -> None:
    with pytest.raises(AccountError, match=r"nothing\.json does not exist\. To create this file, add the option"):
        accepted.read_accepted({}, baseline(tmp_path / "nothing.json"), TODAY)


def test_a_newer_baseline_is_called_newer_whatever_its_form(tmp_path: Path) -> None:
    file = tmp_path / "baseline.json"
    file.write_text(json.dumps({"schema": "hpc.onboard/baseline/2.0", "findings": [1]}))
    with pytest.raises(AccountError, match="was written by a newer hpc-onboard"):
        accepted.read_accepted({}, baseline(file), TODAY)


@pytest.mark.parametrize(("more", "text"), [(1, "1 more finding is not"), (2, "2 more findings are not")])
def test_findings_beyond_the_limit_are_counted(more: int, text: str) -> None:
    findings: list[Any] = [
        {"rule": "ENV-001", "severity": "low", "resource": str(number), "capability": "watch"}
        for number in range(MOST_FINDINGS + more)
    ]
    assert limit_number(findings)[-1]["text"].startswith(text)


def test_the_key_of_a_cancelled_rotation_is_not_called_the_previous_key() -> None:
    """Whoever deactivates the previous key would deactivate the one that all accounts have."""
    old = KeyVersion("first", "personal", "current", fingerprint="0" * 12)
    new = KeyVersion("v1", "personal", "retired", fingerprint="1" * 12, sequence=1)
    (finding,) = key_findings({"ngc": Secret("ngc", (old, new))}, TODAY)
    assert finding["text"].startswith("The new key (111111111111), whose rotation was cancelled, may still work.")
    (step,) = FixCommands(Invocation(("hpc-onboard",), True, None, ())).find_fix(finding, "a@b")
    assert step["kind"] == "advice"
    assert step["text"].startswith("Deactivate the new key of the cancelled rotation")
    later = KeyVersion("v2", "personal", "current", issued="2026-11-01", sequence=2)
    versions = (KeyVersion("first", "personal", "previous"), new, later)
    texts = [one["text"] for one in key_findings({"ngc": Secret("ngc", versions)}, TODAY)]
    assert all("was replaced on 2026-11-01" in text for text in texts)


@pytest.mark.parametrize(("fail_on", "text"), [("high", ", fails on high,"), ("never", ", does not fail on findings,")])
def test_a_report_says_which_findings_fail_the_audit(fail_on: str, text: str) -> None:
    report: Any = example()
    report["run"]["fail_on"] = fail_on
    assert text in render_report(report, "md")
    assert text in render_report(report, "html")


@pytest.mark.parametrize(("by", "text"), [("ada", "2027-01-01 by ada: "), ("", "2027-01-01: ")])
def test_a_waiver_without_an_author_is_shown_without_one(by: str, text: str) -> None:
    report: Any = example()
    excuse = {"justification": "soon", "expires": "2027-01-01", "by": by, "where": "waivers.yml:3"}
    for finding in report["findings"]:
        finding["waiver"] = excuse
    assert f"waived until {text}soon (waivers.yml:3)" in render_report(report, "junit")
    assert f"until {text}soon (waivers.yml:3)" in render_report(report, "html")
    author = f", {by}" if by else ""
    assert f"soon (until 2027-01-01{author})" in render_report(report, "sarif")
