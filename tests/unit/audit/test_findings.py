# SPDX-License-Identifier: GPL-3.0-or-later
"""From outcomes to findings: rule, class, severity and cause of each difference."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
from ansible_collections.hpc.onboard.plugins.module_utils._core.resource import Outcome
from ansible_collections.hpc.onboard.plugins.module_utils._core.values import note_key
from ansible_collections.hpc.onboard.plugins.module_utils._receipt.notes import make_note as _note
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.findings import (
    DIFF_LINES,
    DIFF_WIDTH,
    NOT_SHOWN,
    check_findings,
    diff_contents,
    orphan_findings,
    resource_findings,
)
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.resource_rules import RULES_BY_TYPE, AccountContext
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.rules.catalogue import (
    CAUSES,
    CLASSES,
    RULES,
    SEVERITIES,
)
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.plan import KINDS
from ansible_collections.hpc.onboard.plugins.plugin_utils._roles.table import ELSEWHERE

MINE = "mine"
KEPT = sorted(  # the others are steps of a rotation, and what jobs leave nothing of
    kind for kind in KINDS if "state" in KINDS[kind].OPTIONS and kind not in ELSEWHERE
)
KEY = {"password": "key aaaa", "lines": "1", "mode": "0600", "folder mode": "0700"}
LINK = {"target": "/work/p", "points to": "folder"}


def outcome(before: dict[str, str], after: dict[str, str], reason: str | None = None) -> dict[str, Any]:
    """An outcome as the account answers it."""
    return {**Outcome("the thing", before, after, reason).document(), "capability": "some"}


def note(reached: dict[str, str], own: str = MINE, **more: Any) -> dict[str, Any]:
    """What is noted of a thing that was brought to this state."""
    after = {"identity": "the thing", "before": {}, "after": reached, "status": "missing"}
    return {**_note({"kind": "k", "capability": "", "options": {}}, after, own, "lrz", True), **more}


def look(noted: dict[str, Any] | None = None, **more: Any) -> AccountContext:
    """What an account was looked at with."""
    given: dict[str, Any] = {"notes": {"k": noted} if noted else {}, "key_id": MINE, "replaced_keys": {}, "purged": ()}
    return AccountContext(**{**given, **more})


class Case(NamedTuple):
    """A kind, what was found and wanted, and the findings as rule, class, severity."""

    kind: str
    before: dict[str, str]
    after: dict[str, str]
    found: list[tuple[str, str, str]]
    reason: str | None = None


CASES = [
    Case("enroot_credential", KEY, KEY, []),
    Case("enroot_credential", {}, KEY, [("KEY-001", "missing", "high")]),
    Case("enroot_credential", {**KEY, "password": "key bbbb"}, KEY, [("KEY-002", "changed", "high")]),
    Case("enroot_credential", {**KEY, "password": "key old"}, KEY, [("KEY-002", "stale", "high")]),
    Case("registry_auth", {**KEY, "mode": "0644"}, KEY, [("SEC-001", "changed", "critical")]),
    Case("registry_auth", {**KEY, "mode": "0400"}, KEY, [("SEC-001", "changed", "low")]),
    Case("netrc_entry", {**KEY, "folder mode": "0750"}, KEY, [("SEC-002", "changed", "critical")]),
    Case(
        "netrc_entry",
        {**KEY, "folder mode": "none (the folder is a link)"},
        KEY,
        [("KEY-004", "broken", "high")],
        "a link",
    ),
    Case("token_file", {**KEY, "mode": "0600 and an access list"}, KEY, [("SEC-003", "changed", "critical")]),
    Case("enroot_credential", {**KEY, "lines": "2"}, KEY, [("KEY-003", "changed", "high")]),
    Case("enroot_credential", {**KEY, "form": "other"}, {**KEY, "form": "ours"}, [("KEY-004", "changed", "high")]),
    Case("netrc_entry", {**KEY, "entries": "2"}, {**KEY, "entries": "1"}, [("KEY-003", "changed", "high")]),
    Case("ngc_config", {**KEY, "config.BAK": "key b"}, KEY, [("SEC-006", "changed", "high")]),
    Case("ngc_config", {"is": "link"}, KEY, [("KEY-004", "broken", "high")], "it is a link"),
    Case(
        "enroot_credential",
        {**KEY, "mode": "0640", "password": "key bbbb"},
        KEY,
        [("SEC-001", "changed", "critical"), ("KEY-002", "changed", "high")],
    ),
    Case("storage_link", {}, LINK, [("LNK-001", "missing", "high")]),
    Case("storage_link", {**LINK, "target": "/x"}, LINK, [("LNK-002", "changed", "high")]),
    Case("storage_link", {**LINK, "points to": "nothing"}, LINK, [("LNK-003", "broken", "high")], "nothing is there"),
    Case("storage_link", {}, LINK, [("LNK-001", "broken", "high")], "nothing is there"),
    Case("storage_link", {"is": "folder"}, LINK, [("LNK-004", "changed", "high")], "it is real"),
    Case("directory", {}, {"is": "folder"}, [("DIR-001", "missing", "medium")]),
    Case("directory", {}, {"is": "folder"}, [("DIR-001", "broken", "medium")], "only the site can make it"),
    Case("directory", {"is": "file"}, {"is": "folder"}, [("DIR-002", "changed", "medium")], "no folder"),
    Case("shell_environment", {}, {"a": "x"}, [("ENV-006", "missing", "medium")]),
    Case("shell_environment", {"a": "y"}, {"a": "x"}, [("ENV-002", "changed", "medium")]),
    Case("shell_environment", {"a": "y"}, {"a": "x"}, [("ENV-002", "changed", "medium")], "changed by hand"),
    Case("path_script", {}, {"content": "x"}, [("SCR-001", "missing", "medium")]),
    Case("path_script", {"content": "y"}, {"content": "x"}, [("SCR-002", "changed", "medium")]),
    Case("own_file", {}, {"content": "x"}, [("OWN-001", "missing", "medium")]),
    Case("own_file", {"content": "y"}, {"content": "x"}, [("OWN-002", "changed", "medium")]),
    Case("own_file", {}, {"content": "x"}, [("OWN-001", "broken", "medium")], "a file is in the way"),
    Case("container_image", {}, {"digest": "x"}, [("IMG-001", "missing", "high")]),
    Case("container_image", {"digest": "y"}, {"digest": "x"}, [("IMG-002", "changed", "medium")]),
    Case("container_image", {"is": "folder"}, {"digest": "x"}, [("IMG-001", "broken", "high")]),
    Case("python_env", {}, {"a": "x"}, [("PKG-006", "missing", "high")]),
    Case("python_env", {"a": "y"}, {"a": "x"}, [("PKG-007", "changed", "medium")]),
    Case("python_env", {"points to": "nothing"}, {"leads to": "it"}, [("PKG-006", "broken", "high")]),
    Case("conda_install", {}, {"conda": "1"}, [("PKG-005", "missing", "high")]),
    Case("conda_install", {"conda": "0"}, {"conda": "1"}, [("PKG-004", "changed", "medium")]),
    Case("conda_install", {"is": "folder"}, {"conda": "1"}, [("PKG-005", "broken", "high")]),
    Case(
        "conda_install",
        {"conda": "1", "rc": "y"},
        {"conda": "1", "rc": "x"},
        [("PKG-003", "changed", "medium")],
        "by hand",
    ),
    Case("conda_install", {"conda": "1"}, {"conda": "1", "environment a": "x"}, [("PKG-005", "missing", "high")]),
    Case("conda_install", {"conda": "1"}, {"conda": "1", "condarc.d/x": "x"}, [("PKG-003", "changed", "medium")]),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.kind}-{case.found}")
def test_each_difference_breaks_its_rule(case: Case) -> None:
    entry = {"kind": case.kind, "options": {"path": "~/a/file"}}
    said = resource_findings(
        entry, "k", outcome(case.before, case.after, case.reason), look(replaced_keys={"key old": "ngc"})
    )
    assert sorted((one["rule"], one["class"], one["severity"]) for one in said) == sorted(case.found)
    assert all(one["text"].endswith((".", "?", "!")) for one in said)
    assert all(case.reason in one["text"] and one["blocked"] for one in said if case.reason)


def test_every_resource_type_has_rules() -> None:
    assert {*KEPT, "emptied_cache", "scheduler"} == set(RULES_BY_TYPE)


@pytest.mark.parametrize(
    ("noted", "before", "after", "cause"),
    [
        (note(KEY), {**KEY, "mode": "0644"}, KEY, "hand"),
        (note({**KEY, "mode": "0644"}), {**KEY, "mode": "0644"}, KEY, "spec"),
        (note(KEY), {**KEY, "password": "key b"}, KEY, "hand"),
        (note({**KEY, "password": "key b"}), {**KEY, "password": "key b"}, KEY, "spec"),
        (note(KEY, "another machine"), {**KEY, "password": "key b"}, KEY, "unknown"),
        (note(KEY, keyed={}), {**KEY, "password": "key b"}, KEY, "unknown"),
        (note(KEY), {**KEY, "config.BAK": "key b"}, KEY, "hand"),
        (note(KEY, "another machine"), {**KEY, "config.BAK": "key b"}, KEY, "hand"),
        (note(KEY, state="intended"), {**KEY, "mode": "0644"}, KEY, "unknown"),
        (None, {**KEY, "mode": "0644"}, KEY, "unknown"),
        (note(KEY), {}, KEY, "hand"),
    ],
)
def test_the_receipt_tells_who_moved(noted: Any, before: Any, after: Any, cause: str) -> None:
    entry = {"kind": "enroot_credential", "options": {"path": "~/a"}}
    assert [one["cause"] for one in resource_findings(entry, "k", outcome(before, after), look(noted))] == [cause]


def test_what_was_wished_for_since_the_last_run_is_missing_by_the_wish() -> None:
    entry = {"kind": "enroot_credential", "options": {"path": "~/a"}}
    noted = look(note(KEY))
    assert [one["cause"] for one in resource_findings(entry, "new", outcome({}, KEY), noted)] == ["spec"]
    assert [one["cause"] for one in resource_findings(entry, "new", outcome({**KEY, "lines": "2"}, KEY), noted)] == [
        "unknown"
    ]
    assert [one["cause"] for one in resource_findings(entry, "new", outcome({}, KEY), look())] == ["unknown"]


def test_a_start_up_file_that_was_created_since_is_by_hand() -> None:
    entry = {"kind": "shell_environment", "options": {"section": "own"}}
    env, line = {"~/env.sh": "x"}, {"~/.bash_profile": "y"}
    found = outcome(env, {**env, **line})
    noted = look()._replace(notes={note_key("shell_environment", found["identity"]): note(env)})
    assert [one["cause"] for one in resource_findings(entry, "k", found, noted)] == ["hand"]


@pytest.mark.parametrize(
    ("field", "case", "cause"),
    [
        ("JOB-002 ~/a.sh:1", "", "site"),
        ("JOB-002 ~/a.sh:1", "own_request", "hand"),
        ("LNK-003 ~/a", "own_target", "hand"),
        ("DIR-003 /work/a", "own_mode", "hand"),
        ("ENV-008 ~/.profile:1", "", "hand"),
        ("ENV-008 /etc/profile.d/a.sh:1", "", "site"),
    ],
)
def test_case_and_place_tell_whose_change_it_was(field: str, case: str, cause: str) -> None:
    seen = outcome({field: "x"}, {})
    seen["evidence"] = {"cases": {field: case}} if case else {}
    entry = {"kind": "areas", "options": {}}
    assert [one["cause"] for one in check_findings(entry, seen)] == [cause]


def test_each_field_has_a_cause_of_its_own() -> None:
    entry = {"kind": "enroot_credential", "options": {"path": "~/a"}}
    noted = note({**KEY, "password": "key b"})
    said = resource_findings(entry, "k", outcome({**KEY, "password": "key b", "mode": "0644"}, KEY), look(noted))
    assert {one["rule"]: one["cause"] for one in said} == {"KEY-002": "spec", "SEC-001": "hand"}


@pytest.mark.parametrize(("purged", "cause"), [((), "site"), (("/work",), "time"), (("/wor",), "site")])
def test_what_a_link_led_to_went_with_the_site_or_with_time(purged: tuple[str, ...], cause: str) -> None:
    entry = {"kind": "storage_link", "options": {"path": "~/w", "target": "/work/p"}}
    gone = outcome({**LINK, "points to": "nothing"}, LINK)
    said = resource_findings(entry, "k", gone, look(note(LINK), purged=purged))
    assert [one["cause"] for one in said] == [cause]


@pytest.mark.parametrize("status", ["failed", "unknown", "blocked"])
def test_what_was_not_looked_at_is_said(status: str) -> None:
    unmet = {**Outcome.of_failure("the thing", status, "it hangs").document(), "capability": "some"}
    said = resource_findings({"kind": "directory", "options": {}}, "k", unmet, look())
    assert [(one["rule"], one["class"], one["text"]) for one in said] == [("RUN-001", "unknown", "it hangs")]


def test_a_resource_that_needs_another_one_is_named_with_it() -> None:
    failure = Outcome.of_failure("link ~/work", "blocked", "waits for: folder /work/p")
    waiting = {**failure.document(), "capability": "some"}
    (said,) = resource_findings({"kind": "storage_link", "options": {}}, "k", waiting, look())
    text = "link ~/work was not checked, because it needs folder /work/p, which has a problem."
    assert (said["rule"], said["text"]) == ("RUN-001", text)


def test_a_watch_names_rules_and_places() -> None:
    seen = outcome({"SEC-004 ~/.bashrc:12": "A key.", "XXX-999 ~/x": "no rule"}, {})
    said = check_findings({"kind": "w", "options": {}}, {**seen, "remarks": ["one file was too large"]})
    assert [(one["rule"], one["place"], one["class"]) for one in said] == [
        ("RUN-001", "", "unknown"),
        ("SEC-004", "~/.bashrc:12", "unmanaged"),
        ("RUN-001", "", "unknown"),
    ]


@pytest.mark.parametrize(
    ("rule", "said", "severity"),
    [
        ("USE-001", "", "medium"),
        ("USE-001", "high", "high"),
        ("SEC-004", "info", "high"),
        ("USE-001", "worst of all", "medium"),
    ],
)
def test_an_account_makes_a_finding_worse_by_a_field_never_milder_and_never_by_words(
    rule: str, said: str, severity: str
) -> None:
    seen = outcome({f"{rule} ~/the grace period ends": "the grace period is over"}, {})
    seen["evidence"] = {"severities": {f"{rule} ~/the grace period ends": said}}
    (found,) = check_findings({"kind": "w", "options": {}}, seen)
    assert found["severity"] == severity


def test_what_is_in_the_way_is_named_as_it_was_declared() -> None:
    entry = {"kind": "path_script", "options": {"path": "~/bin/x"}}
    seen = {**outcome({"is": "link"}, {"content": "x"}, "it stays"), "evidence": {"theirs": True}}
    assert [one["in_the_way"] for one in resource_findings(entry, "k", seen, look())] == ["~/bin/x"]
    assert [one["in_the_way"] for one in resource_findings(entry, "k", {**seen, "evidence": {}}, look())] == [""]


def test_a_thing_that_is_not_declared_any_more_is_found_while_it_is_there() -> None:
    entry = {"kind": "storage_link", "options": {}}
    assert [one["rule"] for one in orphan_findings(entry, outcome(LINK, {}))] == ["ORP-001"]
    assert orphan_findings(entry, outcome({}, {})) == []
    assert orphan_findings({**entry, "kind": "slurm_test_job"}, outcome({"job": "ours"}, {})) == []


def test_the_words_of_the_catalogue_are_used() -> None:
    assert all(rule.severity in SEVERITIES for rule in RULES.values())
    assert all(rule.found_class in CLASSES and rule.found_cause in CAUSES for rule in RULES.values())


@pytest.mark.parametrize("kind", KEPT)
@pytest.mark.parametrize("before", [{"x": "y"}, {"is": ""}, {"password": "", "mode": "", "folder mode": ""}, {}])
@pytest.mark.parametrize("after", [{}, {"x": "z"}])
def test_a_state_that_no_account_should_tell_is_judged_all_the_same(
    kind: str, before: dict[str, str], after: dict[str, str]
) -> None:
    told = {**outcome(before, after), "status": "different", "fields": ["no such field", "environment "]}
    said = resource_findings({"kind": kind, "options": {}}, "k", told, look(note(KEY)))
    assert said
    assert all(one["rule"] in RULES for one in said)


@pytest.mark.parametrize("kind", KEPT)
def test_what_onboarding_could_not_change_is_found_though_nothing_differs(kind: str) -> None:
    hindered = {**outcome(KEY, KEY), "evidence": {"obstacle": "it is shut: open it"}}
    entry: Any = {"kind": kind, "capability": "some", "options": {"path": "~/x"}}
    assert resource_findings(entry, "k", {**hindered, "evidence": {}}, look()) == []
    (found,) = resource_findings(entry, "k", hindered, look(note(KEY)))
    assert found["text"] == "it is shut: open it."
    assert found["rule"] in RULES
    assert found["blocked"]


def test_an_open_folder_of_a_key_is_shut_by_a_fix() -> None:
    opened = {**outcome(KEY, KEY), "evidence": {"obstacle": "others may write in ~", "open_folder": "~"}}
    entry: Any = {"kind": "netrc_entry", "capability": "some", "options": {"path": "~/.netrc"}}
    (found,) = resource_findings(entry, "k", opened, look(note(KEY)))
    assert (found["rule"], found["severity"], found["cause"]) == ("SEC-002", "critical", "hand")
    assert found["auto_fix"] == {"kind": "access_fix", "options": {"path": "~", "way": "folder"}}


def test_what_is_yours_and_noted_as_made_here_is_not_to_be_moved_away() -> None:
    entry = {"kind": "path_script", "options": {"path": "~/bin/mine"}}
    away = "it is no script of ours: rename it (mv -n ~/bin/mine ~/bin/mine.mine)"
    seen = {**outcome({"is": "file"}, {}, away), "evidence": {"theirs": True}}
    (found,) = orphan_findings(entry, seen)
    assert (found["rule"], found["in_the_way"]) == ("ORP-001", "~/bin/mine")
    assert "mv -n" not in found["text"]


@pytest.mark.parametrize(
    "line",
    [
        f"x nvapi-{'a1B2' * 16}",
        "export TOKEN=abcdef",
        "password: hunter2",
        "machine x login y password z",
        "url=https://me:pw@host/",
    ],
)
def test_a_line_that_may_have_a_key_is_not_shown(line: str) -> None:
    desired = {"content": "one\nHF_TOKEN_PATH=/x\ntwo\n"}
    actual = {"content": f"one\nHF_TOKEN_PATH=/x\nthree\n{line}\n"}
    assert diff_contents(desired, actual, ["content"]) == [
        *("--- desired", "+++ found", "@@ -2,2 +2,3 @@", " HF_TOKEN_PATH=/x", "-two", "+three"),
        f"+{NOT_SHOWN}",
    ]


def test_a_diff_is_short_and_needs_two_contents() -> None:
    many = {"content": "".join(f"{number} {'x' * 200}\n" for number in range(200))}
    lines = diff_contents({"content": "one\n"}, many, ["content"])
    assert len(lines) == DIFF_LINES
    assert max(map(len, lines)) == DIFF_WIDTH
    assert lines[-1] == " and 185 more lines"
    assert diff_contents({"content": "one\n"}, {}, ["content"]) == []
    assert diff_contents({"mode": "0600"}, {"mode": "0644"}, ["mode"]) == []
