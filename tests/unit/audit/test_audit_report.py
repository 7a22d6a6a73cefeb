# SPDX-License-Identifier: GPL-3.0-or-later
"""The report of an audit from its parts: order, counts, verdict, waivers, baseline, what is remembered."""

from __future__ import annotations

import copy
import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit import accepted, report
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.fixes import FixCommands
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.rules.catalogue import RULES
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.waivers import Waiver
from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.fix import advice, describe_fix
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.command_line import Invocation

TODAY = date(2026, 11, 21)
INSTALLED = Invocation((), False, None, ())
COMMANDS = FixCommands(INSTALLED._replace(inventory=("-i", "my accounts.yml")))
ABOUT = {"cluster": "lrz", "site": "LRZ", "profile": {"verified_on": "2026-11-21", "status": "documented"}}


def finding(rule: str, **more: Any) -> dict[str, Any]:
    """A finding of an account, as its look gives it."""
    return {
        "rule": rule,
        "capability": "storage_links",
        "resource": "link ~/dss",
        "place": "",
        "class": "missing",
        "cause": "hand",
        "severity": RULES[rule].severity,
        "text": "It is not there.",
        "in_the_way": "",
        "desired": {},
        "actual": {},
        **more,
    }


def row(name: str, *findings: dict[str, Any], **more: Any) -> dict[str, Any]:
    """What an account came to."""
    said = {
        "name": name,
        **ABOUT,
        "declared": None,
        "project": "pr12ab",
        "state": "measured",
        "reason": "",
        "next": [],
        "seconds": 0.1,
        "checks": 5,
        "ok": 5 - len(findings),
        "capabilities": {"storage_links": "ok", "conda": "not_applicable", "watch": "ok"},
        "findings": list(findings),
    }
    return {**said, **more}


def unmeasured(name: str) -> dict[str, Any]:
    """An account that did not answer."""
    return report.unmeasured_row(name, "no route", {**ABOUT, "declared": None})


def told(
    *rows: dict[str, Any], known: Any = None, waivers: Any = (), accepted: Any = None, **run: Any
) -> dict[str, Any]:
    """The report."""
    past = report.EarlierResults(known or {}, [], list(waivers), accepted)
    return report.build_report(
        {"fail_on": "high", "incomplete": "fail", "since": "", "limit": "", "tags": [], **run},
        rows,
        past,
        COMMANDS,
        TODAY,
    )


def waiver(rule: str, account: str = "*", resource: str = "*", expires: str = "2026-12-31") -> Waiver:
    """A waiver as it is read."""
    return Waiver(rule, account, resource, "we know", expires, "ada", "waivers.yml:3")


def test_nothing_found_is_no_failure() -> None:
    said = told(row("a@lrz"), row("b@lrz"))
    assert said["findings"] == []
    assert (said["summary"]["exit"], said["summary"]["ok"], said["summary"]["coverage_pct"]) == (0, 10, 100)


@pytest.mark.parametrize(
    ("rule", "fail_on", "code"),
    [
        ("SEC-001", "critical", 2),
        ("LNK-001", "critical", 0),
        ("LNK-001", "high", 2),
        ("PKG-002", "high", 0),
        ("PKG-002", "medium", 2),
        ("SEC-009", "medium", 0),
        ("SEC-009", "low", 2),
        ("SEC-001", "never", 0),
    ],
)
def test_the_verdict_follows_the_severity(rule: str, fail_on: str, code: int) -> None:
    assert told(row("a@lrz", finding(rule)), fail_on=fail_on)["summary"]["exit"] == code


@pytest.mark.parametrize(("incomplete", "code"), [("fail", 2), ("ignore", 0)])
def test_an_account_that_was_not_measured_fails_the_run_unless_that_is_let_be(incomplete: str, code: int) -> None:
    said = told(row("a@lrz"), unmeasured("b@lrz"), incomplete=incomplete)
    assert said["summary"]["exit"] == code
    assert (said["summary"]["measured"], said["summary"]["unknown"], said["summary"]["coverage_pct"]) == (1, 1, 50)
    assert [(one["rule"], one["account"]) for one in said["findings"]] == [("RUN-002", "b@lrz")]


