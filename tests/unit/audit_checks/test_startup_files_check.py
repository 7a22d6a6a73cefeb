# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What start-up files do is tried with real shells, where they can write nothing and leave nothing running."""

from __future__ import annotations

import ctypes
import os
import tempfile
import time
from pathlib import Path

import pytest
from account_scene import HOME, Folder, Link, Plain, Scene, Thing
from ansible_collections.hpc.onboard.plugins.module_utils._audit_checks.startup_files import NO_SHELLS, StartupFiles
from ansible_collections.hpc.onboard.plugins.module_utils._core import program, sandboxed_program
from ansible_collections.hpc.onboard.plugins.module_utils._shells import shell_views
from audit_check_runs import run_check
from forked import child

from tests.effort import turns

pytestmark = turns(3)

CALM = 20  # seconds that no start takes on a busy machine
NOISE = b"echo hello\n"
PRINTS = "a start-up file prints text when a command over ssh starts, which breaks scp, rsync and other programs"
LOGIN_PRINTS = PRINTS.replace("a command over ssh", "a login shell that runs a command")


@turns(3)
@pytest.mark.parametrize(
    ("claim", "shell", "files", "found"),
    [
        ("no start-up file", "bash", {}, {}),
        ("a quiet one", "bash", {".bashrc": b"export A=1\necho to stderr >&2\n"}, {}),
        ("bash over ssh", "bash", {".bashrc": NOISE}, {"ENV-003 ~/.bashrc:1": PRINTS}),
        ("bash at a login", "bash", {".bash_profile": NOISE}, {"ENV-003 ~/.bash_profile:1": LOGIN_PRINTS}),
        (
            "one file for both",
            "bash",
            {".bashrc": NOISE, ".profile": b". ~/.bashrc\n"},
            {"ENV-003 ~/.bashrc:1": PRINTS},
        ),
        ("only where a person types", "bash", {".bashrc": b"case $- in *i*) echo hello;; esac\n"}, {}),
        ("zsh", "zsh", {".zshenv": NOISE}, {"ENV-003 ~/.zshenv:1": PRINTS}),
        ("zsh's file for terminals is not read", "zsh", {".zshrc": NOISE}, {}),
        ("tcsh", "tcsh", {".cshrc": NOISE}, {"ENV-003 ~/.cshrc:1": PRINTS}),
        ("fish", "fish", {".config/fish/config.fish": NOISE}, {"ENV-003 ~/.config/fish/config.fish:1": PRINTS}),
        ("a quiet fish, which would make files", "fish", {}, {}),
        ("sh at a login", "sh", {".profile": NOISE}, {"ENV-003 ~/.profile:1": LOGIN_PRINTS}),
    ],
)
def test_what_is_printed(
    tmp_path: Path, claim: str, shell: str, files: dict[str, bytes], found: dict[str, str]
) -> None:
    scene = Scene(tmp_path / "cluster", f"/bin/{shell}")
    for name, content in files.items():
        for above in reversed(Path(name).parents[:-1]):
            scene.make({f"~/{above}": Folder()})
        scene.make({f"~/{name}": Plain(content)})
    report = run_check(scene, StartupFiles, slow_seconds=CALM)
    assert report.found == found, claim
    assert report.remarks == []


