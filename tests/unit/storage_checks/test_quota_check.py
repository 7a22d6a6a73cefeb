# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Quotas: what each command's table says, and what becomes of a command that says nothing, too much, or never ends."""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from account_scene import KEY, Scene
from ansible_collections.hpc.onboard.plugins.module_utils._audit_checks.site_probe import SiteProbe
from ansible_collections.hpc.onboard.plugins.module_utils._core import program
from ansible_collections.hpc.onboard.plugins.module_utils._core.account import Account
from ansible_collections.hpc.onboard.plugins.module_utils._core.host import Host
from ansible_collections.hpc.onboard.plugins.module_utils._formats.quota import Usage, parse_amount, read_usage
from ansible_collections.hpc.onboard.plugins.module_utils._storage_checks import quota
from ansible_collections.hpc.onboard.plugins.module_utils._storage_checks.quota import Quota
from audit_check_runs import complete_options, run_check
from hypothesis import given
from hypothesis import strategies as st
from quota_tables import ALLIANCE, CSCS, DF, DSS, LFS, QUOTA, QUOTA_NONE, QUOTA_S

Look = Callable[..., tuple[dict[str, str], list[str]]]


@pytest.fixture
def look(tmp_path: Path) -> Look:
    """Look at the quotas of a real account whose PATH holds a command of our own, and nothing else but the system's."""
    home, programs = tmp_path / "home", tmp_path / "bin"
    home.mkdir()
    programs.mkdir()

    def looked(
        script: str | None, command: str = "quota_of_site all", **options: Any
    ) -> tuple[dict[str, str], list[str]]:
        if script is not None:
            program = programs / command.split()[0]
            program.write_text("#!/bin/sh\n" + script)
            program.chmod(0o755)
        host = Host(Account(str(home), "/bin/sh", {"PATH": f"{programs}:/usr/bin:/bin"}), bytes.fromhex(KEY))
        watch = Quota(complete_options(Quota, {"command": command, **options})).with_expanded_paths(host)
        found = watch.inspect(host)
        assert list(home.iterdir()) == []
        return found, watch.remarks(host)

    return looked


def printing(text: str) -> str:
    """A script that prints the text."""
    return f"printf %s {shlex.quote(text)}\n"


def df_of(heading: str, gib: int) -> str:
    """What df prints of a home of 20 GiB with this heading of the sizes, of which so many are a GiB."""
    row = f"/dev/sda1 {20 * gib} {19 * gib} {gib} 95% /home"
    return f"Filesystem {heading} Used Available Use% Mounted on\n{row}\n"


@pytest.mark.parametrize(
    ("claim", "text", "found"),
    [
        (
            "quota, a long name on a line of its own, the soft limit passed",
            QUOTA,
            {
                "USE-001 filer.example.org:/vol/very/long/export/of/homes": "the remaining grace period is 6days",
                "USE-002 filer.example.org:/vol/very/long/export/of/homes": "95000 files of 100000 files (95%)",
                "USE-002 /dev/sdb1": "2100 files of 2000 files (105%), and the remaining grace period is 23:59",
            },
        ),
        (
            "quota -s, the grace period over",
            QUOTA_S,
            {"USE-001 /dev/mapper/work": "the usage is 22.5 GB of 21.5 GB (105%), and the grace period is over"},
        ),
        ("no quotas", QUOTA_NONE, {}),
        (
            "lfs quota, of user and group the tighter",
            LFS,
            {
                "USE-001 /lustre": "101 MB of 102 MB (99%)",
                "USE-002 /lustre": "999 files of 1000 files",
            },
        ),
        (
            "diskusage_report",
            ALLIANCE,
            {
                "USE-001 /scratch (user ada)": "19.0 TB of 20.0 TB (95%)",
                "USE-002 /scratch (user ada)": "(96%)",
            },
        ),
        (
            "dssusrinfo all",
            DSS,
            {
                "USE-001 /dss/dssfs04/lwp-dss-0002/pr12ab/pr12ab-dss-0000": "the usage is 4.0 TB of 4.0 TB (99%)",
                "USE-001 /dss/dsshome1/03/go42tum": "the usage is 95.0 GB of 100 GB (95%)",
            },
        ),
        ("df -h", DF, {"USE-001 /home": "the usage is 20.4 GB of 20.9 GB (97%)"}),
        ("df", df_of("1K-blocks", 1024**2), {"USE-001 /home": "the usage is 20.4 GB of 21.5 GB (95%)"}),
        ("df -P", df_of("1024-blocks", 1024**2), {"USE-001 /home": "the usage is 20.4 GB of 21.5 GB (95%)"}),
        ("df -m", df_of("1M-blocks", 1024), {"USE-001 /home": "the usage is 20.4 GB of 21.5 GB (95%)"}),
    ],
)
def test_what_a_command_prints_is_understood(look: Look, claim: str, text: str, found: dict[str, str]) -> None:
    seen, unseen = look(printing(text))
    assert sorted(seen) == sorted(found), claim
    assert [place for place, words in found.items() if words not in seen[place]] == [], seen
    assert unseen == []


