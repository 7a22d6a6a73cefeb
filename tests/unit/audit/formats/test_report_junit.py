# SPDX-License-Identifier: GPL-3.0-or-later
"""The report as JUnit's XML: valid, and read by a reader of such files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.formats.junit import render
from hypothesis import given, settings
from junitparser import Error, Failure, JUnitXml, Skipped
from lxml import etree
from report_example import REPORTS, copy, example, finding, report
from strange_reports import reports

SCHEMA = etree.XMLSchema(etree.parse(Path(__file__).parent / "standards/junit-10.xsd"))
TAGS = {
    *("testsuites", "testsuite", "testcase", "properties", "property"),
    *("failure", "error", "skipped", "system-out"),
}


def cases(document: dict[str, Any]) -> dict[str, list[type]]:
    """Name of each case, with what came of it."""
    suites = JUnitXml.fromstring(render(document).encode())
    return {f"{case.classname} {case.name}": [type(one) for one in case.result] for suite in suites for case in suite}


@pytest.mark.parametrize("name", REPORTS)
def test_it_is_valid(name: str) -> None:
    SCHEMA.assertValid(etree.fromstring(render(REPORTS[name]).encode()))


@settings(max_examples=50, deadline=None)
@given(reports)
def test_nothing_strange_is_markup(document: dict[str, Any]) -> None:
    root = etree.fromstring(render(document).encode())
    SCHEMA.assertValid(root)
    assert {element.tag for element in root.iter()} <= TAGS
    assert len(root.findall(".//failure")) <= len(document["findings"])


def test_a_suite_is_an_account_and_its_numbers_are_right() -> None:
    suites = JUnitXml.fromstring(render(example()).encode())
    assert [suite.name for suite in suites] == [one["name"] for one in example()["accounts"]]
    told = [(one.tests, one.failures, one.errors, one.skipped) for one in suites]
    suites.update_statistics()
    counted = [(one.tests, one.failures, one.errors, one.skipped) for one in suites]
    assert told == counted
    assert (suites.failures, suites.errors) == (3, 1)


def test_what_fails_the_audit_is_a_failure_and_the_rest_passes() -> None:
    found = cases(example())
    credentials = "enroot credential for nvcr.io in ~/.config/enroot/.credentials"
    first = f"go42tum@lrz.enroot_credentials SEC-001 {credentials} at ~/.config/enroot/.credentials"
    assert found[first] == [Failure]
    assert found["ada@dfki.tokens KEY-007 key ngc"] == []
    assert found["simone@wilson.watch PKG-002 conda init in ~/.bashrc at ~/.bashrc:41"] == [Skipped]
    assert found["ada@narval.account reached and measured"] == [Error]
    assert found["ada@daint.watch RUN-001 quota of /capstor/scratch at /capstor/scratch"] == [Skipped], "an audit check"
    assert found["simone@wilson.enroot_credentials enroot credentials up to date"] == [Skipped]
    assert found["ada@dfki.conda conda up to date"] == []


@pytest.mark.parametrize(("fail_on", "failures"), [("critical", 1), ("medium", 5), ("low", 6), ("never", 0)])
def test_the_threshold_is_the_one_of_the_run(fail_on: str, failures: int) -> None:
    document = copy(example())
    document["run"]["fail_on"] = fail_on
    assert sum(result == [Failure] for result in cases(document).values()) == failures


def test_a_part_of_a_role_that_is_unknown_is_an_error() -> None:
    one = finding("RUN-001", "ada@dfki", "link ~/work", capability="storage_links", **{"class": "unknown"})
    document = report([example()["accounts"][2]], [one])
    assert cases(document)["ada@dfki.storage_links RUN-001 link ~/work"] == [Error]


def test_what_does_not_apply_is_skipped() -> None:
    one = finding("LNK-001", "ada@dfki", "link ~/work", **{"class": "not_applicable"})
    document = report([example()["accounts"][2]], [one])
    assert cases(document)["ada@dfki.watch LNK-001 link ~/work"] == [Skipped]
