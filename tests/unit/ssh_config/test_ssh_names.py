# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A person's ~/.ssh: what is written there, what stays, and what is left where a run is killed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from ansible_collections.hpc.onboard.plugins.module_utils._core.account import Account
from ansible_collections.hpc.onboard.plugins.module_utils._core.dry_run import DryRunHost
from ansible_collections.hpc.onboard.plugins.module_utils._core.host import Host
from ansible_collections.hpc.onboard.plugins.module_utils._core.resource import Outcome, reconcile
from ansible_collections.hpc.onboard.plugins.plugin_utils._ssh_config import texts
from ansible_collections.hpc.onboard.plugins.plugin_utils._ssh_config.ssh_names import SshNames

from tests.effort import turns

pytestmark = turns(3)

ENTRY = {"simone@wilson": "# of /a\nHost wilson\n    HostName wc.example.org\n    User simone\n"}
OTHER = {"ada@lrz": "# of /a\nHost lrz\n    HostName lrz.example.org\n"}
CHANGES = ("open", "os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.chmod")

Tree = dict[str, tuple[int, str | bytes]]
Lay = Callable[[Path], None]


def nothing(_home: Path) -> None:
    """No ~/.ssh at all."""


def folder(home: Path) -> None:
    (home / ".ssh").mkdir(mode=0o700)


def config(text: bytes, mode: int = 0o600) -> Lay:
    def lay(home: Path) -> None:
        folder(home)
        (home / ".ssh/config").write_bytes(text)
        (home / ".ssh/config").chmod(mode)

    return lay


def dotfiles(home: Path) -> None:
    folder(home)
    (home / "dotfiles").mkdir()
    (home / "dotfiles/config").write_bytes(b"Host mine\n    User me\n")
    (home / ".ssh/config").symlink_to("../dotfiles/config")


def linked_folder(home: Path) -> None:
    (home / "dotfiles").mkdir()
    (home / "dotfiles/config").write_bytes(b"Host mine\n    User me\n")
    (home / ".ssh").symlink_to("dotfiles")


LAID = {
    "no folder": nothing,
    "no file": folder,
    "an empty file": config(b""),
    "a file": config(b"Host mine\n    User me\n", 0o644),
    "no line end": config(b"Host mine\n    User me"),
    "odd bytes": config(b"# \xe9\x85\r\nHost mine\r\n\tUser me\r\n"),
    "a link": dotfiles,
    "a linked folder": linked_folder,
}


def host(home: Path) -> Host:
    return Host(Account(str(home), "/bin/sh", {}), b"")


def names(sections: dict[str, str] | None = None, gone: tuple[str, ...] = ()) -> SshNames:
    return SshNames({"sections": sections or {}, "removed": list(gone)})


def tree(home: Path) -> Tree:
    found: Tree = {}
    for path in sorted(home.rglob("*")):
        mode = path.lstat().st_mode
        content = str(path.readlink()) if path.is_symlink() else b"" if path.is_dir() else path.read_bytes()
        found[str(path.relative_to(home))] = (mode, content)
    return found


def says(home: Path, name: str) -> dict[str, str]:
    """What ssh makes of the files, where ~ is this home."""
    text = (home / ".ssh/config").read_bytes() if (home / ".ssh/config").exists() else b""
    seen = home.parent / "seen"
    seen.write_bytes(text.replace(b"~/.ssh/", str(home / ".ssh").encode() + b"/"))
    done = subprocess.run(["ssh", "-F", str(seen), "-G", name], capture_output=True, text=True, check=True, timeout=30)
    return dict(line.partition(" ")[::2] for line in done.stdout.splitlines())


@pytest.fixture
def home(tmp_path: Path) -> Path:
    made = tmp_path / "home"
    made.mkdir(mode=0o700)
    return made


@pytest.mark.parametrize("laid", LAID)
def test_a_name_comes_and_goes_and_nothing_else_changes(home: Path, laid: str) -> None:
    LAID[laid](home)
    before, mine = tree(home), says(home, "mine")
    preview = reconcile(names(ENTRY), DryRunHost(host(home)))
    assert tree(home) == before
    taken = reconcile(names(ENTRY), host(home))
    assert (preview.before, preview.after, preview.status) == (taken.before, taken.after, "missing")
    assert says(home, "wilson")["hostname"] == "wc.example.org"
    assert says(home, "mine") == mine
    assert (home / ".ssh").stat().st_mode & 0o777 == (0o755 if laid == "a linked folder" else 0o700)
    assert (home / ".ssh/hpc.onboard.conf").stat().st_mode & 0o777 == 0o600
    whole = tree(home)
    assert reconcile(names(ENTRY), host(home)).status == "ok"
    assert tree(home) == whole
    assert reconcile(names(OTHER), host(home)).status == "different"
    assert says(home, "lrz")["hostname"] == "lrz.example.org"
    reconcile(names(gone=("ada@lrz",)), host(home))
    assert tree(home) == whole
    assert reconcile(names(gone=("simone@wilson",)), host(home)).status == "extra"
    assert tree(home) == before