def test_a_soft_limit_that_is_passed_is_worse_and_a_name_that_says_so_is_not(scene: Scene) -> None:
    host = scene.host()
    found = Quota(complete_options(Quota, {}))
    for place, over, grace in (("/a", True, "6days"), ("/b", True, "over"), ("/grace period is", False, "")):
        found._check_usage(Usage(place, "bytes", 99, 100, over, grace), host)
    severities = {place: one.severity for (_rule, place), one in found._problems.items()}
    assert severities == {"/a": "high", "/b": "high", "/grace period is": ""}


def test_the_table_of_cscs_and_the_row_of_it_that_nobody_can_read(look: Look) -> None:
    seen, unseen = look(printing(CSCS), "quota")
    usage = "the usage is 175 TB of 164 TB (106%), and the remaining grace period is 13days"
    assert seen == {
        "USE-001 /capstor/scratch/cscs/ada": usage,
        "USE-002 /capstor/users/cscs/ada": "the usage is 474471 files of 500000 files (94%)",
    }
    assert unseen == ["'quota' printed 1 line in an unknown format"]


@pytest.mark.parametrize(
    ("claim", "script", "unseen"),
    [
        ("absent", None, "is unknown: the command 'quota_of_site' was not found"),
        ("says nothing", "exit 0\n", "'quota_of_site all' printed nothing"),
        ("says something else", "echo 'Traceback: KeyError'; exit 1\n", "has an unknown format"),
        ("asks", "read -r answer && echo $answer\n", "printed nothing"),
        ("does nothing", "", "printed nothing"),
    ],
)
def test_a_command_that_tells_nothing_is_no_silent_pass(
    look: Look, claim: str, script: str | None, unseen: str
) -> None:
    seen, said = look(script)
    assert seen == {}
    assert len(said) == 1, claim
    assert unseen in said[0], claim


def test_a_profile_without_a_command_asks_the_usual_one(look: Look) -> None:
    look('test "$*" = "-s -w" && ' + printing(QUOTA_S), "quota")
    assert sorted(look(None, "")[0]) == ["USE-001 /dev/mapper/work"]


def test_a_command_that_hangs_is_ended_with_all_that_it_started(
    look: Look, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(quota, "SECONDS", 1.0)
    pids = tmp_path / "pids"
    _seen, unseen = look(f"echo $$ > {pids}; sleep 600 & echo $! >> {pids}; wait\n")
    assert "did not end within 1 s" in unseen[0]
    for pid in pids.read_text().split():
        assert gone(int(pid)), pid


def gone(pid: int) -> bool:
    """Whether a process ends soon, or is a corpse."""
    for _wait in range(200):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state == "Z":
            return True
        time.sleep(0.05)
    return False


def test_a_command_gets_its_variables_and_writes_no_bytecode_for_the_probe_as_well(tmp_path: Path) -> None:
    program, seen = tmp_path / "quota_of_site", tmp_path / "seen"
    program.write_text(f"#!/bin/sh\necho $PYTHONDONTWRITEBYTECODE $* >> {seen}\n")
    program.chmod(0o755)
    for kind, option in ((Quota, "command"), (SiteProbe, "quota")):
        environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "USER": "ada"}
        host = Host(Account(str(tmp_path), "/bin/sh", environment), bytes.fromhex(KEY))
        kind(complete_options(kind, {option: f"{program.name} -u $USER $NONE"})).with_expanded_paths(host).inspect(host)
    assert seen.read_text() == "1 -u ada $NONE\n" * 2


