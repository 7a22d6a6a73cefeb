# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The audit's report as JUnit's XML, for the boards of GitLab and Jenkins.

A suite is an account; a case is a finding, or a capability that is in order. A finding that makes the audit fail is
a failure, an account or a part of a role that is unknown is an error. What is waived or does not apply, and an audit
check that is unknown, is skipped. A milder finding passes with its words as output.
"""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from ..._documents.finding import AuditedAccount, AuditReport, Finding
from ..._documents.fix import render_in_one_line
from .shared import CAUSES, declared, fields, harmless, reaches, words


def text(report: AuditReport) -> str:
    """Return the whole document."""
    report = harmless(report)
    top = Element("testsuites", name="hpc.onboard audit", time=f"{report['run']['seconds']:.3f}")
    for account in report["accounts"]:
        _suite(top, account, report)
    for name, number in _numbers(top).items():
        if name != "skipped":  # which JUnit's schema has for a suite alone
            top.set(name, str(number))
    indent(top)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(top, encoding="unicode")}\n'


def _suite(top: Element, account: AuditedAccount, report: AuditReport) -> None:
    suite = SubElement(top, "testsuite", name=account["name"], time=f"{account['seconds']:.3f}")
    suite.set("timestamp", report["run"]["started"].removesuffix("Z"))
    profile = account["profile"]
    known = {name: account[name] for name in ("cluster", "site")}
    properties = SubElement(suite, "properties")
    for name, value in {
        **known,
        "profile": ", ".join(filter(None, (profile["status"], profile["verified_on"]))),
    }.items():
        SubElement(properties, "property", name=name, value=value)
    for case in _cases(account, report):
        suite.append(case)
    for name, number in _numbers(suite).items():
        suite.set(name, str(number))


def _cases(account: AuditedAccount, report: AuditReport) -> Iterator[Element]:
    """Yield a case for each finding and for each role that is up to date."""
    own = [finding for finding in report["findings"] if finding["account"] == account["name"]]
    if account["state"] == "unknown":
        case = _case(account, "account", "reached and measured")
        error = SubElement(case, "error", type="unknown", message=account["reason"])
        error.text = "\n".join(line for line in (account["reason"], render_in_one_line(account["next"])) if line)
        yield case
        own = [finding for finding in own if finding["rule"] != "RUN-002"]
    for finding in own:
        yield _finding(account, finding, report["run"]["fail_on"])
    for name, found in account["capabilities"].items():
        case = _case(account, name, f"{words(name)} up to date")
        if found == "not_applicable":
            SubElement(case, "skipped", message="does not apply here")
        if found in ("ok", "not_applicable"):
            yield case


def _case(account: AuditedAccount, capability: str, name: str) -> Element:
    return Element("testcase", name=name, classname=f"{account['name']}.{capability}", time="0")


def _finding(account: AuditedAccount, finding: Finding, fail_on: str) -> Element:
    name = " ".join(part for part in (finding["rule"], finding["resource"]) if part)
    place = f" at {finding['place']}" if finding["place"] else ""
    case = _case(account, finding["capability"], name + place)
    waiver = finding["waiver"]
    if waiver:
        why = f"waived until {waiver['expires']} by {waiver['by']}: {waiver['justification']} ({waiver['where']})"
        SubElement(case, "skipped", message=why)
    elif finding["class"] == "not_applicable" or _is_idle_check(finding):
        SubElement(case, "skipped", message=finding["text"])
    elif finding["class"] == "unknown":
        SubElement(case, "error", type="unknown", message=finding["text"]).text = _details(finding)
    elif reaches(finding["severity"], fail_on):
        SubElement(case, "failure", type=finding["severity"], message=finding["text"]).text = _details(finding)
    else:
        SubElement(case, "system-out").text = f"{finding['severity']}: {finding['text']}\n{_details(finding)}"
    return case


def _is_idle_check(finding: Finding) -> bool:
    """Return True for an audit check that could not look, which is information and fails no audit."""
    return finding["class"] == "unknown" and finding["severity"] == "info" and finding["capability"] == "watch"


def _details(finding: Finding) -> str:
    lines = [f"{finding['severity']}, {words(finding['class'])}, {CAUSES[finding['cause']]}, since {finding['since']}"]
    lines += [f"{name}: wanted {wanted or '-'}, found {actual or '-'}" for name, wanted, actual in fields(finding)]
    lines += [f"declared in {declared(finding)}"] if finding["declared"] else []
    lines += [f"do: {render_in_one_line(finding['fix'])}"] if finding["fix"] else []
    return "\n".join([*lines, finding["help"]])


def _numbers(element: Element) -> dict[str, int]:
    """Return the counts that JUnit wants of a suite or of the document."""
    kinds = {"tests": "testcase", "failures": "failure", "errors": "error", "skipped": "skipped"}
    return {name: sum(1 for _one in element.iter(tag)) for name, tag in kinds.items()}
