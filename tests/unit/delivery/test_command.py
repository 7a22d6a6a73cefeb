# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The one command and its input: under every Python there is, among broken ones, cut, and read by a shell."""

from __future__ import annotations

import glob
import os
import re
import shlex
import subprocess
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
from account_scene import HOME, KEY, Folder, Scene
from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery import answer as _answer
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery import payload
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.plan import KINDS

from tests.effort import turns

pytestmark = turns(3)

PLACES = KINDS.places
EVERYTHING = [
    {"kind": "directory", "path": "/work/simone", "root": "/work"},
    {"kind": "storage_link", "path": "~/work", "target": "/work/simone"},
    {"kind": "enroot_credential", "machine": "nvcr.io", "password": "nvapi-canary"},
    {"kind": "path_script", "path": "~/bin/x", "content": "#!/bin/sh\necho é\n"},
    {"kind": "shell_environment", "section": "own", "variables": {"A": "1"}, "path": ["~/bin"]},
]


@lru_cache
def pythons() -> dict[str, str]:
    """Version -> interpreter, for every Python from 3.6 up that can be found and really runs."""
    root = os.environ.get("PYENV_ROOT") or os.path.expanduser("~/.pyenv")
    places = [f"{root}/versions/*/bin", *os.environ.get("PATH", "").split(":"), "/usr/libexec"]
    names = ("python3", "python3.[0-9]*", "platform-python")
    found: dict[str, str] = {}
    for path in sorted(path for place in places for name in names for path in glob.glob(f"{place}/{name}")):
        if re.search(r"/(python3(\.[0-9]+)?|platform-python)\Z", path):
            ask = [path, "-c", "import sys; print('%d.%d' % sys.version_info[:2], sys.executable)"]
            said = subprocess.run(ask, capture_output=True, text=True, check=False).stdout.split()
            if said and tuple(map(int, said[0].split("."))) >= (3, 6):
                found.setdefault(said[0], said[1])  # not a shim, which depends on the environment
    return found


def sent(scene: Scene, python: str | None = None, env: dict[str, str] | None = None, **given: Any) -> dict[str, Any]:
    """What the account answers to the whole plan over a shell, as over ssh."""
    data = payload.build_payload(scene.plan(EVERYTHING, **given), PLACES)
    command = ["/bin/sh", "-c", payload.build_command(python, [])]
    ran = subprocess.run(command, input=data, capture_output=True, check=False, env=env)
    return _answer.parse(ran.stdout.decode(), ran.stderr.decode(), ran.returncode, "simone@wilson")


def outcomes(answer: dict[str, Any]) -> list[dict[str, Any]]:
    """The outcomes but for how long they took."""
    assert answer["error"] is None
    return [{k: v for k, v in one.items() if k != "seconds"} for one in answer["outcomes"]]


def test_python_3_6_is_among_those_that_are_tried() -> None:
    if "3.6" not in pythons():
        pytest.skip(f"no Python 3.6 was found here, only {', '.join(sorted(pythons()))}")


@pytest.mark.parametrize("version", sorted(pythons(), key=lambda text: int(text[2:])))
def test_every_python_gives_the_same_answer(version: str, tmp_path: Path) -> None:
    settled = []
    for number, python in enumerate([pythons()[version], None]):
        scene = Scene(tmp_path / str(number))
        scene.make({"/work": Folder()})
        if python:
            preview = sent(scene, python, {"HOME": "/", "LC_ALL": "C"}, check=True)
            answer = sent(scene, python, {"HOME": "/", "LC_ALL": "C"})
            assert answer["python"].startswith(version + ".")
            assert outcomes(preview) == outcomes(answer)
            assert {one["status"] for one in outcomes(sent(scene, python))} == {"ok"}
            assert "canary" not in str(answer)
            settled.append((outcomes(answer), scene.tree()))
        else:
            settled.append((scene.run(*EVERYTHING), scene.tree()))
    (over_the_wire, left), (here, left_here) = settled
    assert [one["status"] for one in over_the_wire] == ["missing"] * 5
    assert [{**one, "capability": ""} for one in over_the_wire] == [{**one, "capability": ""} for one in here]
    assert left == left_here


def shims(folder: Path, **scripts: str) -> dict[str, str]:
    """An environment whose PATH holds these scripts first."""
    folder.mkdir()
    for name, text in scripts.items():
        file = folder / name.replace("_", ".")
        file.write_text("#!/bin/sh\n" + text)
        file.chmod(0o755)
    return {"PATH": f"{folder}:/usr/bin:/bin", "HOME": "/"}