@pytest.mark.parametrize(("capability", "code"), [("storage_links", 2), ("watch", 0)])
def test_what_onboarding_keeps_must_be_measured(capability: str, code: int) -> None:
    unseen = finding("RUN-001", capability=capability, **{"class": "unknown"})
    assert told(row("a@lrz", unseen))["summary"]["exit"] == code


def test_the_worst_comes_first_and_the_same_is_told_the_same() -> None:
    rows = [row("b@lrz", finding("PKG-002"), finding("SEC-001")), row("a@lrz", finding("LNK-001"))]
    said = told(*copy.deepcopy(rows))
    assert [one["rule"] for one in said["findings"]] == ["SEC-001", "LNK-001", "PKG-002"]
    assert said == told(*copy.deepcopy(rows[::-1]))
    assert [one["name"] for one in said["accounts"]] == ["a@lrz", "b@lrz"]
    assert said["accounts"][1]["capabilities"] == {
        "storage_links": "critical",
        "conda": "not_applicable",
        "watch": "ok",
    }


def test_a_waiver_lets_a_finding_be() -> None:
    said = told(row("a@lrz", finding("LNK-001")), waivers=[waiver("LNK-001", "a@*", "link *"), waiver("ENV-001")])
    assert said["summary"]["exit"] == 0
    assert (said["summary"]["waived"], said["summary"]["by_severity"]["high"]) == (1, 0)
    assert said["findings"][0]["waiver"]["justification"] == "we know"
    assert [one["state"] for one in said["waivers"]] == ["used", "unused"]
    assert said["accounts"][0]["capabilities"]["storage_links"] == "ok"


@pytest.mark.parametrize(
    "other",
    [
        waiver("LNK-002"),
        waiver("LNK-001", "b@*"),
        waiver("LNK-001", resource="x"),
        waiver("LNK-001", expires="2026-11-20"),
    ],
)
def test_a_waiver_for_something_else_or_that_is_over_lets_nothing_be(other: Waiver) -> None:
    said = told(row("a@lrz", finding("LNK-001")), waivers=[other])
    assert (said["summary"]["exit"], said["summary"]["waived"]) == (2, 0)
    assert said["waivers"][0]["state"] == ("expired" if other.expires < "2026-11-21" else "unused")


def test_a_waiver_holds_on_its_last_day() -> None:
    said = told(row("a@lrz", finding("LNK-001")), waivers=[waiver("LNK-001", expires="2026-11-21")])
    assert said["summary"]["exit"] == 0


def test_a_downtime_that_is_known_can_be_waived() -> None:
    said = told(unmeasured("b@lrz"), waivers=[waiver("RUN-002", "b@lrz")])
    assert said["summary"]["exit"] == 0


def test_with_a_baseline_only_new_findings_fail() -> None:
    first = told(row("a@lrz", finding("LNK-001")))
    accepted = {one["fingerprint"]: "2026-01-02" for one in first["findings"]}
    again = told(row("a@lrz", finding("LNK-001")), accepted=accepted)
    assert (again["summary"]["exit"], again["findings"][0]["baseline"], again["summary"]["new"]) == (0, "unchanged", 0)
    assert (again["summary"]["accepted"], again["findings"][0]["since"]) == (1, "2026-01-02")
    more = told(row("a@lrz", finding("LNK-001"), finding("KEY-001")), accepted=accepted)
    assert (more["summary"]["exit"], more["summary"]["new"]) == (2, 1)


def test_since_when_a_finding_is_known_is_remembered_and_what_is_gone_is_told() -> None:
    first = told(row("a@lrz", finding("LNK-001")))
    known = {one: {**entry, "since": "2026-01-02"} for one, entry in report.merge_known({}, first, []).items()}
    again = told(row("a@lrz", finding("LNK-001")), known=known)
    assert again["findings"][0]["since"] == "2026-01-02"
    assert again["resolved"] == []
    gone = told(row("a@lrz"), known=known)
    assert [(one["rule"], one["account"], one["since"]) for one in gone["resolved"]] == [
        ("LNK-001", "a@lrz", "2026-01-02")
    ]
    assert report.merge_known(known, gone, []) == {}


def test_new_and_resolved_count_against_the_audits_before() -> None:
    first = told(row("a@lrz", finding("LNK-001")))
    assert (first["summary"]["new"], first["findings"][0]["new"]) == (1, True)
    known = report.merge_known({}, first, [])
    again = told(row("a@lrz", finding("LNK-001")), known=known)
    assert (again["summary"]["new"], again["summary"]["resolved"], again["findings"][0]["new"]) == (0, 0, False)
    assert again["summary"]["exit"] == 2, "a finding that is not new fails the run all the same"