def test_our_lines_go_to_the_end_where_others_came_behind_them(home: Path) -> None:
    config(b"Host mine\n")(home)
    reconcile(names(ENTRY), host(home))
    with (home / ".ssh/config").open("a") as stream:
        stream.write("Host *\n    User late\n")
    assert says(home, "wilson")["user"] == "simone"
    assert reconcile(names(ENTRY), host(home)).fields == ["~/.ssh/config"]
    assert says(home, "wilson")["user"] == "late", "the person's own settings win"
    reconcile(names(gone=("simone@wilson",)), host(home))
    assert (home / ".ssh/config").read_bytes() == b"Host mine\nHost *\n    User late\n"


def writable(home: Path) -> None:
    config(b"Host mine\n", 0o664)(home)


def away(home: Path) -> None:
    folder(home)
    (home.parent / "elsewhere").write_bytes(b"Host mine\n")
    (home / ".ssh/config").symlink_to(home.parent / "elsewhere")


def to_nothing(home: Path) -> None:
    folder(home)
    (home / ".ssh/config").symlink_to("nothing")


def twice(home: Path) -> None:
    config(b"Host mine\n")(home)
    (home / "same").hardlink_to(home / ".ssh/config")


def taken(home: Path) -> None:
    folder(home)
    (home / ".ssh/hpc.onboard.conf").write_text("Host mine\n")


def a_folder(home: Path) -> None:
    folder(home)
    (home / ".ssh/hpc.onboard.conf").mkdir()


def half(home: Path) -> None:
    config(texts.BLOCK.replace("Match all\n", "").encode())(home)


def edited(home: Path) -> None:
    folder(home)
    text = texts.edit_sections("", ENTRY, [], "").replace("User simone", "User me")
    (home / ".ssh/hpc.onboard.conf").write_text(text)


@pytest.mark.parametrize(
    ("lay", "words"),
    [
        (writable, "chmod go-w ~/.ssh/config"),
        (away, "only files in your home"),
        (to_nothing, "which does not exist"),
        (twice, "2 hard links"),
        (taken, "was not written by hpc-onboard"),
        (a_folder, "is a folder"),
        (half, "changed by hand"),
        (edited, "the section simone@wilson of ~/.ssh/hpc.onboard.conf was changed by hand"),
    ],
)
def test_what_is_in_the_way_is_said_and_stays(home: Path, lay: Lay, words: str) -> None:
    lay(home)
    before = tree(home)
    found = reconcile(names({**ENTRY, **OTHER}), host(home))
    assert (found.status, words in str(found.reason)) == ("blocked", True), found.reason
    assert tree(home) == before


def test_lines_of_a_hand_in_our_file_are_not_taken_out_with_it(home: Path) -> None:
    reconcile(names(ENTRY), host(home))
    with (home / ".ssh/hpc.onboard.conf").open("a") as stream:
        stream.write("Host mine\n    User me\n")
    before = tree(home)
    found = reconcile(names(gone=("simone@wilson",)), host(home))
    assert "contains lines that you added" in str(found.reason)
    assert tree(home) == before


def killed(deed: Callable[[], Outcome], at: int) -> bool:
    """Take it in a process of its own that dies at that change of the file system; whether there was one."""
    pid = os.fork()
    if not pid:
        left = [at]

        def watch(event: str, _arguments: tuple[object, ...]) -> None:
            if event in CHANGES:
                left[0] -= 1
                if left[0] < 0:
                    os._exit(9)

        sys.addaudithook(watch)
        try:
            deed()
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 9


@turns(16)
@pytest.mark.parametrize("laid", LAID)
@pytest.mark.parametrize("goes", [False, True])
def test_a_run_that_is_killed_leaves_what_ssh_reads_and_the_next_one_ends(
    tmp_path: Path, laid: str, goes: bool, count: Callable[[str, int, int], None]
) -> None:
    deaths = 0
    while True:
        home = tmp_path / f"{deaths}" / "home"
        home.mkdir(parents=True, mode=0o700)
        LAID[laid](home)
        before, mine = tree(home), says(home, "mine")
        out = names(gone=("simone@wilson",))
        if goes:
            reconcile(names(ENTRY), host(home))
        died = killed(lambda: reconcile(out if goes else names(ENTRY), host(home)), deaths)  # noqa: B023  # taken at once
        assert says(home, "mine") == mine
        assert says(home, "wilson")["hostname"] in ("wilson", "wc.example.org")
        if deaths % 2:
            reconcile(names(ENTRY), host(home))
            assert says(home, "wilson")["hostname"] == "wc.example.org"
        reconcile(out, host(home))
        assert tree(home) == before, deaths
        if not died:
            break
        deaths += 1
    count("kills of a run that names accounts", deaths, 0)
    assert deaths > 5