BROKEN = [
    "echo 'pyenv: python3: command not found' >&2; exit 127",
    "echo 'The module python is deprecated'; exit 1",
    "exit 0",  # says yes to everything, and does nothing
    "kill -9 $$",
]


@pytest.mark.parametrize("script", [BROKEN[0], BROKEN[1], BROKEN[3]])
def test_a_broken_shim_is_passed_over(
    script: str, tmp_path: Path, scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(payload, "USUAL", ("python3", "/usr/bin/python3"))
    scene.make({"/work": Folder()})
    env = shims(tmp_path / "bin", python3=script)
    assert [one["status"] for one in outcomes(sent(scene, None, env))] == ["missing"] * 5


def test_a_shim_that_says_yes_and_does_nothing_is_no_answer(tmp_path: Path, scene: Scene) -> None:
    env = shims(tmp_path / "bin", python3=BROKEN[2])
    with pytest.raises(_answer.NoAnswer, match="without an answer"):
        sent(scene, "python3", env)


def test_where_there_is_no_python_all_that_was_tried_is_named(tmp_path: Path, scene: Scene) -> None:
    old = "case $* in *-V*) echo 'Python 2.7.18' >&2;; *) exit 1;; esac"
    env = shims(tmp_path / "bin", python2_7=old)
    with pytest.raises(_answer.NoAnswer) as refused:
        sent(scene, str(tmp_path / "bin" / "python2.7"), env)
    assert f"Tried: {tmp_path}/bin/python2.7: Python 2.7.18." in str(refused.value)
    assert "ansible_python_interpreter" in str(refused.value)


def test_a_real_python_2_is_named_and_refused(scene: Scene) -> None:
    root = os.environ.get("PYENV_ROOT") or os.path.expanduser("~/.pyenv")
    old = glob.glob(f"{root}/versions/2.7*/bin/python2.7")
    if not old:
        pytest.skip("no Python 2.7 was found here")
    with pytest.raises(_answer.NoAnswer, match=r"python2\.7: Python 2\.7"):
        sent(scene, old[0])


@pytest.mark.parametrize("name", ["python3; id", "python3\n", "$(id)", "a b", "'", "", "python`id`"])
def test_an_interpreter_that_a_shell_would_read_is_refused(name: str) -> None:
    with pytest.raises(AccountError, match="is not a valid path to a Python interpreter"):
        payload.build_command(None, [name])


def small(check: bool = True) -> bytes:
    """A payload that holds a key."""
    options = {"machine": "nvcr.io", "password": "nvapi-canary", "login": "x", "state": "present", "path": "~/.k/c"}
    entry = {"kind": "enroot_credential", "capability": "x", "options": options}
    sandbox = {"root": "/nonexistent", "home": HOME}
    plan = {
        "resources": [entry],
        "work": "preview" if check else "reconcile",
        "fingerprint_key": KEY,
        "sandbox": sandbox,
    }
    return payload.build_payload(plan, PLACES)


@pytest.mark.parametrize("shell", ["sh", "dash", "bash", "zsh", "ksh", "tcsh", "fish"])
def test_a_shell_that_reads_the_input_by_mistake_ends_and_says_nothing(shell: str, tmp_path: Path) -> None:
    try:
        ran = subprocess.run([shell], input=small(), capture_output=True, check=False, cwd=tmp_path)
    except FileNotFoundError:
        pytest.skip(f"{shell} is not installed")
    assert ran.returncode == payload.READ_BY_SHELL
    assert ran.stdout + ran.stderr == b""
    assert list(tmp_path.rglob("*credentials*")) == []
    with pytest.raises(_answer.NoAnswer, match="starts another shell"):
        _answer.parse(ran.stdout.decode(), "", ran.returncode, "simone@wilson")


@pytest.mark.parametrize("part", [0.0, 0.001, 0.01, 0.5, 0.999])
def test_an_input_that_is_cut_changes_nothing_and_is_said(part: float) -> None:
    data = small()
    ran = subprocess.run(
        ["/bin/sh", "-c", payload.build_command(None, [])],
        input=data[: int(len(data) * part)],
        capture_output=True,
        check=False,
    )
    assert ran.returncode == payload.INCOMPLETE
    assert ran.stdout.decode() == f"{payload.BEGUN}\n"
    with pytest.raises(_answer.NoAnswer, match="the input was incomplete"):
        _answer.parse(ran.stdout.decode(), "", ran.returncode, "simone@wilson")


def test_lines_that_a_start_up_file_prints_into_the_input_do_no_harm(scene: Scene) -> None:
    data = b"some noise\n" + payload.build_payload(scene.plan([]), PLACES)
    ran = subprocess.run(
        ["/bin/sh", "-c", payload.build_command(None, [])], input=data, capture_output=True, check=True
    )
    assert _answer.parse(ran.stdout.decode(), "", 0, "x")["outcomes"] == []


def test_what_is_sent_is_small_even_for_a_large_plan(scene: Scene) -> None:
    data = payload.build_payload(scene.plan(EVERYTHING * 10), PLACES)
    assert len(data) <= 77 * 1024


def test_the_command_holds_nothing_that_a_login_shell_would_change() -> None:
    assert not set(payload._READ) & set("'\"$\\!`\n")
    assert "canary" not in payload.build_command(None, [])


def planted(folder: Path, mark: Path) -> Path:
    """A Python that leaves a mark when it is started, and then works."""
    file = folder / "py"
    file.write_text(f'#!/bin/sh\ntouch {mark}\nexec /usr/bin/env python3 "$@"\n')
    file.chmod(0o755)
    return file


@pytest.mark.skipif(os.getuid() != 0, reason="only root gives files to other users")
@pytest.mark.parametrize(
    "planting",
    [
        "chown 4321 {py}",
        "chmod g+w {py}",
        "chmod o+w {py}",
        "chmod g+w {folder}",
        "chmod 1777 {folder}",
        "chown 4321 {folder}",
        "chown 4321 {above}",
        "mkdir {above}/s; ln -s {py} {above}/s/link; mv {above}/s/link {above}/link; chown 4321 {folder}; {link}",
        "rm {py}; ln -s {py} {py}",
        "rm {py}; mkdir {py}",
    ],
)
def test_a_python_of_a_profile_that_another_user_can_change_is_not_started(planting: str) -> None:
    with tempfile.TemporaryDirectory(dir="/opt") as above:  # /tmp is everybody's
        os.chmod(above, 0o755)
        folder, mark = Path(above, "bin"), Path(above, "mark")
        folder.mkdir()
        py = planted(folder, mark)
        assert ran(str(py), mark), "a Python of root's is started"
        mark.unlink()
        subprocess.run(["sh", "-c", planting.format(py=py, folder=folder, above=above, link=":")], check=True)
        named = Path(above, "link") if "{link}" in planting else py
        assert not ran(str(named), mark)


def ran(python: str, mark: Path) -> bool:
    """Return True if that Python of a profile was started; the account answers in any case."""
    done = subprocess.run(
        ["/bin/sh", "-c", payload.build_command(None, [python])], input=small(), capture_output=True, check=False
    )
    answer = _answer.parse(done.stdout.decode(), done.stderr.decode(), done.returncode, "x")
    assert answer["error"] is None
    return mark.exists()


def test_a_python_that_is_not_started_is_named_with_the_reason(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    py = planted(tmp_path, tmp_path / "mark")
    command = payload.build_command(None, [str(py)])
    for name in payload.USUAL:
        command = command.replace(f" {name} ", " /nowhere ").replace(f" {name};", " /nowhere;")
    done = subprocess.run(["/bin/sh", "-c", command], input=small(), capture_output=True, check=False)
    with pytest.raises(_answer.NoAnswer, match="py: not started, because another user can change this program"):
        _answer.parse(done.stdout.decode(), done.stderr.decode(), done.returncode, "x")
    assert not (tmp_path / "mark").exists()


@pytest.mark.parametrize("shell", ["sh", "dash", "bash", "zsh", "ksh", "tcsh", "fish"])
def test_every_login_shell_hands_on_the_command(shell: str, scene: Scene) -> None:
    """As ansible sends it: /bin/sh -c and the command in single quotes."""
    line = f"/bin/sh -c {shlex.quote(payload.build_command(None, ['/opt/none/python3', '/usr/bin/python3']))}"
    try:
        done = subprocess.run([shell, "-c", line], input=small(), capture_output=True, check=False)
    except FileNotFoundError:
        pytest.skip(f"{shell} is not installed")
    assert _answer.parse(done.stdout.decode(), done.stderr.decode(), done.returncode, "x")["error"] is None