@pytest.mark.parametrize(
    ("before", "after", "changed"),
    [
        (finding("LNK-002", actual={"target": "/a"}), finding("LNK-002", actual={"target": "/b"}), True),
        (finding("LNK-002"), finding("LNK-002"), False),
        (finding("LNK-002"), finding("LNK-002", severity="low"), True),
        (
            finding("USE-001", capability="watch", text="93 %."),
            finding("USE-001", capability="watch", text="94 %."),
            False,
        ),
        (finding("USE-001", capability="watch"), finding("USE-001", capability="watch", severity="high"), True),
    ],
)
def test_a_finding_has_changed_if_more_than_a_number_that_moves_every_day_is_another(
    before: dict[str, Any], after: dict[str, Any], changed: bool
) -> None:
    known = report.merge_known({}, told(row("a@lrz", before)), [])
    said = told(row("a@lrz", after), known=known)
    assert (said["findings"][0]["changed"], said["summary"]["changed"]) == (changed, int(changed))
    assert not said["findings"][0]["new"]
    for one in known.values():
        del one["state"]  # as earlier versions remember it
    assert not told(row("a@lrz", after), known=known)["summary"]["changed"]


@pytest.mark.parametrize(
    ("text", "event"),
    [
        ("~/x leads to /work1/pr12ab/a, which is gone.", "~/x leads to /work1/$PROJECT/$USER, which is gone."),
        ("/data/a.", "/data/$USER."),
        ("/data/a.old and /data/a-b and /data/b/a_c", "/data/a.old and /data/a-b and /data/b/a_c"),
        ("a key of pr12ab", "a key of pr12ab"),
    ],
)
def test_an_event_is_the_text_without_the_names_of_the_account_in_paths(text: str, event: str) -> None:
    assert told(row("a@lrz", finding("LNK-003", text=text)))["findings"][0]["event"] == event


def test_an_account_that_answers_again_and_then_does_not_is_resolved_and_new() -> None:
    known: Any = {}
    counts = []
    for one in (unmeasured("a@lrz"), unmeasured("a@lrz"), row("a@lrz"), unmeasured("a@lrz")):
        said = told(one, known=known)
        known = report.merge_known(known, said, [one])
        counts.append((said["summary"]["new"], said["summary"]["resolved"]))
    assert counts == [(1, 0), (0, 0), (0, 1), (1, 0)]


def test_what_a_role_keeps_and_could_not_be_measured_is_not_resolved() -> None:
    known = report.merge_known({}, told(row("a@lrz", finding("LNK-001"))), [])
    unseen = finding("RUN-001", **{"class": "unknown"})
    assert told(row("a@lrz", unseen), known=known)["resolved"] == []
    other = finding("RUN-001", resource="link ~/other", **{"class": "unknown"})
    assert [one["rule"] for one in told(row("a@lrz", other), known=known)["resolved"]] == ["LNK-001"]


@pytest.mark.parametrize(
    "rows", [[unmeasured("a@lrz")], [row("b@lrz")], [row("a@lrz", capabilities={"conda": "ok"})], []]
)
def test_what_was_not_looked_for_is_not_gone(rows: list[dict[str, Any]]) -> None:
    known = report.merge_known({}, told(row("a@lrz", finding("LNK-001"))), [])
    said = told(*rows, known=known)
    assert said["resolved"] == []
    assert known.items() <= report.merge_known(known, said, []).items()


@pytest.mark.parametrize(
    ("pattern", "others", "run", "state"),
    [
        ("b@lrz", [], {}, "unused"),  # no longer in the accounts file
        ("b@lrz", [], {"limit": "a@lrz"}, "not_checked"),
        ("*@lrz", [], {"limit": "a@lrz"}, "not_checked"),
        ("a@lrz", [], {"limit": "a@lrz"}, "unused"),
        ("a@lrz", [], {"tags": ["conda", "launchers"]}, "not_checked"),
        ("b@lrz", [unmeasured("b@lrz")], {}, "not_checked"),
        ("*", [unmeasured("b@lrz")], {}, "not_checked"),
        ("a@lrz", [unmeasured("b@lrz")], {}, "unused"),
        ("b@lrz", [row("b@lrz", finding("RUN-001", capability="watch"))], {}, "not_checked"),
    ],
)
def test_a_waiver_is_unused_only_if_the_run_has_checked_what_it_covers(
    pattern: str, others: list[dict[str, Any]], run: dict[str, Any], state: str
) -> None:
    said = told(row("a@lrz"), *others, waivers=[waiver("LNK-001", pattern)], **run)
    assert said["waivers"][0]["state"] == state


