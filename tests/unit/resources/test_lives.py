# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every kind of resource, by tables: what is found, what is asked for, what is said, and what is there afterwards.

Each case is foreseen in a dry run that changes nothing, taken, and taken again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import pytest
from account_scene import HOME, Folder, Link, Plain, Scene, Thing, Tree
from ansible_collections.hpc.onboard.plugins.module_utils._resources.shell_environment import HEADER
from ansible_collections.hpc.onboard.plugins.module_utils._text import environment, section
from ansible_collections.hpc.onboard.plugins.module_utils._text.stamp import stamped


class Case(NamedTuple):
    """One line of a table. left names what is different afterwards; None is gone."""

    claim: str
    found: Tree
    options: dict[str, Any]
    status: str
    reason: str = ""
    left: Mapping[str, Thing | None] = {}


def judge(scene: Scene, kind: str, case: Case) -> None:
    """Live the case, and compare the whole tree with what was claimed."""
    scene.make(case.found)
    expected: dict[str, Thing | None] = {**scene.tree(), **{scene.whole(k): v for k, v in case.left.items()}}
    outcome = scene.life({"kind": kind, **case.options})[0]
    assert outcome["status"] == case.status, outcome["reason"]
    assert case.reason in (outcome["reason"] or "")
    assert bool(outcome["reason"]) == (case.status in ("blocked", "failed"))
    assert scene.tree() == {path: thing for path, thing in expected.items() if thing is not None}


def table(*cases: Case) -> pytest.MarkDecorator:
    """The cases as parameters, each under its claim."""
    return pytest.mark.parametrize("case", cases, ids=[case.claim.replace(" ", "-") for case in cases])


DIR = {"path": "/work/p/simone", "root": "/work/p"}
AREA = {"/work": Folder(), "/work/p": Folder(0o2775)}


@table(
    Case("a missing folder is made", AREA, DIR, "missing", left={"/work/p/simone": Folder(0o700)}),
    Case(
        "every folder below the root is made",
        AREA,
        {"path": "/work/p/a/b", "root": "/work/p", "mode": "0750"},
        "missing",
        left={"/work/p/a": Folder(0o750), "/work/p/a/b": Folder(0o750)},
    ),
    Case("a folder keeps its mode", {**AREA, "/work/p/simone": Folder(0o777)}, DIR, "in_place"),
    Case("a link to a folder is a folder", {**AREA, "~/x": Folder(), "/work/p/simone": Link("~/x")}, DIR, "in_place"),
    Case("a file in the way is kept", {**AREA, "/work/p/simone": Plain(b"x")}, DIR, "blocked", "is no folder"),
    Case("a dangling link is kept", {**AREA, "/work/p/simone": Link("/gone")}, DIR, "blocked", "is no folder"),
    Case("a loop is kept", {**AREA, "/work/p/simone": Link("simone")}, DIR, "blocked", "is no folder"),
    Case("the site's folder is not made", {"/work": Folder()}, DIR, "blocked", "only the site can make it"),
    Case("a root that is a file is said", {"/work": Folder(), "/work/p": Plain(b"")}, DIR, "blocked", "/work/p"),
    Case(
        "a file between is kept",
        {**AREA, "/work/p/a": Plain(b"x")},
        {"path": "/work/p/a/b", "root": "/work/p"},
        "blocked",
        "/work/p/a is in the way",
    ),
    Case(
        "a dangling link between is kept",
        {**AREA, "/work/p/a": Link("/gone")},
        {"path": "/work/p/a/b", "root": "/work/p"},
        "blocked",
        "/work/p/a is a link to nothing",
    ),
    Case(
        "a folder is made behind a link",
        {**AREA, "~/w": Link("/work/p")},
        {"path": "~/w/a/b", "root": "~/w"},
        "missing",
        left={"/work/p/a": Folder(0o700), "/work/p/a/b": Folder(0o700)},
    ),
    Case("two slashes are one", AREA, {"path": "//work//p/simone"}, "missing", left={"/work/p/simone": Folder(0o700)}),
)
def test_directory(scene: Scene, case: Case) -> None:
    judge(scene, "directory", case)


LINK = {"path": "~/work", "target": "/work/p"}
GONE = {**LINK, "state": "absent"}


