# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lines that enroot does not read as they are meant, and lines that look odd and do no harm."""

from __future__ import annotations

import os

import pytest
from account_scene import Folder, Plain, Scene
from ansible_collections.hpc.onboard.plugins.module_utils._audit_checks.enroot_lines import EnrootLines
from audit_check_runs import run_check

FILE = "~/.config/enroot/.credentials"
GOOD = "machine a login b password c\n"


def found(scene: Scene, content: str, **options: object) -> dict[str, str]:
    """Return what the check finds in a file of this content."""
    if not scene.at("~/.config").exists():
        scene.make({"~/.config": Folder(), "~/.config/enroot": Folder(0o700)})
    scene.make({FILE: Plain(content.encode("latin-1"), 0o600)})
    report = run_check(scene, EnrootLines, **{"files": [FILE], **options})
    assert "geheim" not in str(report.document)
    return {name.replace(FILE, ""): text for name, text in report.found.items()}


WRONG = {
    " machine a login b password geheim": ("KEY-004 :1", "is indented"),
    "machine a\n login b\n password geheim": ("KEY-004 :1", "continues on the next line"),
    "machine a password geheim login b": ("KEY-004 :1", "in this order"),
    "machine a login b password c machine d login e password geheim": ("KEY-004 :1", "several entries"),
    "default login x password y\n" + GOOD: ("KEY-004 :2", "comes after 'default' on line 1"),
    "\xef\xbb\xbf" + GOOD: ("KEY-004 :1", "byte-order mark"),
    GOOD + "machine d login b password geheim\r\n": ("KEY-004 :2", "this line's carriage return"),
    GOOD + "machine x login y password z\n" + GOOD: ("KEY-003 :3", "enroot uses line 1 for a"),
    "machine a login b password $(cat geheim)": ("SEC-007 :1", "to a shell"),
    "machine a login b password $geheim": ("SEC-007 :1", "to a shell"),
}


@pytest.mark.parametrize("content", WRONG)
def test_a_line_that_is_not_read_as_it_is_meant_is_found(scene: Scene, content: str) -> None:
    (name, text), *others = found(scene, content).items()
    assert (name, others) == (WRONG[content][0], [])
    assert WRONG[content][1] in text


FINE = [
    "",
    GOOD * 1,
    "# machine a\n\n" + GOOD,
    GOOD.replace(" ", "\t\t"),
    'machine a login b password "c"\n',
    "machine a login b password c # old\n",
    "machine a login b password c",
    GOOD + "machine a login other password c\n",
    GOOD + "default login x password y\n",
    "machine authn.nvidia.com login $oauthtoken password c\n",
]


@pytest.mark.parametrize("content", FINE)
def test_what_enroot_reads_is_no_finding(scene: Scene, content: str) -> None:
    assert found(scene, content) == {}


def test_the_lines_that_a_role_keeps_are_its_own_to_judge(scene: Scene) -> None:
    content = " " + GOOD + GOOD + GOOD
    assert set(found(scene, content)) == {"KEY-004 :1", "KEY-003 :3"}
    assert found(scene, content, kept={FILE: ["a"]}) == {}
    assert set(found(scene, GOOD + "machine a login b password $x\n", kept={FILE: ["a"]})) == {"SEC-007 :2"}
    other = GOOD + "machine a login other password c\nmachine d login other password c\n"
    assert set(found(scene, other, kept={FILE: ["a"]})) == {"KEY-003 :2"}


def test_hostile_names_are_shown_harmlessly(scene: Scene) -> None:
    (text,) = found(scene, " machine \x1b[31m" + "x" * 500 + " login b password c").values()
    assert "\x1b" not in text
    assert len(text) < 250


def test_a_file_of_many_lines_yields_a_bounded_number(scene: Scene) -> None:
    assert len(found(scene, GOOD * 5000)) == 50


def test_a_pipe_and_a_file_that_is_missing_do_no_harm(scene: Scene) -> None:
    os.mkfifo(scene.at("~/pipe"))
    assert run_check(scene, EnrootLines, files=["~/pipe", "~/none"]).found == {}


def test_what_our_role_has_just_set_up_is_no_finding(scene: Scene) -> None:
    for machine in ("nvcr.io", "authn.nvidia.com"):
        scene.run({"kind": "enroot_credential", "machine": machine, "password": "nvapi-x"})
    assert run_check(scene, EnrootLines, files=[FILE]).found == {}


def test_a_path_with_an_unset_variable_hides_no_other_file(scene: Scene) -> None:
    kept = {"$GONE/.credentials": ["a"], FILE: ["a"]}
    content = GOOD + " machine d login b password c\n"
    assert list(found(scene, content, files=["$GONE/.credentials", FILE], kept=kept)) == ["KEY-004 :2"]