def test_writing_the_baseline_keeps_what_the_run_did_not_check(tmp_path: Path) -> None:
    settings = {"audit_baseline": str(tmp_path / "baseline.json"), "audit_baseline_write": True, "audit_waivers": ""}

    def write(*rows: dict[str, Any]) -> set[tuple[str, str]]:
        """Write the baseline; return account and rule of its findings."""
        accepted.read_accepted({"inventory_dir": str(tmp_path)}, settings, TODAY)
        accepted.write_baseline(settings, told(*rows))
        entries = json.loads((tmp_path / "baseline.json").read_text())["findings"].values()
        return {(entry["account"], entry["rule"]) for entry in entries}

    conda = finding("ENV-001", capability="conda", resource="conda")
    both = {("a@lrz", "LNK-001"), ("a@lrz", "ENV-001")}
    assert write(row("a@lrz", finding("LNK-001"), conda), row("b@lrz")) == both
    assert write(row("b@lrz", finding("LNK-001"))) == both | {("b@lrz", "LNK-001")}  # limited to b@lrz
    assert write(unmeasured("a@lrz"), row("b@lrz")) == both | {("a@lrz", "RUN-002")}
    assert write(row("a@lrz", capabilities={"storage_links": "ok"})) == {("a@lrz", "ENV-001")}  # with --tags
    assert write(row("a@lrz")) == set()


def test_writing_the_baseline_does_not_overwrite_another_file(tmp_path: Path) -> None:
    file = tmp_path / "accounts.yml"
    file.write_text("accounts:\n")
    settings = {"audit_baseline": str(file), "audit_baseline_write": True, "audit_waivers": ""}
    with pytest.raises(AccountError, match="is not a baseline file"):
        accepted.read_accepted({"inventory_dir": str(tmp_path)}, settings, TODAY)


def test_a_finding_is_known_by_what_it_is_about_and_not_by_what_was_found() -> None:
    one = told(row("a@lrz", finding("LNK-002", actual={"target": "/a"}, text="It leads to /a.")))["findings"][0]
    other = told(row("a@lrz", finding("LNK-002", actual={"target": "/b"}, text="It leads to /b.")))["findings"][0]
    assert one["fingerprint"] == other["fingerprint"]
    assert one["fingerprint"] != told(row("b@lrz", finding("LNK-002")))["findings"][0]["fingerprint"]


ONBOARD = "ansible-playbook -i 'my accounts.yml' hpc.onboard.onboard -l a@lrz --tags storage_links"
OFFBOARD = "ansible-playbook -i 'my accounts.yml' hpc.onboard.offboard -l a@lrz -e offboard_only=undeclared"
FIX = "ansible-playbook -i 'my accounts.yml' hpc.onboard.fix -l a@lrz"
LINK = {"kind": "leftover_fix", "options": {"path": "~/old", "what": "link", "mark": "key 0123456789ab"}}
ON_ACCOUNT = "ansible -i 'my accounts.yml' a@lrz -m raw -a "
KEEP = "This key is not in your keyring. If you need it, store it first: keyring set hpc.onboard NAME."
ASK = "Ask the site for the new path, or correct the path in the accounts file, then:"


def parts(given: dict[str, Any], commands: FixCommands = COMMANDS) -> list[tuple[str, bool]]:
    """What fixes a finding of a@lrz, in words, and what of it is a command."""
    return [tuple(part) for part in describe_fix(commands.find_fix(given, "a@lrz"))]


def test_nothing_is_run_by_hand_in_a_sandbox_since_it_would_be_run_here() -> None:
    commands = FixCommands(INSTALLED, {"a@lrz"})
    moved = finding("SCR-002", in_the_way="~/bin/x", blocked=True)
    assert parts(moved, commands) == [
        ("In the sandbox, run: mv -n ~/bin/x ~/bin/x.mine, then:", False),
        ("ansible-playbook hpc.onboard.onboard -l a@lrz --tags storage_links", True),
    ]