@table(
    Case("a missing link is made", AREA, LINK, "missing", left={"~/work": Link("/work/p")}),
    Case("a link is left alone", {**AREA, "~/work": Link("/work/p")}, LINK, "in_place"),
    Case(
        "a link elsewhere is turned",
        {**AREA, "~/work": Link("/work")},
        LINK,
        "different",
        "",
        {"~/work": Link("/work/p")},
    ),
    Case(
        "a dangling link elsewhere is turned",
        {**AREA, "~/work": Link("/x")},
        LINK,
        "different",
        "",
        {"~/work": Link("/work/p")},
    ),
    Case("a loop is turned", {**AREA, "~/work": Link("work")}, LINK, "different", "", {"~/work": Link("/work/p")}),
    Case("a real folder in the way is kept", {**AREA, "~/work": Folder()}, LINK, "blocked", "is a real folder"),
    Case(
        "a full folder in the way is kept",
        {**AREA, "~/work": Folder(), "~/work/x": Plain(b"1")},
        LINK,
        "blocked",
        "mv ~/work",
    ),
    Case("a real file in the way is kept", {**AREA, "~/work": Plain(b"x")}, LINK, "blocked", "is a real file"),
    Case("a missing target is said", {"/work": Folder()}, LINK, "blocked", "nothing is at /work/p"),
    Case("a purged target is said", {"/work": Folder(), "~/work": Link("/work/p")}, LINK, "blocked", "purged"),
    Case(
        "a target that is a file is said", {"/work": Folder(), "/work/p": Plain(b"")}, LINK, "blocked", "not a folder"
    ),
    Case(
        "the folders above a link are made",
        AREA,
        {"path": "~/a/b/work", "target": "/work/p"},
        "missing",
        left={"~/a": Folder(), "~/a/b": Folder(), "~/a/b/work": Link("/work/p")},
    ),
    Case("nothing is taken out twice", AREA, GONE, "in_place"),
    Case("our link is taken out", {**AREA, "~/work": Link("/work/p")}, GONE, "unwanted", left={"~/work": None}),
    Case("our dangling link is taken out", {"~/work": Link("/work/p")}, GONE, "unwanted", left={"~/work": None}),
    Case("a link of the user's stays", {**AREA, "~/work": Link("/work")}, GONE, "blocked", "not where ours would"),
    Case("a real folder is not taken out", {**AREA, "~/work": Folder()}, GONE, "blocked", "is a real folder"),
)
def test_storage_link(scene: Scene, case: Case) -> None:
    judge(scene, "storage_link", case)


SCRIPT = "#!/bin/sh\necho hello\n"
OURS = Plain(stamped(SCRIPT).encode(), 0o755)
OLD = Plain(stamped("#!/bin/sh\necho old\n").encode(), 0o755)
EDITED = Plain(OURS.content + b"echo mine\n", 0o755)
BIN = {"~/bin": Folder()}
PUT = {"path": "~/bin/hello", "content": SCRIPT}
OUT = {"path": "~/bin/hello", "state": "absent"}


@table(
    Case("a missing script is made", {}, PUT, "missing", left={"~/bin": Folder(), "~/bin/hello": OURS}),
    Case("a script is left alone", {**BIN, "~/bin/hello": OURS}, PUT, "in_place"),
    Case("an older one of ours is replaced", {**BIN, "~/bin/hello": OLD}, PUT, "different", left={"~/bin/hello": OURS}),
    Case(
        "a mode is put right",
        {**BIN, "~/bin/hello": Plain(OURS.content, 0o600)},
        PUT,
        "different",
        left={"~/bin/hello": OURS},
    ),
    Case("a script of the user's is kept", {**BIN, "~/bin/hello": Plain(b"#!/bin/sh\n")}, PUT, "blocked", "not ours"),
    Case("a script changed by hand is kept", {**BIN, "~/bin/hello": EDITED}, PUT, "blocked", "changed by hand"),
    Case("a link in the way is kept", {**BIN, "~/bin/hello": Link("/bin/true")}, PUT, "blocked", "is a link"),
    Case("a folder in the way is kept", {**BIN, "~/bin/hello": Folder()}, PUT, "blocked", "is a folder"),
    Case("a binary in the way is kept", {**BIN, "~/bin/hello": Plain(b"\x7fELF\xff\0")}, PUT, "blocked", "not ours"),
    Case("a file where the folder belongs is kept", {"~/bin": Plain(b"x")}, PUT, "blocked", "~/bin is in the way"),
    Case("a dangling folder link is kept", {"~/bin": Link("/gone")}, PUT, "blocked", "~/bin is a link to nothing"),
    Case(
        "a linked folder is used",
        {"~/dot": Folder(), "~/bin": Link("dot")},
        PUT,
        "missing",
        left={"~/dot/hello": OURS},
    ),
    Case("our script is taken out", {**BIN, "~/bin/hello": OLD}, OUT, "unwanted", left={"~/bin/hello": None}),
    Case("nothing is taken out twice", BIN, OUT, "in_place"),
    Case("a changed script is not taken out", {**BIN, "~/bin/hello": EDITED}, OUT, "blocked", "changed by hand"),
    Case("a script of the user's is not taken out", {**BIN, "~/bin/hello": Plain(b"x")}, OUT, "blocked", "not ours"),
)
def test_path_script(scene: Scene, case: Case) -> None:
    judge(scene, "path_script", case)


