# SPDX-License-Identifier: GPL-3.0-or-later
"""Profiles of a person's own: how little they need say, how they are begun, and what is told of wrong ones: all."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.accounts_file import AccountsFile
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.host_variables import build_hosts
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.new_profile import QUESTIONS, render_profile
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.profiles import (
    SHIPPED,
    read_profile,
    read_sourced,
    schema,
)
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.quick_look import read_site
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.diagnostics import Mistakes, YamlText
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.json_schema import Checker

ANSWERS = {one.name: one.example for one in QUESTIONS}
BARE = "id: attic\nlogin: {host: attic.example.org}\nhome: {}\n"


def written(folder: Path, content: str, name: str = "attic") -> Path:
    file = folder / f"{name}.yml"
    file.write_text(content)
    return file


def told(file: Path) -> list[str]:
    with pytest.raises(Mistakes) as caught:
        read_sourced(file)
    return [str(one).partition("attic.yml:")[2] for one in caught.value.found]


def test_id_login_and_home_are_all_that_is_needed(tmp_path: Path) -> None:
    (tmp_path / "ours").mkdir()
    written(tmp_path / "ours", BARE)
    lines = YamlText(
        tmp_path / "accounts.yml",
        "plugin: hpc.onboard.accounts\nprofiles: [ours]\naccounts: {ada@attic: , bob@attic: {sandbox: true}}\n",
    )
    ada, bob = build_hosts(AccountsFile(lines, lines.document()))
    assert ada.groups == ["accounts", "attic"]
    assert ada.variables["ansible_host"] == "attic.example.org"
    assert bob.variables["account"]["sandbox"]["home"] == "/home/bob"
    for line in range(3):
        kept = "\n".join(one for at, one in enumerate(BARE.splitlines()) if at != line)
        lacking = ("id", "login", "home")[line]
        assert f'1: the file has no "{lacking}"; add "{lacking}: ' in told(written(tmp_path, kept + "\n"))[0]


@pytest.mark.parametrize("left_out", [(), *((one.name,) for one in QUESTIONS if not one.is_needed)])
def test_a_new_profile_says_what_was_answered_and_is_right(tmp_path: Path, left_out: tuple[str, ...]) -> None:
    answers = {name: answer for name, answer in ANSWERS.items() if name not in left_out}
    file = written(tmp_path, render_profile("attic", answers))
    profile = read_profile(file)
    said = {
        "title": profile["name"] if profile["name"] != "attic" else None,
        "host": profile["login"]["host"],
        "jump": profile["login"].get("jump", {}).get("host"),
        "home": profile["home"].get("path"),
        "runtime": profile["container"]["runtime"].replace("none", "") or None,
    }
    assert {name: answer for name, answer in said.items() if answer} == answers


def test_each_fact_that_a_new_profile_offers_is_right_once_it_is_taken(tmp_path: Path) -> None:
    _head, _line, facts = render_profile("attic", {"host": "a.example.org", "home": "/h"}).partition("\n---\n")
    offered = facts.partition("\n# Sources of these facts")[0]
    taken = re.sub(r"(?m)^( *)# ?(?=( *- |[a-z_]+: |[a-z_]+:$| +[a-z_]+: ))", r"\1", offered)
    assert taken.count("#") < offered.count("#") - 25
    profile = read_profile(written(tmp_path, taken))
    assert {"storage", "links", "caches", "conda", "auth", "scheduler", "quota_command", "human_steps", "traps"} <= set(
        profile
    )


def test_the_facts_of_a_home_without_a_path_are_right_in_the_braces(tmp_path: Path) -> None:
    text = render_profile("attic", {"host": "a.example.org"})
    offered = re.search(r"(?m)^home: \{\}  # .*:  (path: .*)$", text)
    assert offered
    profile = read_profile(written(tmp_path, text.replace("home: {}", f"home: {{{offered[1]}}}")))
    assert profile["home"] == {"path": "/home/{user}", "bytes": 50_000_000_000}


@pytest.mark.parametrize(
    ("caches", "is_right"),
    [("below: c", True), ("path: /scratch/c", True), ("why_not: the site says so", True), ("off_home: s", False)],
)
def test_an_area_for_caches_needs_the_folder_in_it(tmp_path: Path, caches: str, is_right: bool) -> None:
    area = "storage: [{name: s, path: /scratch}]\n"
    file = written(tmp_path, f"format: 2\n{BARE}{area}caches: {{area: s, {caches}}}\n")
    if is_right:
        assert read_profile(file)["caches"]["area"] == "s"
    else:
        assert '"area" needs the folder in that area: add "below: FOLDER"' in told(file)[0]


@pytest.mark.parametrize("model", sorted(SHIPPED.glob("*.yml")), ids=lambda file: file.stem)
def test_a_profile_made_from_another_says_the_same_but_for_what_was_answered(tmp_path: Path, model: Path) -> None:
    made = read_profile(written(tmp_path, render_profile("attic", ANSWERS, (model.stem, model.read_text()))))
    there = read_profile(model)
    assert (made["id"], made["name"], made["status"]) == ("attic", ANSWERS["title"], "own")
    assert (made["login"]["host"], made["login"]["jump"]["host"]) == (ANSWERS["host"], ANSWERS["jump"])
    assert (made["home"]["path"], made["container"]["runtime"]) == (ANSWERS["home"], ANSWERS["runtime"])
    changed = {"id", "name", "status", "verified_on", "closing_on", "formerly", "login", "home", "container"}
    assert {key: value for key, value in made.items() if key not in changed} == {
        key: value for key, value in there.items() if key not in changed
    }
    assert made["storage"] == there["storage"]
    for section, key in (("login", "host"), ("home", "path"), ("container", "runtime")):
        assert made[section].keys() - {key, "jump"} == there[section].keys() - {key, "jump"}


def test_a_section_on_one_line_keeps_its_other_facts(tmp_path: Path) -> None:
    one_line = re.sub(r"(?m)^login:.*\n(?: .*\n)*", "login: {host: b.example.org, port: 2222}\n", BARE)
    made = read_profile(written(tmp_path, render_profile("attic", ANSWERS, ("shed", one_line))))
    assert (made["login"]["host"], made["login"]["port"]) == (ANSWERS["host"], 2222)


@pytest.mark.parametrize(
    "model",
    [
        "---\nid: shed\nlogin: {host: a, port: 22}\nhome: {}\n",
        "id: shed\nlogin:\n    host: a\n    port: 22\n    # end\nhome:\n    bytes: 5\n",
        "id: shed\nlogin: {host: a,\n  port: 22}\nhome: {}\n",
        "id: shed\nlogin:\n  port: 22\n  host: a\nhome: {}",
        "\ufeffid: shed\r\nlogin:\r\n  host: a\r\n  port: 22\r\nhome: {}\r\n",
        '{"id": "shed", "login": {"host": "a", "port": 22}, "home": {}}',
        "# Shed\n---  # facts\nid: shed\nformerly:\n  - hut\n# \u00fcber\nlogin:\n  jump:\n    host: b\n    user: u\n"
        "  host: {value: a, source: m}  # old\n  port: 22\nhome: {path: /x}\n",
    ],
)
def test_a_profile_of_any_layout_can_be_copied(model: str, tmp_path: Path) -> None:
    made = read_profile(written(tmp_path, render_profile("attic", ANSWERS, ("shed", model))))
    assert made["login"] == {"host": ANSWERS["host"], "port": 22, "jump": {"host": ANSWERS["jump"]}}
    assert (made["name"], made["home"]["path"]) == (ANSWERS["title"], ANSWERS["home"])
    assert (made["container"], "formerly" in made) == ({"runtime": ANSWERS["runtime"]}, False)


def test_a_step_with_a_source_is_plain_text(tmp_path: Path) -> None:
    step = "human_steps: [{id: vpn, text: {value: Enrol., source: m}}]\nfamily: {value: lab, source: m}\n"
    file = written(tmp_path, BARE + step)
    assert read_profile(file)["human_steps"] == [{"id": "vpn", "text": "Enrol."}]
    assert read_site("attic", [tmp_path]) == {"family": "lab", "human_steps": [{"id": "vpn", "text": "Enrol."}]}


WRONG = """\
format: 2
id: atic
nmae: Attic
status: owned
login:
  host: [attic]
  port: high
  jump: {user: ada}
