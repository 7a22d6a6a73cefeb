# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The audit's report as JUnit XML, which GitLab and Jenkins show.

Each account is a test suite. Each finding, and each role without findings, is a test case. A finding that makes the
audit fail is a failure. An unmeasured account or resource is an error. Waived findings, findings that do not apply, and
audit checks that could not run are skipped. Milder findings pass, with their text as output. The cell of a role is its
state on an account: the worst severity of its findings, or "ok", "not_applicable" or "unknown".
"""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from ..._documents.finding import AuditedAccount, AuditReport, Finding
from ..._documents.fix import render_in_one_line
from .shared import CAUSES, describe_waiver, escape_invisible, is_failure, list_fields, show_declaration, spell_out


def render(report: AuditReport) -> str:
    """Return the report as JUnit XML."""
    report = escape_invisible(report)
    top = Element("testsuites", name="hpc.onboard audit", time=f"{report['run']['seconds']:.3f}")
    for account in report["accounts"]:
        _add_suite(top, account, report)
    for name, number in _count_cases(top).items():
        if name != "skipped":  # JUnit's schema allows this attribute only for a suite
            top.set(name, str(number))
    indent(top)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(top, encoding="unicode")}\n'


def _add_suite(top: Element, account: AuditedAccount, report: AuditReport) -> None:
    """Add an account as a test suite with its properties, its cases and their numbers. top: the document's root."""
    suite = SubElement(top, "testsuite", name=account["name"], time=f"{account['seconds']:.3f}")
    suite.set("timestamp", report["run"]["started"].removesuffix("Z"))
    profile = account["profile"]
    status = ", ".join(filter(None, (profile["status"], profile["verified_on"])))
    properties = SubElement(suite, "properties")
    for name, value in {"cluster": account["cluster"], "site": account["site"], "profile": status}.items():
        SubElement(properties, "property", name=name, value=value)
    suite.extend(_list_cases(account, report))
    for name, number in _count_cases(suite).items():
        suite.set(name, str(number))


def _list_cases(account: AuditedAccount, report: AuditReport) -> Iterator[Element]:
    """Yield a case for each finding, and for each role that is up to date or does not apply."""
    findings = [finding for finding in report["findings"] if finding["account"] == account["name"]]
    if account["state"] == "unknown":
        case = _build_case(account, "account", "reached and measured")
        error = SubElement(case, "error", type="unknown", message=account["reason"])
        error.text = "\n".join(line for line in (account["reason"], render_in_one_line(account["next"])) if line)
        yield case
        findings = [finding for finding in findings if finding["rule"] != "RUN-002"]  # the error has its text
    for finding in findings:
        yield _build_finding_case(account, finding, report["run"]["fail_on"])
    for name, cell in account["capabilities"].items():  # a role with another cell has a case for each finding
        case = _build_case(account, name, f"{spell_out(name)} up to date")
        if cell == "not_applicable":
            SubElement(case, "skipped", message="does not apply to this account")
        if cell in ("ok", "not_applicable"):
            yield case


def _build_case(account: AuditedAccount, capability: str, name: str) -> Element:
    """Return an empty test case. capability: the role, or another part of the account that the case is about."""
    return Element("testcase", name=name, classname=f"{account['name']}.{capability}", time="0")


def _build_finding_case(account: AuditedAccount, finding: Finding, fail_on: str) -> Element:
    """Return the case of a finding: skipped, an error, a failure, or passed with the text as output.

    fail_on: the mildest severity that makes the audit fail, or "never".
    """
    name = " ".join(part for part in (finding["rule"], finding["resource"]) if part)
    place = f" at {finding['place']}" if finding["place"] else ""
    case = _build_case(account, finding["capability"], name + place)
    waiver = finding["waiver"]
    if waiver:
        SubElement(case, "skipped", message=f"waived {describe_waiver(waiver)}")
    elif finding["class"] == "not_applicable" or _is_unmeasured_check(finding):
        SubElement(case, "skipped", message=finding["text"])
    elif finding["class"] == "unknown":
        SubElement(case, "error", type="unknown", message=finding["text"]).text = _describe_details(finding)
    elif is_failure(finding["severity"], fail_on):
        SubElement(case, "failure", type=finding["severity"], message=finding["text"]).text = _describe_details(finding)
    else:
        SubElement(case, "system-out").text = f"{finding['severity']}: {finding['text']}\n{_describe_details(finding)}"
    return case


def _is_unmeasured_check(finding: Finding) -> bool:
    """Return True for an audit check (capability "watch") that could not run: such a finding does not fail an audit."""
    return finding["class"] == "unknown" and finding["severity"] == "info" and finding["capability"] == "watch"


def _describe_details(finding: Finding) -> str:
    """Return the details of a finding as lines: severity, fields, declaration, fix, and the address of its rule."""
    lines = [
        f"{finding['severity']}, {spell_out(finding['class'])}, {CAUSES[finding['cause']]}, since {finding['since']}"
    ]
    lines += [
        f"{name}: desired {desired or '-'}, found {actual or '-'}" for name, desired, actual in list_fields(finding)
    ]
    lines += [f"declared in {show_declaration(finding)}"] if finding["declared"] else []
    lines += [f"fix: {render_in_one_line(finding['fix'])}"] if finding["fix"] else []
    return "\n".join([*lines, finding["help"]])


def _count_cases(element: Element) -> dict[str, int]:
    """Return the numbers of cases that JUnit requires as attributes of a suite and of the document (element)."""
    tags = {"tests": "testcase", "failures": "failure", "errors": "error", "skipped": "skipped"}
    return {name: sum(1 for _case in element.iter(tag)) for name, tag in tags.items()}
