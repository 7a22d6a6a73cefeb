# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The environment in every shell: what is found, asked for, said, and there afterwards."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from account_scene import HOME, Folder, Link, Plain, Scene, Thing, Tree
from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.module_utils._formats import environment, section
from ansible_collections.hpc.onboard.plugins.module_utils._resources.shell_environment import HEADER, ShellEnvironment
from resource_tables import Case, judge, table

from tests.effort import turns

pytestmark = turns(2)

ENV = {"section": "own", "variables": {"A": "1"}, "path": ["~/bin"]}
NO_ENV = {"section": "own", "state": "absent"}
FOLDER = "~/.config/hpc.onboard"


def body(dialect: str) -> str:
    """What the section of these tests holds."""
    return environment.render(dialect, environment.ShellSettings({"A": "1"}, [HOME + "/bin"]))


def reads(dialect: str) -> bytes:
    """Our line in a start-up file, without its end."""
    return environment.source_line(dialect, f".config/hpc.onboard/env.{dialect}", "# hpc.onboard").encode()


GENERATED: dict[str, Thing] = {
    f"{FOLDER}/env.{dialect}": Plain(section.put(HEADER, "own", body(dialect)).encode())
    for dialect in environment.DIALECTS
}
MADE: dict[str, Thing] = {"~/.config": Folder(), FOLDER: Folder(), **GENERATED}
SH = reads("sh")
SKEL = b"# ~/.bashrc\ncase $- in\n  *i*) ;;\n  *) return;;\nesac\nalias ll='ls -l'\n"
PROFILE = b'if [ -f "$HOME/.bashrc" ]; then . "$HOME/.bashrc"; fi\n'


def start_up(claim: str, found: dict[str, Thing], left: Mapping[str, Thing | None]) -> Case:
    """A case in which the section is made and start-up files are edited."""
    return Case(claim, found, ENV, "missing", "", {**MADE, **left})


