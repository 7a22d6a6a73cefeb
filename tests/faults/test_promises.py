# SPDX-License-Identifier: GPL-3.0-or-later
"""One fast test for each promise that a seeded bug (tests/mutants) breaks."""

from __future__ import annotations

import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from .harness import LOCK, OLD_SECRET, OLDER_SECRET, SECRET, Call, Writer, snapshot, writing
from .scenes import FOREIGN, OURS, SCENES, Scene, credential, environment, put
from .sweep import Fault, study, sweep

FILE = ".config/enroot/.credentials"
DRAFT = ".config/enroot/..credentials.hpc.onboard-draft"


@pytest.fixture
def writer() -> Iterator[Writer]:
    with writing() as one:
        yield one


def scene(name: str) -> Scene:
    return next(one for one in SCENES if one.name == name)


def test_a_draft_is_flushed_before_it_takes_the_name_and_the_folder_after(writer: Writer) -> None:
    calls = study(writer, scene("a key replaced")).calls
    wrote, renamed = _first(calls, "write", SECRET), _first(calls, "renameat", "draft")
    handle, folder = calls[wrote].text.split("(")[1].split(",")[0], calls[renamed].text.split("(")[1].split(",")[0]
    assert f"fsync({handle})" in [call.text.split(" ")[0] for call in calls[wrote:renamed]]
    assert f"fsync({folder})" in [call.text.split(" ")[0] for call in calls[renamed:]]


def _first(calls: list[Call], name: str, text: str) -> int:
    return next(i for i, call in enumerate(calls) if call.name == name and text in call.text)


def test_a_key_has_its_mode_from_the_first_byte(writer: Writer) -> None:
    new = scene("a new key")
    known = study(writer, new)
    calls = [call for call in known.calls if call.name in ("write", "fsync", "fchmod", "renameat")]
    assert not sweep(new, known, [Fault(call, "KILL") for call in calls])


def test_a_link_planted_as_the_draft_is_not_written_through(writer: Writer) -> None:
    home = writer.fresh()
    put(home / FILE, FOREIGN, 0o600)
    put(home / "elsewhere", "the user's\n")
    (home / DRAFT).symlink_to(home / "elsewhere")
    done = writer.work(writer.plan([credential()]), "unlinkat:error=ENOENT:when=1")
    assert (home / "elsewhere").read_bytes() == b"the user's\n"
    assert [one["status"] for one in done.outcomes] == ["failed"]


@pytest.mark.parametrize("part", [".config/enroot", FILE])
def test_a_key_is_never_put_behind_a_link(writer: Writer, part: str) -> None:
    home = writer.fresh()
    put(home / FILE, FOREIGN, 0o600)
    (home / part).rename(home / "elsewhere")
    (home / part).symlink_to(home / "elsewhere")
    before = snapshot(writer.root)
    said = writer.run(writer.plan([credential()]))
    assert [one["status"] for one in said["outcomes"]] == ["blocked"]
    assert snapshot(writer.root) == before


def test_of_several_lines_for_a_machine_one_is_left(writer: Writer) -> None:
    home = writer.fresh()
    put(home / FILE, OURS % OLD_SECRET + "# mine\n" + OURS % OLDER_SECRET + OURS % OLD_SECRET, 0o600)
    said = writer.run(writer.plan([credential()]))
    assert [one["status"] for one in said["outcomes"]] == ["different"]
    assert (home / FILE).read_text() == OURS % SECRET + "# mine\n"


def test_a_key_is_replaced_where_the_old_one_stood(writer: Writer) -> None:
    home = writer.fresh()
    rival = "machine nvcr.io login somebody password theirs\n"
    put(home / FILE, OURS % OLD_SECRET + rival, 0o600)
    said = writer.run(writer.plan([credential()]))
    assert [one["status"] for one in said["outcomes"]] == ["different"]
    assert (home / FILE).read_text() == OURS % SECRET + rival


def test_a_second_run_waits_for_the_first(writer: Writer) -> None:
    home = writer.fresh()
    put(home / FILE, FOREIGN, 0o600)
    first, second = writer.plan([credential()]), writer.plan([credential(machine="authn.nvidia.com")])
    said = []
    slow = threading.Thread(target=lambda: said.append(writer.work(first, "fsync:delay_enter=1200000:when=1").outcomes))
    with writing() as other:
        slow.start()
        while slow.is_alive() and not (home / DRAFT).exists():
            time.sleep(0.005)
        said.append(other.run(second)["outcomes"])
        slow.join()
    assert [[one["status"] for one in outcomes] for outcomes in said] == [["missing"], ["missing"]]
    lines = (home / FILE).read_bytes().decode("latin-1")
    assert [machine for machine in ("gitlab.example.org", "nvcr.io", "authn.nvidia.com") if machine not in lines] == []
    assert not (home / LOCK).exists()


def test_no_key_is_said_whether_it_goes_well_or_not(writer: Writer) -> None:
    said = []
    for fault in ("unlinkat:error=ENOENT:when=1", "write:error=EIO:when=1", "renameat:error=EIO:when=1"):
        put(writer.fresh() / FILE, OURS % OLD_SECRET, 0o600)
        plan = writer.plan([credential()])
        said.append(str(writer.run({**plan, "work": "preview"})))
        said.append(str(writer.work(plan, fault).outcomes))
    assert len(said) == 6
    assert not [text for text in said if SECRET in text or OLD_SECRET in text or "status" not in text]


@pytest.mark.parametrize("shell", ["sh", "bash", "zsh", "tcsh", "fish"])
def test_every_shell_reads_the_very_value(writer: Writer, shell: str) -> None:
    if not shutil.which(shell):
        pytest.skip(shell + " is not installed")
    value = "/data/$HOME/a b;c|d&e<f>(g)*?[h]{i,j}~#k"
    home = writer.fresh()
    wanted = environment()
    wanted["options"].update(variables={"KEPT": value}, path=["/opt/a b"])
    said = writer.run(writer.plan([wanted], "/bin/" + shell))
    assert [one["status"] for one in said["outcomes"]] == ["missing"]
    dialect = {"tcsh": "csh", "fish": "fish"}.get(shell, "sh")
    read = "source" if dialect != "sh" else "."
    script = f"{read} {home}/.config/hpc.onboard/env.{dialect}; printenv KEPT; printenv PATH"
    clean = {"HOME": str(home), "PATH": "/usr/bin:/bin"}
    ran = subprocess.run([shell, "-c", script], capture_output=True, text=True, env=clean)
    assert ran.stdout.splitlines()[:1] == [value], ran.stderr
    assert ran.stdout.splitlines()[1].startswith("/opt/a b:")


@pytest.mark.parametrize("one", SCENES, ids=lambda one: one.name.replace(" ", "-"))
def test_a_check_changes_nothing(writer: Writer, one: Scene) -> None:
    one.build(writer.fresh())
    before, times = snapshot(writer.root), _times(writer.root)
    said = writer.run(writer.plan(one.resources, check=True))
    assert {outcome["status"] for outcome in said["outcomes"]} <= {"missing", "different", "extra", "blocked"}
    assert snapshot(writer.root) == before
    assert _times(writer.root) == times


def _times(root: Path) -> list[int]:
    return [path.lstat().st_mtime_ns for path in sorted(root.rglob("*"))]