def test_what_the_site_prints_is_told_apart(scene: Scene, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    site = tmp_path / "without"
    site.mkdir()
    (site / ".bashrc").write_bytes(NOISE)  # it stands for what every account gets from /etc
    monkeypatch.setattr(shell_views, "NOWHERE", str(site))
    scene.make({"~/.bashrc": Plain(NOISE)})
    report = run_check(scene, StartupFiles, slow_seconds=CALM)
    assert list(report.found) == ["ENV-003 /etc"]
    assert "report this to the site" in report.found["ENV-003 /etc"]


@pytest.mark.parametrize(
    ("line", "shell"),
    [("sleep 1.2", "a command over ssh"), ("[[ $- != *i* ]] || { sleep 1.2; }", "an interactive shell")],
)
def test_a_slow_file_is_said_once_whichever_starts_read_it(scene: Scene, line: str, shell: str) -> None:
    scene.make({"~/.bashrc": Plain(f"{line}\n".encode()), "~/.profile": Plain(b". ~/.bashrc\n")})
    found = run_check(scene, StartupFiles, again=False, slow_seconds=1).found
    assert found == {"ENV-004 ~/.bashrc:1": f"{shell} takes more than 1 s to start"}


def test_a_start_that_never_ends_is_ended(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shell_views, "SECONDS", 1.0)
    scene.make({"~/.bashrc": Plain(b"sleep 4321\n"), "~/.profile": Plain(b". ~/.bashrc\n")})
    found = run_check(scene, StartupFiles, again=False, slow_seconds=CALM).found
    assert found == {"ENV-004 ~/.bashrc": "a command over ssh did not end within 1 s"}
    assert not running("sleep\x004321")


def running(command: str) -> bool:
    """Whether a process with this command line is still there after a moment."""
    for _wait in range(100):
        found = [entry for entry in Path("/proc").glob("[0-9]*/cmdline") if command in said_by(entry)]
        if not found:
            return False
        time.sleep(0.05)
    return True


def said_by(entry: Path) -> str:
    """The command line of a process that may end meanwhile."""
    try:
        return entry.read_bytes().decode("latin-1")
    except OSError:
        return ""


def test_start_up_files_can_write_nothing_and_leave_nothing_running(scene: Scene, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_bytes(b"as it was")
    script = (
        f"echo x >> ~/.bashrc\ntouch ~/new\nmkdir -p ~/.cache/zcompdump\nchmod 600 ~/kept\nrm -f ~/kept\n"
        f"touch -d 2001-01-01 ~/kept\nln -s a ~/link\necho gone > {outside}\nhistory -w\n"
        "setsid sleep 8765 >/dev/null 2>&1 &\n"
    )
    scene.make({"~/.bashrc": Plain(script.encode()), "~/.profile": Plain(b". ~/.bashrc\n"), "~/kept": Plain(b"1")})
    assert run_check(scene, StartupFiles, slow_seconds=CALM).found == {}  # watched compares every inode
    assert outside.read_bytes() == b"as it was"
    assert not running("sleep\x008765")


def test_where_a_shell_could_write_it_is_not_started(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused() -> None:
        raise OSError(1, "")

    scene.make({"~/.bashrc": Plain(b"touch ~/new\n" + NOISE)})
    monkeypatch.setattr(sandboxed_program, "enter_sandbox", refused)
    report = run_check(scene, StartupFiles)
    assert report.found == {}
    assert "were not run" in report.remarks[0]


def test_a_program_that_cannot_be_started_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    assert program.run_program(["/no/such/program"], os.environ, 5.0) == program.ProgramOutput(
        b"", 0.0, program.NOT_RUN
    )

    def refused() -> int:
        raise BlockingIOError(11, "")

    before = os.listdir("/proc/self/fd")
    monkeypatch.setattr(os, "fork", refused)
    assert program.run_program(["/bin/true"], os.environ, 5.0).why == program.NOT_RUN
    assert len(os.listdir("/proc/self/fd")) == len(before)


def test_without_the_newer_call_every_mount_is_closed_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandboxed_program, "_make_read_only", sandboxed_program.make_each_read_only)
    with tempfile.TemporaryDirectory() as folder:
        line = ["/bin/sh", "-c", f"touch {folder}/new; echo end"]
        assert program.run_program(line, os.environ, 20.0, prepare=sandboxed_program.enter_sandbox).text == "end\n"
        assert os.listdir(folder) == []


def test_a_user_without_rights_can_have_it_too() -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)
        reader, writer = os.pipe()

        def look() -> None:
            if os.getuid() == 0:
                os.setgid(65534)
                os.setuid(65534)
                ctypes.CDLL(None).prctl(4, 1)  # dumpable again, as a process is that a login has started
            line = ["/bin/sh", "-c", f"touch {folder}/new; id -u; echo $$"]
            os.write(
                writer,
                program.run_program(line, os.environ, 20.0, prepare=sandboxed_program.enter_sandbox).text.encode(),
            )

        program.run_program(["/bin/true"], os.environ, 20.0)  # what it imports may lie where only root reads
        pid = child(look)
        os.close(writer)
        os.waitpid(pid, 0)
        user, process = os.read(reader, 1000).split()
        assert int(user) == (65534 if os.getuid() == 0 else os.getuid())
        assert process == b"1"
        assert os.listdir(folder) == []


SCRIPT: dict[str, Thing] = {"~/bin": Folder(), "~/bin/usrun.sh": Plain(b"#!/bin/sh\n", 0o755)}
PROGRAM = {"programs": [{"path": "~/bin/usrun.sh"}]}
OTHER: dict[str, Thing] = {"/opt": Folder(), "/opt/usrun.sh": Plain(b"#!/bin/sh\n", 0o755)}


@pytest.mark.parametrize(
    ("claim", "tree", "path", "found", "unseen"),
    [
        ("it is found", SCRIPT, f"/usr/bin:{HOME}/bin/", {}, []),
        ("its folder is not on PATH", SCRIPT, "/usr/bin:bin:", {"ENV-005 ~/bin/usrun.sh": "~/bin is not on PATH"}, []),
        (
            "another one comes before it",
            {**SCRIPT, **OTHER},
            f"/opt:{HOME}/bin",
            {"ENV-005 /opt/usrun.sh": "this program comes before ~/bin/usrun.sh on PATH"},
            [],
        ),
        ("a folder on PATH that cannot be looked at", SCRIPT, f"/{'x' * 300}:{HOME}/bin", {}, []),
        ("another one behind it", {**SCRIPT, **OTHER}, f"{HOME}/bin:/opt", {}, []),
        (
            "a file before it that is no program",
            {**SCRIPT, "/opt": Folder(), "/opt/usrun.sh": Plain(b"", 0o644)},
            f"/opt:{HOME}/bin",
            {},
            [],
        ),
        ("its folder by another name", {**SCRIPT, "/mnt": Link("~/bin")}, "/mnt", {}, []),
        ("a script that is missing is said elsewhere", {}, "/usr/bin", {}, []),
        ("nobody knows PATH", SCRIPT, "", {}, ["the login shell has no PATH"]),
    ],
)
def test_where_scripts_are_found(
    scene: Scene, claim: str, tree: dict[str, Thing], path: str, found: dict[str, str], unseen: list[str]
) -> None:
    scene.run({"kind": "shell_environment", "section": "own", "path": ["~/bin"], "variables": {}})
    scene.environment.update({"PATH": path} if path else {})
    scene.make(tree)
    report = run_check(scene, StartupFiles, shells=False, **PROGRAM)
    assert list(report.found) == list(found), claim
    assert [place for place, words in found.items() if words not in report.found[place]] == []
    remarks = [remark for remark in report.remarks if remark != NO_SHELLS]
    assert [words for words in unseen if words not in remarks[0]] == []
    assert len(remarks) == len(unseen)


def test_what_our_roles_write_is_quiet(scene: Scene) -> None:
    scene.run(
        {"kind": "path_script", "path": "~/bin/usrun.sh", "content": "#!/bin/sh\necho run\n"},
        {"kind": "shell_environment", "section": "path_scripts", "path": ["~/bin"], "variables": {"A": "1"}},
    )
    report = run_check(scene, StartupFiles, slow_seconds=CALM)
    assert (report.found, report.remarks) == ({}, [])