@table(
    start_up("both of bash's files are made", {}, {"~/.bashrc": Plain(SH + b"\n"), "~/.profile": Plain(SH + b"\n")}),
    start_up(
        "the line stands above an early return",
        {"~/.bashrc": Plain(SKEL), "~/.profile": Plain(PROFILE)},
        {"~/.bashrc": Plain(SH + b"\n" + SKEL)},
    ),
    start_up(
        "the first of bash's login files is edited",
        {"~/.bash_profile": Plain(b"x=1\n"), "~/.profile": Plain(b"y=1\n")},
        {"~/.bash_profile": Plain(SH + b"\nx=1\n"), "~/.bashrc": Plain(SH + b"\n")},
    ),
    start_up(
        "a login file that reads .profile, which reads .bashrc",
        {"~/.bash_profile": Plain(b"[ -f ~/.profile ] && . ~/.profile\n"), "~/.profile": Plain(PROFILE)},
        {"~/.bashrc": Plain(SH + b"\n")},
    ),
    start_up(
        "a comment about bashrc is no reading of it",
        {"~/.profile": Plain(b"# see .bashrc\n")},
        {"~/.profile": Plain(SH + b"\n# see .bashrc\n"), "~/.bashrc": Plain(SH + b"\n")},
    ),
    start_up(
        "a file that is read-only stays so",
        {"~/.bashrc": Plain(b"x\n", 0o444), "~/.profile": Plain(PROFILE)},
        {"~/.bashrc": Plain(SH + b"\nx\n", 0o444)},
    ),
    start_up(
        "CRLF lines get a CRLF line",
        {"~/.bashrc": Plain(b"x\r\ny\r\n"), "~/.profile": Plain(PROFILE)},
        {"~/.bashrc": Plain(SH + b"\r\nx\r\ny\r\n")},
    ),
    start_up(
        "an unterminated file stays unterminated",
        {"~/.bashrc": Plain(b"x \xff\x85"), "~/.profile": Plain(PROFILE)},
        {"~/.bashrc": Plain(SH + b"\nx \xff\x85")},
    ),
    start_up(
        "an empty file gets the line",
        {"~/.bashrc": Plain(b"", 0o600), "~/.profile": Plain(PROFILE)},
        {"~/.bashrc": Plain(SH + b"\n", 0o600)},
    ),
    start_up(
        "a linked file is edited where it lies",
        {
            "~/dotfiles": Folder(),
            "~/dotfiles/rc": Plain(b"x\n", 0o640),
            "~/.bashrc": Link("dotfiles/rc"),
            "~/.profile": Plain(PROFILE),
        },
        {"~/dotfiles/rc": Plain(SH + b"\nx\n", 0o640)},
    ),
    start_up(
        "a linked config folder is used",
        {"~/dotfiles": Folder(), "~/.config": Link("dotfiles"), "~/.bashrc": Plain(b""), "~/.profile": Plain(PROFILE)},
        {
            "~/.config": Link("dotfiles"),
            FOLDER: None,
            **dict.fromkeys(GENERATED),
            "~/dotfiles/hpc.onboard": Folder(),
            **{path.replace(".config", "dotfiles"): thing for path, thing in GENERATED.items()},
            "~/.bashrc": Plain(SH + b"\n"),
        },
    ),
    Case(
        "a link out of the home is kept",
        {"/etc": Folder(), "/etc/rc": Plain(b"x\n"), "~/.bashrc": Link("/etc/rc")},
        ENV,
        "blocked",
        "edits only files in your home directory",
    ),
    Case(
        "a file below a link out of the home is kept",
        {"/etc": Folder(), "~/.config": Link("/etc")},
        ENV,
        "blocked",
        "the real path of ~/.config/hpc.onboard/env.sh is /etc/hpc.onboard/env.sh, but hpc-onboard edits only",
    ),
    Case(
        "a link to nothing is kept",
        {"~/.bashrc": Link("~/gone")},
        ENV,
        "blocked",
        "which does not exist: remove the link",
    ),
    Case("a loop is kept", {"~/.bashrc": Link(".bashrc")}, ENV, "blocked", "is a link to itself"),
    Case("a folder in the way is kept", {"~/.bashrc": Folder()}, ENV, "blocked", "is a folder, not a file"),
    Case(
        "a line changed by hand is kept",
        {**MADE, "~/.bashrc": Plain(b"true # hpc.onboard\n"), "~/.profile": Plain(PROFILE)},
        ENV,
        "blocked",
        "the hpc-onboard line in ~/.bashrc was changed by hand",
    ),
    Case(
        "a section changed by hand is kept",
        {
            **MADE,
            f"{FOLDER}/env.sh": Plain(section.put(HEADER, "own", body("sh")).replace("'1'", "'2'").encode()),
            "~/.bashrc": Plain(SH + b"\n"),
            "~/.profile": Plain(PROFILE),
        },
        ENV,
        "blocked",
        "the section 'own' of ~/.config/hpc.onboard/env.sh was changed by hand",
    ),
    Case(
        "a file where our folder belongs is kept",
        {"~/.config": Plain(b"x")},
        ENV,
        "blocked",
        "~/.config is not a folder",
    ),
)
def test_shell_environment(scene: Scene, case: Case) -> None:
    judge(scene, "shell_environment", case)


@pytest.mark.parametrize(
    ("shell", "found", "left"),
    [
        ("/bin/zsh", {}, {"~/.zshenv": reads("sh")}),
        ("/bin/sh", {}, {"~/.profile": SH}),
        ("/bin/ksh", {}, {"~/.profile": SH}),
        ("/bin/tcsh", {}, {"~/.cshrc": reads("csh")}),
        ("/bin/tcsh", {"~/.tcshrc": Plain(b"")}, {"~/.tcshrc": reads("csh")}),
        ("/bin/csh", {"~/.tcshrc": Plain(b"x\n")}, {"~/.cshrc": reads("csh")}),
        ("/usr/bin/fish", {}, {"~/.config/fish": None, "~/.config/fish/config.fish": reads("fish")}),
    ],
)
def test_the_line_goes_where_the_login_shell_reads(shell: str, found: Tree, left: dict[str, Any], scene: Scene) -> None:
    scene.shell = shell
    scene.make(found)
    before = scene.tree()
    scene.life({"kind": "shell_environment", **ENV})
    made = {scene.whole(path): thing for path, thing in MADE.items()}
    lines = {scene.whole(path): Plain(line + b"\n") if line else Folder() for path, line in left.items()}
    assert scene.tree() == {**before, **made, **lines}