home:
  bytes: 5 GB
storage:
  - name: scratch
    path: scratch
  - path: /project
  - name: work
  - name: lost
    path: /lost
  - name: lost
    path: /found
caches: {area: scrtch}
conda: {policy: maybe, area: work}
human_steps:
  - {id: one, text: Ask., done: link}
  - {id: Two, text: Ask.}
traps: none
"""


def test_all_that_is_wrong_is_told_at_once_with_its_line_and_an_example(tmp_path: Path) -> None:
    lines = told(written(tmp_path, WRONG))
    by_line = {}
    for one in lines:
        number, _colon, said = one.partition(": ")
        by_line.setdefault(int(number), []).append(said)
    expected = {
        2: '"id" must match the file name: "attic"',
        3: 'unknown key "nmae"; did you mean "name"?',
        4: '"status" cannot be "owned"',
        6: '"host" must be text, not a list. Example:  host: login.example.org',
        7: '"port" must be a whole number, not text. Example:  port: 22',
        8: '"jump" has no "host"; add "host: gate.example.org"',
        10: '"bytes" must be a whole number, not text. Example:  bytes: 5000000000',
        13: "The account's own folder in the area. Example:  path: '/scratch/{user}'",
        14: 'item 2 of "storage" has no "name"; add "name: scratch"',
        15: 'area "work" must have exactly one of "path", "variable" and "ask"',
        16: 'area "lost" is listed twice',
        21: '"policy" cannot be "maybe"',
        24: '"id" is invalid',
        25: '"traps" must be a list, not text',
    }
    assert {
        line: said for line, said in expected.items() if not any(said in one for one in by_line.get(line, []))
    } == {}
    assert set(by_line) <= {*expected, 20}, by_line


def test_who_names_no_sources_needs_none_and_who_names_one_needs_one_for_each_fact(tmp_path: Path) -> None:
    assert read_profile(written(tmp_path, "format: 2\n" + BARE + "conda: {policy: refused}\n"))["conda"]
    some = BARE.replace("home: {}", "home: {bytes: 5}")
    sources = "status: documented\nsources: [{id: manual, url: https://example.org, what: all, read: 2026-11-22}]\n"
    assert any("no source for bytes" in one for one in told(written(tmp_path, "format: 2\n" + some + sources)))


def test_every_example_of_the_schema_is_one() -> None:
    whole = schema("cluster")

    def judged(node: dict[str, Any], place: tuple[str, ...]) -> list[tuple[str, ...]]:
        bad = [
            place
            for one in node.get("examples", ())
            if list(Checker({"$defs": whole["$defs"], **node}).violations(one))
        ]
        below = [*node.get("properties", {}).items(), *([("[]", node["items"])] if "items" in node else [])]
        return bad + [one for name, each in below for one in judged(each, (*place, name))]

    def without(node: dict[str, Any], place: tuple[str, ...]) -> list[tuple[str, ...]]:
        kinds = node.get("type") in ("string", "integer", "array") or "$ref" in node
        lacking = [place] if kinds and not {"examples", "enum"} & node.keys() and place[-1:] != ("[]",) else []
        below = [*node.get("properties", {}).items(), *([("[]", node["items"])] if "items" in node else [])]
        return lacking + [one for name, each in below for one in without(each, (*place, name))]

    assert [place for name, node in whole["properties"].items() for place in judged(node, (name,))] == []
    lists = {("human_steps",), ("launchers",), ("login", "hosts")}  # their items have them
    assert {place for name, node in whole["properties"].items() for place in without(node, (name,))} <= lists