def test_a_command_that_never_stops_printing_is_bounded(look: Look) -> None:
    _seen, unseen = look("exec yes\n")
    assert "printed more than 256 kB" in unseen[0]


def test_a_command_gets_no_terminal_and_a_session_of_its_own(tmp_path: Path) -> None:
    answer = program.run_program(
        ["/bin/sh", "-c", "ps -o sid= -p $$; echo $$; test -t 0 || echo none"], os.environ, 10.0
    )
    session, own, terminal = answer.text.split()
    assert session == own
    assert terminal == "none"


def test_a_full_file_system_is_found(look: Look, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    found = os.statvfs(tmp_path)
    enough = found.f_blocks * found.f_frsize
    free = found.f_bavail * found.f_frsize
    percent = 100 - free * 100 // enough - 1  # what is free counts as too little of it
    places = [{"name": "work", "path": str(tmp_path), "bytes": enough}]
    seen, _unseen = look(printing(QUOTA_NONE), places=places, percent=max(percent, 0))
    assert "the file system has" in seen[f"USE-001 {tmp_path}"]
    assert look(printing(QUOTA_NONE), places=[{"name": "w", "path": str(tmp_path), "bytes": 1, "files": 1}])[0] == {}


def test_the_largest_folders_of_a_home_behind_a_link_are_shown_as_the_user_knows_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "real" / "data").mkdir(parents=True)
    (tmp_path / "real" / "data" / "a").write_bytes(os.urandom(10**6))
    home = tmp_path / "home"
    home.symlink_to(tmp_path / "real")
    host = Host(Account(str(home), "/bin/sh", {"PATH": "/usr/bin:/bin"}), bytes.fromhex(KEY))
    places = [{"name": "home", "path": str(home), "bytes": 4 * 10**6}]
    check = Quota(complete_options(Quota, {"command": "true", "places": places})).with_expanded_paths(host)
    sizes = (4096, 4096, 1000, 400, 400, 100, 100, 100, 0, 255)  # 2.5 MB of 4.1 MB are used
    monkeypatch.setattr(os, "statvfs", lambda _path: os.statvfs_result(sizes))
    assert "; the largest folders are ~/data (1.0 MB)" in check.inspect(host)["USE-004 ~"]


def test_an_area_that_is_not_there_is_said_by_its_link(look: Look) -> None:
    assert look(printing(QUOTA_NONE), places=[{"name": "work", "path": "/no/such/area"}]) == ({}, [])


def test_a_sandbox_is_not_asked(scene: Scene) -> None:
    report = run_check(scene, Quota, command="touch /tmp/hpc-onboard-was-run")
    assert report.found == {}
    assert report.remarks == ["a sandbox has no quotas"]


@pytest.mark.parametrize(
    ("word", "binary", "number"),
    [
        ("47 GB", False, 47e9),
        ("50GiB", False, 50 * 1024.0**3),
        ("12.5G", True, 12.5 * 1024**3),
        ("500k", False, 500e3),
        ("0  B", False, 0.0),
        ("unlimited", False, None),
        ("-", True, None),
        ("", True, None),
    ],
)
def test_amounts(word: str, binary: bool, number: float | None) -> None:
    assert parse_amount(word, binary) == number


@given(st.text(), st.sampled_from([QUOTA, CSCS, ALLIANCE, DSS, DF, LFS]), st.integers(0, 3000))
def test_any_text_can_be_read(text: str, table: str, at: int) -> None:
    reading = read_usage(table[:at] + text + table[at:])
    assert all(one.limit > 0 and one.used >= 0 for one in reading.usages)