@pytest.mark.parametrize(
    ("given", "fix"),
    [
        (finding("LNK-001"), [(ONBOARD, True)]),
        (
            finding("SCR-002", in_the_way="~/bin/x", blocked=True),
            [(f"{ON_ACCOUNT}'mv -n ~/bin/x ~/bin/x.mine' && {ONBOARD}", True)],
        ),
        (
            finding("SCR-002", in_the_way="~/$(id)", text="rename it (mv ~/a ~/b), then run again.", blocked=True),
            [("Follow the advice in the finding, then:", False), (ONBOARD, True)],
        ),
        (finding("LNK-003", cause="site", blocked=True), [(ASK, False), (ONBOARD, True)]),
        (finding("ORP-001"), [(OFFBOARD, True)]),
        (
            finding("ORP-001", in_the_way="~/bin/mine"),
            [
                (
                    "No change is needed. If you do not know why the receipt has this entry, inspect"
                    " ~/.config/hpc.onboard/receipt.json.",
                    False,
                )
            ],
        ),
        (finding("LNK-003", capability="watch", place="~/old", auto_fix=LINK), [(FIX, True)]),
        (
            finding("LNK-003", capability="watch", place="~/$(id)"),
            [("Change ~/$(id) so that it points to an existing target, or remove the link.", False)],
        ),
        (
            finding("SEC-004", capability="watch", place="~/x\nrm -rf ~"),
            [
                (
                    "Make sure that the program gets its key in another way. Then remove the key from ~/x\nrm -rf ~ by"
                    " hand.",
                    False,
                )
            ],
        ),
        (
            finding("SEC-007", capability="watch", place="~/.credentials:2"),
            [
                (
                    "If no role of hpc-onboard writes ~/.credentials:2, replace the password in this line with the"
                    " key itself. Otherwise, delete the line, then run: ansible-playbook -i 'my accounts.yml'"
                    " hpc.onboard.onboard -l a@lrz",
                    False,
                )
            ],
        ),
        (
            finding("ENV-005", capability="watch", place="~/bin/x", case="not_on_path"),
            [
                (
                    "Log in again. If the script is still not on PATH, look in your start-up file for a line"
                    " that replaces PATH after the line that reads hpc-onboard's settings. Add the script's folder in"
                    " that line: export PATH=~/bin:$PATH (in tcsh: set path = (~/bin $path)).",
                    False,
                )
            ],
        ),
        (
            finding("SEC-008", capability="watch", place="~/.bashrc:5", case="leads_past"),
            [
                (
                    "In the accounts file, set the role's option path to the path in this variable. hpc-onboard then"
                    " writes the key to that file. If no other program needs the variable, remove it from ~/.bashrc:5"
                    " instead.",
                    False,
                )
            ],
        ),
        (
            finding("ENV-001", capability="watch", place="~/.local/share/enroot", case="not_made_again"),
            [
                (
                    "Keep ~/.local/share/enroot, because no program can create its content again. To move the content,"
                    " use the program that wrote it (for enroot: enroot export, then enroot create).",
                    False,
                )
            ],
        ),
        (
            finding("ENV-005", capability="watch", place="/opt/x"),
            [
                (
                    "Remove /opt/x, or remove its folder from PATH. Alternatively, move its folder on PATH behind the"
                    " folder of hpc-onboard's script.",
                    False,
                )
            ],
        ),
        (
            finding("SEC-004", capability="watch", place="~/a.sh:1", case="unknown_key"),
            [(f"{KEEP} Then remove the key from ~/a.sh:1.", False)],
        ),
        (
            finding("SEC-004", capability="watch", place="~/a.sh:1", case="anything an account says"),
            [
                (
                    "Make sure that the program gets its key in another way. Then remove the key from ~/a.sh:1 by"
                    " hand.",
                    False,
                )
            ],
        ),
    ],
)
def test_the_command_that_fixes_it(given: dict[str, Any], fix: list[tuple[str, bool]]) -> None:
    assert parts(given) == fix


def test_what_a_finding_brings_itself_goes_before_what_its_rule_says() -> None:
    brought = [advice("Compare the profile.")]
    assert told(row("a@lrz", finding("PRO-001", capability="watch", fix=brought)))["findings"][0]["fix"] == brought