def test_what_a_script_of_the_users_holds_is_not_said(scene: Scene) -> None:
    scene.make({**BIN, "~/bin/hello": Plain(b"#!/bin/sh\nexport TOKEN=canary\n")})
    assert "canary" not in str(scene.run({"kind": "path_script", **PUT}))


FILE = "~/.config/enroot/.credentials"
ENROOT = {"~/.config": Folder(), "~/.config/enroot": Folder(0o700)}
NVCR = {"machine": "nvcr.io", "password": "nvapi-new"}
NO_NVCR = {"machine": "nvcr.io", "state": "absent"}
LINE = b"machine nvcr.io login $oauthtoken password nvapi-new\n"
OLD_LINE = b"machine nvcr.io login $oauthtoken password nvapi-old\n"
OTHER = b"# mine \xff\x85\nmachine other login me password mine\r\n"


def credential(
    claim: str, content: bytes, status: str, reason: str = "", left: bytes | None = None, **given: Any
) -> Case:
    """A case about the content of the file alone; left is what it holds afterwards, b'' that it is gone."""
    found = {**ENROOT, FILE: Plain(content, given.pop("mode", 0o600))}
    after = {} if left is None else {FILE: Plain(left, 0o600) if left else None}
    return Case(claim, found, {**NVCR, **given}, status, reason, after)


@table(
    Case(
        "the first key is written",
        {},
        NVCR,
        "missing",
        left={"~/.config": Folder(0o700), "~/.config/enroot": Folder(0o700), FILE: Plain(LINE, 0o600)},
    ),
    credential("a key is left alone", OTHER + LINE, "in_place"),
    credential("a line is added and foreign bytes stay", OTHER, "missing", left=OTHER + LINE),
    credential("an old key is replaced in place", OLD_LINE + OTHER, "different", left=LINE + OTHER),
    credential("doubles go", OLD_LINE + OTHER + LINE, "different", left=LINE + OTHER),
    credential("an indented line is put right", b"  " + LINE, "different", left=LINE),
    credential(
        "a default above is passed",
        b"default login a password b\n",
        "missing",
        left=LINE + b"default login a password b\n",
    ),
    credential(
        "another login comes behind",
        b"machine nvcr.io login x password y\n",
        "missing",
        left=LINE + b"machine nvcr.io login x password y\n",
    ),
    credential(
        "an entry in other letters comes behind",
        b"Machine NVCR.io login a password b\n",
        "missing",
        left=LINE + b"Machine NVCR.io login a password b\n",
    ),
    credential(
        "a key behind a word that curl takes is no key",
        b"machine a login b password c machine nvcr.io login d password e\n",
        "blocked",
        "several entries",
    ),
    credential(
        "an unterminated file is ended",
        b"machine a login b password c",
        "missing",
        left=b"machine a login b password c\n" + LINE,
    ),
    credential(
        "a file of CRLF lines gets one",
        b"machine a login b password c\r\n",
        "missing",
        left=b"machine a login b password c\r\n" + LINE[:-1] + b"\r\n",
    ),
    credential("a wrong mode is put right", LINE, "different", left=LINE, mode=0o644),
    credential(
        "several lines for one entry are kept", b"machine nvcr.io\nlogin a\npassword b\n", "blocked", "several lines"
    ),
    credential("a byte-order mark is kept", b"\xef\xbb\xbf" + OLD_LINE, "blocked", "byte-order mark"),
    credential(
        "a command for a password is kept",
        b"machine nvcr.io login $oauthtoken password $(cat key)\n",
        "blocked",
        "is yours",
    ),
    credential("our line is taken out", OTHER + LINE + OLD_LINE, "unwanted", left=OTHER, **NO_NVCR),
    credential("a file that holds nothing more goes", LINE, "unwanted", left=b"", **NO_NVCR),
    credential("nothing is taken out twice", OTHER, "in_place", **NO_NVCR),
    Case("nothing is taken out of nothing", {}, NO_NVCR, "in_place"),
    Case(
        "a folder open to others is put right",
        {"~/.config": Folder(), "~/.config/enroot": Folder(0o775), FILE: Plain(LINE, 0o600)},
        NVCR,
        "different",
        "",
        {"~/.config/enroot": Folder(0o700)},
    ),
    Case(
        "a folder that others may write above is said",
        {"~/.config": Folder(0o775)},
        NVCR,
        "blocked",
        "others may write in ~/.config",
    ),
    Case(
        "a linked file is kept",
        {**ENROOT, "~/key": Plain(LINE, 0o600), FILE: Link("~/key")},
        NVCR,
        "blocked",
        "is a link",
    ),
    Case("a dangling file link is kept", {**ENROOT, FILE: Link("~/key")}, NVCR, "blocked", "is a link"),
    Case(
        "a linked folder is kept",
        {"~/.config": Folder(), "~/e": Folder(0o700), "~/.config/enroot": Link("~/e")},
        NVCR,
        "blocked",
        "is a link",
    ),
    Case(
        "a linked folder above is kept",
        {"~/c": Folder(0o700), "~/c/enroot": Folder(0o700), "~/.config": Link("~/c")},
        NVCR,
        "blocked",
        "is a link",
    ),
    Case("a folder in the way is kept", {**ENROOT, FILE: Folder()}, NVCR, "blocked", "is a folder"),
    Case(
        "a file where the folder belongs is kept",
        {"~/.config": Folder(), "~/.config/enroot": Plain(b"")},
        NVCR,
        "blocked",
        "is a file",
    ),
    Case(
        "a key in the home leaves the home's mode",
        {},
        {**NVCR, "path": "~/.credentials"},
        "missing",
        "",
        {"~/.credentials": Plain(LINE, 0o600)},
    ),
    Case(
        "a home that others may write holds no key",
        {HOME: Folder(0o777)},
        {**NVCR, "path": "~/.credentials"},
        "blocked",
        "others may write in ~",
    ),
)
def test_enroot_credential(scene: Scene, case: Case) -> None:
    judge(scene, "enroot_credential", case)


