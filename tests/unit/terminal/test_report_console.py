# SPDX-License-Identifier: GPL-3.0-or-later
"""The report on a terminal: the worst first, in any width, and readable with 300 accounts."""

from __future__ import annotations

import re
from typing import Any

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.formats.groups import group_findings
from ansible_collections.hpc.onboard.plugins.plugin_utils._terminal.audit_report import MOST_GROUPS, report_lines
from ansible_collections.hpc.onboard.plugins.plugin_utils._terminal.layout import Terminal, join_lines, plain_text
from hypothesis import given, settings
from hypothesis import strategies as st
from report_example import REPORTS, WAIVER, account, example, finding, large, report
from strange_reports import reports

from tests.testbed.screen import width


def text(document: Any, terminal: Terminal | None = None) -> str:
    """Return the lines of a report as text."""
    return join_lines(report_lines(document, terminal or Terminal()))


STYLES = {"", "ok", "changed", "error", "note", "bold", "faint", "added", "removed"}


def measured(said: str) -> int:
    """The cells of a line, counted by the terminal of the tests."""
    return sum(map(width, said))


@pytest.mark.parametrize("name", REPORTS)
@pytest.mark.parametrize("wide", [40, 60, 80, 132])
@pytest.mark.parametrize("ascii_only", [False, True])
def test_no_line_is_wider_than_the_terminal(name: str, wide: int, ascii_only: bool) -> None:
    for line in report_lines(REPORTS[name], Terminal(wide, ascii_only)):
        assert measured(plain_text(line)) <= wide, plain_text(line)
        assert {span.style for span in line} <= STYLES


@settings(max_examples=50, deadline=None)
@given(reports, st.integers(40, 120))
def test_nothing_of_an_account_moves_the_cursor_or_hides(document: dict[str, Any], wide: int) -> None:
    said = text(document, Terminal(wide))
    assert all(line.isprintable() for line in said.split("\n"))
    assert all(measured(line) <= wide for line in said.split("\n"))


def test_the_worst_comes_first_with_account_place_and_age() -> None:
    said = text(example())
    assert said.startswith(
        "  ◆ critical     go42tum@lrz: The file with the key for nvcr.io can be read by\n"
        "                 the group.\n"
        "                 ~/.config/enroot/.credentials, SEC-001, new\n"
    )
    at = [said.index(one) for one in ("SEC-001", "KEY-002", "LNK-003", "ENV-002", "KEY-007", "ORP-001")]
    assert at == sorted(at)


def test_what_is_waived_or_needs_no_action_is_counted_only() -> None:
    said = text(example())
    assert "PKG-002" not in said
    assert "RUN-001" not in said
    every = join_lines(report_lines(example(), Terminal(), every=True))
    assert re.search(r"\n  i info         ada@[^\n]*(\n {17}[^\n]*)*\(RUN-001\)\n", every)
    assert "5 accounts: 1 critical, 3 high, 2 medium, 1 low, 1 info" in said
    assert "2 new, 1 resolved, 1 waived." in said


def test_an_account_that_was_not_measured_has_its_reason_and_command_once() -> None:
    said = text(example())
    assert "✗ unknown  ada@narval\n    ssh: connect to host narval" in said
    assert said.count("ssh -MNf narval") == 1


def test_the_matrix_has_a_column_for_each_capability() -> None:
    said = text(example()).splitlines()
    top = said.index("               storage links")
    assert said[top + 8] == "               │ │ │ │ │ │ │ │ watch"
    assert said[top + 9 : top + 13] == [
        "go42tum@lrz    ✓ ◆ ✓ ✓ ✓ ✓ ✓ ✓ ✓",
        "simone@wilson  ▲ - ✓ ✓ ✓ ✓ ✓ ✓ ✓",
        "ada@dfki       ✓ ✓ - ● ✓ ✓ ○ ✓ ✓",
        "ada@daint      ✓ ✓ ✓ ✓ ✓ ✓ ✓ ● i",
    ]
    assert said[top + 13] == "◆ critical   ▲ high   ● medium   ○ low   i info   ✓ ok   - does not apply"


def test_where_the_matrix_does_not_fit_and_of_one_account_there_is_a_list() -> None:
    said = text(example(), Terminal(40))
    assert "│" not in said
    assert "go42tum@lrz\n  ◆ critical: enroot credentials\n" in said
    one = text(report([account("a@lrz")], []))
    assert "a@lrz\n  ✓ ok" in one
    assert "│" not in one


def test_in_ascii_every_state_has_a_symbol_of_its_own() -> None:
    said = text(example(), Terminal(80, ascii=True))
    assert said.isascii()
    assert "# critical   ! high   ~ medium   , low   i info   * ok   - does not apply" in said


