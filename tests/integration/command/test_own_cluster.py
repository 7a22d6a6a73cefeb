# SPDX-License-Identifier: GPL-3.0-or-later
"""A cluster of one's own: its profile is written at a terminal or by options, checked, and used over real ssh."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.profiles import read_sourced

from tests.effort import turns
from tests.integration.command.test_command import Desk
from tests.integration.runs import REPOSITORY

pytestmark = [pytest.mark.testbed, turns(3)]


@pytest.fixture
def desk(bed: Any) -> Desk:
    """A folder whose one account is on a cluster that nobody knows yet."""
    made = Desk(bed, bed.new_account("wilson"))
    document = yaml.safe_load(Path(made.file).read_text())
    ((name, entry),) = document["accounts"].items()
    entry.pop("project")
    document["accounts"] = {name.replace("@wilson", "@attic"): entry}
    Path(made.file).write_text(yaml.safe_dump(document))
    return made


def name_the_folder(desk: Desk) -> None:
    """What the command tells a person to write into the accounts file."""
    file = Path(desk.file)
    file.write_text(file.read_text() + "profiles: [our-clusters]\n")


def test_a_profile_of_three_lines_is_enough_for_every_command(desk: Desk) -> None:
    unknown = desk.types("attic")
    assert unknown.returncode == 2
    assert 'unknown cluster "attic"' in unknown.stderr + unknown.stdout
    (desk.folder / "our-clusters").mkdir()
    (desk.folder / "our-clusters" / "attic.yml").write_text("id: attic\nlogin: {host: attic.example.org}\nhome: {}\n")
    name_the_folder(desk)
    report = ("-e", "audit_output=report", "-e", "audit_formats=json,junit,md")
    sheet = ("cheatsheet", "attic")
    for words in (
        *(("onboard",), ("onboard",), ("audit", *report), ("doctor",), ("preflight",)),
        *(sheet, ("profile", "check"), ("offboard", "-e", "offboard_sure=true")),
    ):
        ran = desk.types(*words)
        assert ran.returncode == 0, (words, ran.stdout, ran.stderr)
        assert "Traceback" not in ran.stdout + ran.stderr
    shown = desk.types(*sheet).stdout
    assert "attic.example.org" in shown
    assert "None" not in shown
    listed = desk.types("profile").stdout.splitlines()
    assert listed[0].split() == ["id", "name", "status", "from"]
    assert ["attic", "attic", "own", "our-clusters/attic.yml"] in [line.split() for line in listed]
    assert len(listed) == 2 + len(list((REPOSITORY / "inventory/clusters").glob("*.yml")))


def test_what_is_told_works_where_it_is_told_for_a_file_of_another_name(desk: Desk, tmp_path: Path) -> None:
    """Each command is pasted as it stands on the screen: of a cluster of one's own, and from another folder."""
    (desk.folder / "our-clusters").mkdir()
    (desk.folder / "our-clusters" / "attic.yml").write_text(
        "id: attic\nlogin: {host: attic.example.org}\nhome: {}\npolicies: [Be kind.]\n"
        "human_steps: [{id: form, text: Fill in the form}]\n"
    )
    name_the_folder(desk)
    file = Path(desk.file).rename(desk.folder / "my lab.yml")
    work = tmp_path / "work"
    work.mkdir()

    def typed(*words: str) -> str:
        ran = desk.bed.ansible(*words, program="hpc-onboard", cwd=work, env=desk.environment)
        assert ran.returncode == 0, (words, ran.stdout, ran.stderr)
        return str(ran.stdout)

    links = {"storage_links_areas": [{"name": "tmp", "path": "/tmp", "link": "scratch"}]}
    first = typed("onboard", "-i", str(file), "-e", json.dumps(links))
    assert "attic.example.org" in typed(*behind("Rules of the site:", first))
    told = typed("status", "-i", str(file))
    assert "○ Fill in the form" in told or "- Fill in the form" in told, told
    typed(*behind("To mark a step as done:", told))
    assert "✓ Fill" in typed("status", "-i", str(file))
    assert behind("Next:", told) == ["audit", "-i", str(file)]
    typed(*behind("Next:", told))


def behind(word: str, text: str) -> list[str]:
    """The words of the command of ours that stands behind a word, as a shell reads them."""
    lines = text[text.index(word) + len(word) :].lstrip("\n").replace("\\\n", "").splitlines()
    words = shlex.split(lines[0])
    assert words.pop(0).endswith("hpc-onboard")
    return words


def test_it_is_written_by_options_and_an_inventory_says_of_it_what_the_check_says(desk: Desk) -> None:
    without = desk.types("profile", "new", "attic")
    assert (without.returncode, without.stdout) == (2, "")
    assert "profile new attic --host login.example.org" in without.stderr
    wrong = desk.types("profile", "new", "attic", "--host", "a b")
    assert wrong.returncode == 2
    assert "Example: login.example.org" in wrong.stderr
    assert not (desk.folder / "our-clusters").exists()

    made = desk.types("profile", "new", "attic", "--from", "wilson", "--host", "attic.example.org")
    assert made.returncode == 0, made.stderr
    assert "    profiles: [our-clusters]\n" in made.stdout
    again = desk.types("profile", "new", "attic", "--host", "other.example.org")
    assert again.returncode == 2
    assert "our-clusters/attic.yml already exists" in again.stderr

    name_the_folder(desk)
    file = desk.folder / "our-clusters" / "attic.yml"
    file.write_text(
        file.read_text().replace("runtime: apptainer", "runtime: aptainer").replace("bytes: 5000000000", "bytes: 5 GB")
    )
    check, run = desk.types("profile", "check"), desk.types("onboard")
    assert (check.returncode, run.returncode) == (2, 2)
    for words in (':44: "bytes" must be a whole number, not text. Example:  bytes: 5000000000',
                  '"runtime" cannot be "aptainer"; did you mean "apptainer"?'):  # fmt: skip
        assert words in check.stderr, check.stderr
        assert words in run.stderr.replace("\n", " "), run.stderr


def test_it_is_asked_for_at_a_terminal(desk: Desk) -> None:
    screen = desk.at_terminal("profile", "new", "attic", "--runtime", "none")
    for question, answer in (
        ("ull name of", "The attic"),
        ("login node", ""),
        ("Host name", "no host"),
        ("login node", "attic.example.org"),
        ("jump host", ""),
        ("path of a home directory", "/home/{user}"),
    ):
        screen.expect(question)
        screen.sendline(answer) if answer != "" or question != "Host name" else None
    screen.expect("was written")
    screen.wait()
    assert screen.exitstatus == 0
    profile = read_sourced(desk.folder / "our-clusters" / "attic.yml").profile
    assert profile == {
        "format": 2,
        "id": "attic",
        "name": "The attic",
        "login": {"host": "attic.example.org"},
        "home": {"path": "/home/{user}"},
        "container": {"runtime": "none"},
    }