ENV = {"section": "own", "variables": {"A": "1"}, "path": ["~/bin"]}
NO_ENV = {"section": "own", "state": "absent"}
FOLDER = "~/.config/hpc.onboard"


def body(dialect: str) -> str:
    """What the section of these tests holds."""
    return environment.render(dialect, {"A": "1"}, [HOME + "/bin"])


def reads(dialect: str) -> bytes:
    """Our line in a start-up file, without its end."""
    return environment.reading(dialect, f".config/hpc.onboard/env.{dialect}", "# hpc.onboard").encode()


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
        "outside your home",
    ),
    Case("a link to nothing is kept", {"~/.bashrc": Link("~/gone")}, ENV, "blocked", "a link to nothing"),
    Case("a loop is kept", {"~/.bashrc": Link(".bashrc")}, ENV, "blocked", "leads back to itself"),
    Case("a folder in the way is kept", {"~/.bashrc": Folder()}, ENV, "blocked", "is a folder, not a file"),
    Case(
        "a line changed by hand is kept",
        {**MADE, "~/.bashrc": Plain(b"true # hpc.onboard\n"), "~/.profile": Plain(PROFILE)},
        ENV,
        "blocked",
        "our line in ~/.bashrc was changed by hand",
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
        "a file where our folder belongs is kept", {"~/.config": Plain(b"x")}, ENV, "blocked", "~/.config is in the way"
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
    assert scene.life({"kind": "shell_environment", **NO_ENV})[0]["status"] == "unwanted"
    left = {path: thing for path, thing in scene.tree().items() if not isinstance(thing, Folder)}
    assert left == {path: thing for path, thing in before.items() if not isinstance(thing, Folder)}


def test_the_line_stays_as_long_as_another_section_needs_it(scene: Scene) -> None:
    other = {"kind": "shell_environment", "section": "other", "variables": {"B": "2"}}
    scene.life({"kind": "shell_environment", **ENV}, other)
    scene.life({"kind": "shell_environment", **NO_ENV})
    assert scene.tree()[f"{HOME}/.bashrc"] == Plain(SH + b"\n")
    scene.life({**other, "state": "absent"})
    assert f"{HOME}/.bashrc" not in scene.tree()


def test_a_file_between_a_link_and_the_home_is_kept(scene: Scene) -> None:
    scene.make({**AREA, "~/a": Plain(b"x")})
    outcome = scene.life({"kind": "storage_link", "path": "~/a/work", "target": "/work/p"})[0]
    assert (outcome["status"], outcome["reason"].split(":")[0]) == ("blocked", "~/a is in the way of a folder")


def test_an_interrupted_taking_out_is_finished_by_the_next_run(scene: Scene) -> None:
    """The lines go first: what is left of the sections brings the next run back."""
    scene.life({"kind": "shell_environment", **ENV})
    scene.at("~/.bashrc").unlink()
    assert scene.life({"kind": "shell_environment", **NO_ENV})[0]["status"] == "unwanted"
    assert [path for path, thing in scene.tree().items() if isinstance(thing, Plain)] == []