def test_of_300_accounts_those_with_findings_are_shown_and_the_rest_counted() -> None:
    said = text(REPORTS["large"])
    assert "✓ 270 other accounts without findings" in said
    assert "and 6 others with findings" in said
    assert len(said.splitlines()) < 170


def test_5000_findings_are_as_few_lines() -> None:
    said = text(large(300, 5000))
    assert len(said.splitlines()) < 200
    assert "less severe findings. To write all findings to files, use -e audit_output=FOLDER." in " ".join(said.split())


def test_300_accounts_in_order_are_one_line() -> None:
    said = text(report([account(f"u{number}@lrz") for number in range(300)], []))
    assert said.splitlines()[0] == "✓ 300 accounts without findings"


def test_what_is_the_same_on_several_accounts_is_told_once() -> None:
    found = [finding("ENV-004", f"u{number}@lrz", "start-up files", place="~/.bashrc") for number in range(3)]
    (group,) = group_findings(found, MOST_GROUPS)
    assert (group.number, group.accounts, group.place) == (3, ["u0@lrz", "u1@lrz", "u2@lrz"], "~/.bashrc")
    said = text(report([account(f"u{number}@lrz") for number in range(3)], found))
    assert "○ low          3 accounts: Start-up files are slow, or end the shell.\n" in said


def test_different_findings_are_told_apart() -> None:
    found = [finding("ENV-004", "u@lrz", "start-up files", place=place) for place in ("~/.bashrc", "~/.zshrc")]
    assert len(group_findings(found, MOST_GROUPS)) == 2


def test_two_commands_do_for_all_accounts_what_many_would() -> None:
    after = text(example(), Terminal(160)).split("Next:\n")[1].splitlines()
    assert after == [
        "  ansible-playbook onboard.yml -l 'go42tum@lrz,simone@wilson,ada@daint'",
        "  ansible-playbook rotate_ngc.yml -e rotate_resume=true -l 'go42tum@lrz';"
        " ansible-playbook rotate_ngc.yml -l 'ada@dfki'",
    ]


def test_one_event_is_one_line_whatever_the_names_of_its_accounts() -> None:
    found = [
        finding("LNK-003", f"u{n}@lrz", "link ~/s", text=f"~/s leads to /old/u{n}.", event="~/s leads to /old/$USER.")
        for n in range(97)
    ]
    accounts = [account(f"u{n}@lrz") for n in range(97)]
    assert "▲ high         97 accounts: ~/s leads to /old/$USER.\n" in text(report(accounts, found))


def test_since_the_last_audit_only_what_happened_is_shown() -> None:
    document = example()
    document["run"]["since"] = "last"
    document["findings"][1] |= {"changed": True}
    document["summary"]["changed"] = 1
    shown = text(document)
    assert all(rule in shown for rule in ("SEC-001", "ENV-002", "DIR-001"))
    assert "KEY-007" not in shown.split("Next:")[0]
    assert "✓ resolved     ada@dfki: folder /netscratch/ada (DIR-001)\n" in shown
    assert "2 new, 1 changed, 1 resolved, 1 waived." in " ".join(shown.split())


def test_nothing_new_is_one_line_and_why_the_run_fails() -> None:
    document = example()
    document["run"]["since"] = "last"
    document["findings"] = [{**one, "new": False} for one in document["findings"]]
    document["summary"] |= {"new": 0, "resolved": 0}
    assert text(document).splitlines() == [
        "Nothing new since the last audit (2026-10-18 18:00 UTC). 8 findings unchanged.",
        "  ✗ fails        findings with severity high or worse",
    ]


def test_waived_findings_have_no_next_command() -> None:
    assert "Next:" not in text(report([account("a@lrz")], [finding("ENV-004", "a@lrz", "x", waiver=WAIVER)]))


def test_without_accounts_it_says_so() -> None:
    assert text(REPORTS["empty"]).startswith("0 accounts: nothing found")


def test_a_difference_has_no_line_numbers_and_names_its_sides() -> None:
    diff = ["--- desired", "+++ found", "@@ -348 +348 @@", "-a", "+b", "--- c"]
    said = text(report([account("ada@dfki")], [finding("ENV-001", "ada@dfki", "x", diff=diff)])).split("\n")
    shown = [line.strip() for line in said if line.strip()[:1] in ("-", "+", "@")]
    assert shown == ["- (desired)", "+ (found)", "- a", "+ b", "- -- c"]


def test_expired_waivers_are_named() -> None:
    waivers = [{"rule": "ENV-001", "account": "*", "resource": "*", **WAIVER, "state": "expired"}]
    assert "1 waiver has expired (audit/waivers.yml:12)" in text(report([account("ada@dfki")], [], waivers=waivers))
