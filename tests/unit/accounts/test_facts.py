"""Facts with their sources and days, families, and what is said of those that have none.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.facts import list_facts
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.profiles import (
    SHIPPED,
    read_profile,
    read_sourced,
    render,
)
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.diagnostics import Mistakes

OWN = """\
format: 2
id: attic
extends: house
name: Attic
status: documented
verified_on: 2026-11-22
sources:
  - {id: page, url: https://example.org/attic, what: login and home, date: 2026-01-02}
login:
  host: attic.example.org
  source: page
home:
  path: {value: "/home/{user}", source: page, date: 2026-03-04}
  files: 200000
  source: manual
storage:
  - name: scratch
    bytes: {value: 70, source: page}
  - name: box
    path: /box/{user}
    source: page
policies:
  - {value: Sweep the attic., source: page}
"""
BASE = """\
format: 2
family: house
sources:
  - {id: manual, url: https://example.org/manual, what: everything, read: 2026-11-21}
auth: {archetype: key, source: manual}
home:
  bytes: 5
  files: 100000
  source: manual
storage:
  - name: scratch
    path: /scratch/{user}
    bytes: 60
    source: manual
links: {value: {by: us}, source: manual}
container: {runtime: apptainer, source: manual}
conda: {policy: allowed, source: manual}
scheduler: {kind: slurm, source: manual}
policies:
  - Wipe your feet.
"""


def written(folder: Path, own: str = OWN, base: str = BASE) -> Path:
    (folder / "families").mkdir()
    (folder / "families" / "house.yml").write_text(base)
    file = folder / "attic.yml"
    file.write_text(own)
    return file


def told(folder: Path, own: str = OWN, base: str = BASE) -> str:
    with pytest.raises(Mistakes) as caught:
        read_sourced(written(folder, own, base))
    (one,) = caught.value.found
    return str(one).replace(f"{folder}/", "")


def by_place(tree: Any) -> dict[str, tuple[Any, str | None, str | None]]:
    return {".".join(map(str, fact.place)): (fact.value, fact.source, fact.date) for fact in list_facts(tree)}


def test_programs_are_given_plain_values(tmp_path):
    profile = read_profile(written(tmp_path))
    assert profile["home"] == {"bytes": 5, "files": 200000, "path": "/home/{user}"}
    assert profile["storage"] == [
        {"name": "scratch", "path": "/scratch/{user}", "bytes": 70},
        {"name": "box", "path": "/box/{user}"},
    ]
    assert profile["links"] == {"by": "us"}
    assert profile["family"] == "house"


def test_every_fact_keeps_its_own_source_and_day_through_a_family(tmp_path):
    found = by_place(read_sourced(written(tmp_path)).tree)
    assert found["home.path"] == ("/home/{user}", "page", "2026-03-04")
    assert found["home.bytes"] == (5, "manual", "2026-11-21")
    assert found["home.files"] == (200000, "manual", "2026-11-21")
    assert found["storage.0.path"] == ("/scratch/{user}", "manual", "2026-11-21")
    assert found["storage.0.bytes"] == (70, "page", "2026-01-02")
    assert found["storage.1.path"] == ("/box/{user}", "page", "2026-01-02")
    assert found["links.by"] == ("us", "manual", "2026-11-21")


def test_what_of_a_family_does_not_hold_can_be_left_out(tmp_path):
    own = OWN.replace("extends: house\n", "extends: house\nwithout: [home.bytes, storage.scratch.path, policies]\n")
    own = own.replace("  - name: scratch\n", "  - name: scratch\n    ask: Look for it.\n")
    profile = read_profile(written(tmp_path, own))
    assert profile["home"] == {"files": 200000, "path": "/home/{user}"}
    assert profile["storage"][0] == {"name": "scratch", "bytes": 70, "ask": "Look for it."}
    assert profile["policies"] == ["Sweep the attic."]


def test_one_policy_of_a_family_can_be_left_out(tmp_path):
    own = OWN.replace("extends: house\n", "extends: house\nwithout: [policies.wipe-your-feet]\n")
    assert read_profile(written(tmp_path, own))["policies"] == ["Sweep the attic."]


def test_a_path_can_have_the_first_letter_of_the_user_and_a_variable_the_project(tmp_path):
    own = OWN.replace("/box/{user}", "/box/{user[0]}/{user}")
    shared = "  - {name: shared, variable: '$PROJECT_{project}', source: page}\n"
    own = own.replace("  - name: box\n", shared + "  - name: box\n")
    own += "sandbox_environment:\n  'PROJECT_{project}': '/p/{project}'\n"
    rendered = render(read_profile(written(tmp_path, own)), {"user": "ada", "project": "engine"}, {})
    assert [area["path"] for area in rendered["storage"]] == ["/scratch/ada", "$PROJECT_engine", "/box/a/ada"]
    assert rendered["sandbox_environment"] == {"PROJECT_engine": "/p/engine"}


def test_rules_of_family_and_cluster_are_both_kept(tmp_path):
    assert read_profile(written(tmp_path))["policies"] == ["Wipe your feet.", "Sweep the attic."]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            "verified_on: 2026-11-22",
            "verified_on: 2028-01-02",
            'attic.yml:5: "documented" requires sources that were at most 24 months old on the day of "verified_on"; '
            'the source of storage[].bytes, "page", is from 2026-01-02.',
        ),
        ("extends: house", "extends: hose", 'attic.yml:3: unknown family "hose"; did you mean "house"?'),
        ("  source: manual\n", "  source: manuel\n", 'attic.yml:15: unknown source "manuel"; did you mean "manual"?'),
        (
            "extends: house\n",
            "extends: house\nwithout: [storage.scratch.byts]\n",
            'attic.yml:4: the family has no fact "storage.scratch.byts"; did you mean "storage.scratch.bytes"?',
        ),
        ("  source: manual\n", "", "attic.yml:14: no source for files; add"),
        ("bytes: {value: 70, source: page}", "bytes: {value: 70, sauce: page}", 'attic.yml:18: unknown key "sauce"'),
        (
            "bytes: {value: 70,",
            "bytes: {value: much,",
            'attic.yml:18: "bytes" must be a whole number, not text. Example:  bytes: ',
        ),
        ("date: 2026-03-04", "date: yesterday", 'attic.yml:13: "date" must be a date'),
        ("files: 200000", "flies: 200000", 'attic.yml:14: unknown key "flies"; did you mean "files"?'),
        ("{id: page, ", "{", 'attic.yml:8: item 1 of "sources" has no "id"'),
        (", date: 2026-01-02}", "}", 'attic.yml:8: item 1 of "sources" must have either "date"'),
        ("url: https://example.org/attic, ", "", 'attic.yml:8: item 1 of "sources" has no "url"'),
        ("host: attic.example.org", "port: 2222", 'attic.yml:9: "login" has no "host"; add "host: login.example.org".'),
        ("id: attic\n", "id: house\n", 'attic.yml:2: "id" must match the file name: "attic"'),
    ],
)
def test_a_mistake_is_one_line_with_its_place(tmp_path, old, new, words):
    assert OWN.count(old) == 1
    text = told(tmp_path, OWN.replace(old, new))
    assert text.startswith(words)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            "archetype: key",
            "archetype: keys",
            'families/house.yml:5: "archetype" cannot be "keys"; did you mean "key"?',
        ),
        ("  bytes: 5\n", "  bytes: 5\n  bytes: 6\n", 'families/house.yml:8: duplicate key "bytes"'),
        ("    path: /scratch/{user}\n", "", 'attic.yml:17: area "scratch" must have exactly one of "path"'),
        ("kind: slurm, source: manual", "kind: slurm", "families/house.yml:18: no source for kind;"),
    ],
)
def test_a_mistake_in_the_family_has_the_line_of_the_family(tmp_path, old, new, words):
    assert BASE.count(old) == 1
    assert told(tmp_path, base=BASE.replace(old, new)).startswith(words)


def test_a_source_that_many_facts_name_is_missed_once(tmp_path):
    text = told(
        tmp_path,
        base=BASE.replace("id: manual", "id: handbook").replace("source: manual", "source: handbok"),
        own=OWN.replace("source: manual", "source: page"),
    )
    assert text.startswith('families/house.yml:5: unknown source "handbok" (7 times); did you mean "handbook"?')


def test_a_group_of_ours_can_build_on_a_family_that_ships(tmp_path):
    name = min(file.stem for file in (SHIPPED / "families").glob("*.yml"))
    file = tmp_path / "attic.yml"
    file.write_text(f"format: 2\nid: attic\nextends: {name}\nname: Attic\nstatus: documented\n")
    with pytest.raises(Mistakes) as caught:
        read_sourced(file)
    assert "unknown family" not in str(caught.value)


OLDER = "id: attic\nlogin: {host: a.example.org}\nhome: {}\nsources:\n  - {what: all, url: https://example.org}\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (OLDER, 'attic.yml:4: a profile with "sources" must have "format: 2"'),
        (f"format: 1\n{OLDER}", 'attic.yml:1: "format" cannot be "1"'),
    ],
)
def test_a_profile_of_an_older_form_is_refused_in_one_line(tmp_path, text, words):
    (tmp_path / "attic.yml").write_text(text)
    with pytest.raises(Mistakes) as caught:
        read_profile(tmp_path / "attic.yml")
    assert [str(one).replace(f"{tmp_path}/", "").startswith(words) for one in caught.value.found] == [True]
