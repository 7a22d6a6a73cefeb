# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A key for enroot: what is found, asked for, said, and there afterwards."""

from __future__ import annotations

from account_scene import HOME, Folder, Link, Plain, Scene
from resource_tables import Case, FileCases, judge, table

from tests.effort import turns

pytestmark = turns(2)

FILE = "~/.config/enroot/.credentials"
ENROOT = {"~/.config": Folder(), "~/.config/enroot": Folder(0o700)}
NVCR = {"machine": "nvcr.io", "password": "nvapi-new"}
NO_NVCR = {"machine": "nvcr.io", "state": "absent"}
LINE = b"machine nvcr.io login $oauthtoken password nvapi-new\n"
OLD_LINE = b"machine nvcr.io login $oauthtoken password nvapi-old\n"
OTHER = b"# mine \xff\x85\nmachine other login me password mine\r\n"
credential = FileCases(FILE, ENROOT, NVCR)


@table(
    Case(
        "the first key is written",
        {},
        NVCR,
        "missing",
        left={"~/.config": Folder(0o700), "~/.config/enroot": Folder(0o700), FILE: Plain(LINE, 0o600)},
    ),
    credential("a key is left alone", OTHER + LINE, "ok"),
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
        "an unterminated file stays so",
        b"machine a login b password c",
        "missing",
        left=LINE + b"machine a login b password c",
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
        "comes from a command or a variable",
    ),
    credential("our line is taken out", OTHER + LINE + OLD_LINE, "extra", left=OTHER, **NO_NVCR),
    credential("a file that holds nothing more goes", LINE, "extra", left=b"", **NO_NVCR),
    credential("nothing is taken out twice", OTHER, "ok", **NO_NVCR),
    Case("nothing is taken out of nothing", {}, NO_NVCR, "ok"),
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
        "other users can write to ~/.config",
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
        "other users can write to ~",
    ),
)
def test_enroot_credential(scene: Scene, case: Case) -> None:
    judge(scene, "enroot_credential", case)