def test_an_unknown_login_shell_is_an_answer_and_nothing_is_written(scene: Scene) -> None:
    scene.shell = "/usr/bin/xonsh"
    before = scene.tree()
    outcome = scene.life({"kind": "shell_environment", **ENV})[0]
    assert outcome["status"] == "failed"
    assert "xonsh" in outcome["reason"]
    assert scene.tree() == before


BEFORE = [
    {"~/.bashrc": Plain(SKEL), "~/.profile": Plain(PROFILE)},
    {"~/.bashrc": Plain(b"x\r\ny", 0o444), "~/.profile": Plain(b"\xff\0\n", 0o600)},
    {"~/.bashrc": Plain(b"#!/bin/bash\nx"), "~/.bash_profile": Plain(b"\r\n")},
    {"~/d": Folder(), "~/d/rc": Plain(b""), "~/.bashrc": Link("d/rc"), "~/.profile": Plain(PROFILE)},
    {},
]


@pytest.mark.parametrize("found", BEFORE)
def test_taking_the_environment_out_restores_every_start_up_file(found: Tree, scene: Scene) -> None:
    scene.make(found)
    before = scene.tree()
    scene.life({"kind": "shell_environment", **ENV})
    assert scene.tree() != before
    assert scene.life({"kind": "shell_environment", **NO_ENV})[0]["status"] == "extra"
    left = {path: thing for path, thing in scene.tree().items() if not isinstance(thing, Folder)}
    assert left == {path: thing for path, thing in before.items() if not isinstance(thing, Folder)}


@pytest.mark.parametrize(
    ("edited", "rest"),
    [(b"alias a=b\n" + SH, b"alias a=b\n"), (SH + b"\nalias a=b\n" + SH + b"\n", b"alias a=b\n")],
    ids=["moved to the end", "twice"],
)
def test_a_line_that_the_user_has_moved_or_copied_is_removed(edited: bytes, rest: bytes, scene: Scene) -> None:
    scene.life({"kind": "shell_environment", **ENV})
    scene.make({"~/.bashrc": Plain(edited)})
    assert scene.life({"kind": "shell_environment", **NO_ENV})[0]["status"] == "extra"
    assert scene.tree()[f"{HOME}/.bashrc"] == Plain(rest)


@pytest.mark.parametrize("found", BEFORE)
@pytest.mark.parametrize("shell", ["/bin/tcsh", "/usr/bin/xonsh"])
def test_the_line_is_removed_after_a_change_of_the_login_shell(found: Tree, shell: str, scene: Scene) -> None:
    scene.make(found)
    before = scene.tree()
    scene.life({"kind": "shell_environment", **ENV})
    scene.shell = shell
    assert scene.life({"kind": "shell_environment", **NO_ENV})[0]["status"] == "extra"
    left = {path: thing for path, thing in scene.tree().items() if not isinstance(thing, Folder)}
    assert left == {path: thing for path, thing in before.items() if not isinstance(thing, Folder)}


def test_a_line_of_a_former_shell_that_was_changed_by_hand_stops_the_removal(scene: Scene) -> None:
    scene.life({"kind": "shell_environment", **ENV})
    scene.make({"~/.bashrc": Plain(b"if true; then :; fi # hpc.onboard\n")})
    scene.shell = "/bin/zsh"
    outcome = scene.life({"kind": "shell_environment", **NO_ENV})[0]
    assert outcome["status"] == "blocked"
    assert "the hpc-onboard line in ~/.bashrc was changed by hand" in outcome["reason"]


def test_the_line_stays_as_long_as_another_section_needs_it(scene: Scene) -> None:
    other = {"kind": "shell_environment", "section": "other", "variables": {"B": "2"}}
    scene.life({"kind": "shell_environment", **ENV}, other)
    scene.life({"kind": "shell_environment", **NO_ENV})
    assert scene.tree()[f"{HOME}/.bashrc"] == Plain(SH + b"\n")
    scene.life({**other, "state": "absent"})
    assert f"{HOME}/.bashrc" not in scene.tree()


def test_an_interrupted_taking_out_is_finished_by_the_next_run(scene: Scene) -> None:
    """The lines go first: what is left of the sections brings the next run back."""
    scene.life({"kind": "shell_environment", **ENV})
    scene.at("~/.bashrc").unlink()
    assert scene.life({"kind": "shell_environment", **NO_ENV})[0]["status"] == "extra"
    assert [path for path, thing in scene.tree().items() if isinstance(thing, Plain)] == []


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (b"export A=1\nexport A=$X\n# export A=2\nexport B=2\n", []),
        (b"export A=2\n", ["~/.bashrc:2 overrides A; remove that line"]),
    ],
)
def test_a_line_that_sets_a_variable_of_ours_anew_is_to_be_minded(scene: Scene, lines: bytes, said: list[str]) -> None:
    scene.make({"~/.bashrc": Plain(lines), "~/.profile": Plain(PROFILE)})
    first, again = (scene.run({"kind": "shell_environment", **ENV})[0] for _time in range(2))
    assert (first["status"], again["status"]) == ("missing", "ok")
    assert first["remarks"] == again["remarks"] == said


HUB = {"folders": ["~/.cache/hf", "$HF_HOME"], "below": "hub", "setting": "tool_caches: {paths: {hf: FOLDER}}"}
STORE = {"folders": ["~/store"], "below": "", "setting": "s: FOLDER"}
USED = {
    **{"kind": "shell_environment", "section": "c", "variables": {"A": "/a", "HUB": "/x/hub", "STORE": "/x/s"}},
    "unless_used": {"HUB": HUB, "STORE": STORE},
}
HF = {"/hf": Folder(), "/hf/hub": Folder(), "/hf/hub/models--x": Folder()}
FILLED: list[tuple[Tree, dict[str, str]]] = [
    ({}, {}),
    ({"~/store": Folder(), "~/store/file": Plain(b""), "~/store/.locks": Folder()}, {}),
    ({"~/store": Folder(), "~/store/container": Folder()}, {"STORE": "~/store"}),
    ({**HF, "~/.bashrc": Plain(b"export HF_HOME=/hf\n")}, {"HUB": "/hf"}),
    ({**HF, "~/.bashrc": Plain(b"# export HF_HOME=/hf\nexport HF_HOME=$X\n")}, {}),
]


@pytest.mark.parametrize(("found", "in_use"), FILLED)
def test_a_variable_that_would_hide_content_is_not_set(found: Tree, in_use: dict[str, str], scene: Scene) -> None:
    scene.make(found)
    before = scene.tree()
    outcome = scene.life(USED)[0]
    assert outcome["evidence"] == ({"in_use": in_use} if in_use else {})
    texts = {
        "HUB": "To keep using this folder, set tool_caches: {paths: {hf: /hf}}",
        "STORE": "s: ~/store",
    }
    assert [one.endswith(texts[name]) for one, name in zip(outcome["remarks"], in_use, strict=True)] == [True] * len(
        in_use
    )
    text = scene.at("~/.config/hpc.onboard/env.sh").read_text(encoding="utf-8")
    assert [name for name in USED["variables"] if f"export {name}=" not in text] == list(in_use)
    scene.make({"~/store": Folder(), "~/store/later": Folder()})
    assert scene.run(USED)[0]["status"] == "ok", "one that is set stays set"
    scene.at("~/store/later").rmdir()
    scene.life({**USED, "state": "absent"})
    assert {path for path in before if path not in scene.tree()} == set()


@pytest.mark.parametrize("usage", ["/hf", {}, {**HUB, "folders": "/hf"}, {"folders": ["/hf"], "below": ""}])
def test_a_use_that_is_not_complete_is_refused(usage: object) -> None:
    with pytest.raises(AccountError, match="unless_used: "):
        ShellEnvironment(ShellEnvironment.with_defaults({"section": "c", "unless_used": {"HUB": usage}}))
