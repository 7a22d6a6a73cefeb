# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Links that lead nowhere or to what is purged, trees that a purge has emptied, and files that it will take."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest
from account_scene import HOME, Folder, Link, Plain, Scene, Thing
from ansible_collections.hpc.onboard.plugins.module_utils._scan.walk import Limits
from ansible_collections.hpc.onboard.plugins.module_utils._storage_checks import areas, purged_files
from ansible_collections.hpc.onboard.plugins.module_utils._storage_checks.areas import Areas
from audit_check_runs import check_as_nobody, examine_check, run_check

from tests.effort import turns

pytestmark = turns(2)

SCRATCH = {"name": "scratch", "path": "/scratch/simone", "days": 30, "clock": "atime"}
PURGED = {"purged": [SCRATCH]}
AREA: dict[str, Thing] = {"/scratch": Folder(), "/scratch/simone": Folder()}
DAY = 86400


def below(*names: str) -> dict[str, Thing]:
    """Folders of the account in scratch."""
    return {**AREA, **{f"/scratch/simone/{name}": Folder() for name in names}}


@pytest.mark.parametrize(
    ("claim", "tree", "options", "found"),
    [
        ("nothing is there", {}, PURGED, {}),
        ("a dead link", {"~/old": Link("/gone/away")}, {}, {"LNK-003 ~/old": "the target /gone/away does not exist"}),
        (
            "a dead link to nearby",
            {"~/old": Link("away")},
            {},
            {"LNK-003 ~/old": "the target /home/simone/away does not exist"},
        ),
        (
            "a dead link to purged storage",
            {**AREA, "~/run": Link("/scratch/simone/run")},
            PURGED,
            {"LNK-003 ~/run": "the target /scratch/simone/run does not exist: it was on scratch, which is purged"},
        ),
        *(
            (f"a dead link into {folder}, which each node has for itself", {"~/l": Link(f"{folder}/x")}, {}, {})
            for folder in ("/run/user/1", "/tmp", "/local/job_1", "/var/tmp", "/var/run", "/dev/shm", "/fast/job.7")
        ),
        (
            "a name that begins as such a folder",
            {"~/l": Link("/tmpx/y")},
            {},
            {"LNK-003 ~/l": "the target /tmpx/y does not exist"},
        ),
        ("one of ours is looked at elsewhere", {"~/work": Link("/gone")}, {"own": [{"path": "~/work"}]}, {}),
        ("an editor's lock", {"~/.#notes": Link("simone@login1.1234:5678")}, {}, {}),
        (
            "a dead link in a folder",
            {"~/p": Folder(), "~/p/data": Link("/gone/data"), "~/p/old": Link("missing")},
            {},
            {"LNK-003 ~/p/data": "the target /gone/data does not exist"},
        ),
        (
            "dead links deep in the home and in its settings",
            {
                **{
                    f"~/{name}": Folder()
                    for name in (".config", ".local", ".local/bin", "a", "a/b", "v", "v/lib", "v/bin")
                },
                **{
                    f"~/{name}": Link("/gone")
                    for name in (".config/nvim", ".local/bin/t", "a/b/data", "v/lib/x", "v/bin/y")
                },
                "~/v/pyvenv.cfg": Plain(b""),
            },
            {},
            {f"LNK-003 ~/{name}": "does not exist" for name in (".config/nvim", ".local/bin/t", "a/b/data", "v/bin/y")},
        ),
        (
            "models of a tool on scratch are fine",
            {**AREA, "~/.ollama": Folder(), "~/.ollama/models": Link("/scratch/simone")},
            PURGED,
            {},
        ),
        (
            "a dead link in a cache",
            {"~/.cache": Folder(), "~/.cache/huggingface": Link("/gone/hf"), "~/.cache/x": Link("gone")},
            {},
            {"LNK-003 ~/.cache/huggingface": "the target /gone/hf does not exist"},
        ),
        (
            "a dead link into another folder of the home",
            {"~/p": Folder(), "~/p/data": Link("../sets/x"), "~/p/q": Folder(), "~/p/q/d": Link("../x")},
            {},
            {"LNK-003 ~/p/data": "the target /home/simone/sets/x does not exist"},
        ),
        ("a loop", {"~/a": Link("b"), "~/b": Link("a")}, {}, {"LNK-005 ~/a": "is circular", "LNK-005 ~/b": "circular"}),
        ("a loop in a folder", {"~/r": Folder(), "~/r/l": Link("l")}, {}, {"LNK-005 ~/r/l": "is circular"}),
        (
            "a name with a word for what should last",
            {**AREA, "~/paper_results2": Link("/scratch/simone"), "~/old_results": Link("/scratch/simone")},
            PURGED,
            {"LNK-005 ~/paper_results2": "on scratch, where files are deleted after 30 days"},
        ),
        ("a loop of ours", {"~/work": Link("work")}, {"own": [{"path": "~/work"}]}, {}),
        ("a link to what is there", {"/x": Folder(), "~/x": Link("/x")}, PURGED, {}),
        ("a link to scratch by its name", {**AREA, "~/scratch": Link("/scratch/simone")}, PURGED, {}),
        ("a cache on scratch is fine", {**AREA, "~/.cache": Link("/scratch/simone")}, PURGED, {}),
        (
            "a conda on scratch is not",
            {**below("c"), "/scratch/simone/c/f": Plain(b""), "~/miniconda3": Link("/scratch/simone/c")},
            PURGED,
            {"LNK-005 ~/miniconda3": "on scratch, where files are deleted after 30 days"},
        ),
        (
            "a name of the site's that should last",
            {**AREA, "~/dss": Link("/scratch/simone")},
            {**PURGED, "kept": ["dss"]},
            {"LNK-005 ~/dss": "scratch"},
        ),
        ("a tree with files", {**below("a", "a/b"), "/scratch/simone/a/b/f": Plain(b"")}, PURGED, {}),
        (
            "a tree without files",
            below("a", "a/b", "a/c"),
            PURGED,
            {"USE-003 /scratch/simone/a": "this folder contains 3 folders, but no files: on scratch, files are"},
        ),
        ("one empty folder says nothing", below("a"), PURGED, {}),
        (
            "folders and dead links are left",
            {**below("a"), "/scratch/simone/a/last": Link("gone")},
            PURGED,
            {"USE-003 /scratch/simone/a": "this folder contains 1 folder and 1 dead link"},
        ),
        ("links to elsewhere are no sign", {**below("a", "a/b"), "/scratch/simone/a/l": Link("/gone")}, PURGED, {}),
        (
            "what the roles make may be empty",
            below("apptainer", "apptainer/tmp"),
            {**PURGED, "made": [{"path": "/scratch/simone/apptainer"}, {"path": "/scratch/simone/apptainer/tmp"}]},
            {},
        ),
    ],
)
def test_what_is_found(
    scene: Scene, claim: str, tree: dict[str, Thing], options: dict[str, Any], found: dict[str, str]
) -> None:
    scene.make(tree)
    scene.environment["TMPDIR"] = "/fast/job.7"
    report = run_check(scene, Areas, **options)
    assert list(report.found) == sorted(found), claim
    assert [name for name, words in found.items() if words not in report.found[name]] == [], report.found
    assert report.remarks == []


def aged(scene: Scene, path: str, accessed: float, written: float) -> None:
    """A file of the account that was accessed and written so many days ago."""
    scene.make({path: Plain(b"x")})
    now = time.time()
    os.utime(scene.at(path), (now - accessed * DAY, now - written * DAY))


@pytest.mark.parametrize(
    ("clock", "accessed", "written", "text"),
    [
        ("atime", 22.9, 100, None),
        ("atime", 24, 1, "1 file will be purged within 7 days, the first one on "),
        ("atime", 31, 1, "1 file will be purged within 7 days, the first one at the next purge"),
        ("age", 1, 24, "1 file will be purged within 7 days, the first one on "),
        ("age", 100, 22.9, None),
        ("ctime_and_atime", 100, 100, None),  # its inode was changed a moment ago
    ],
)
def test_files_whose_time_is_nearly_up(
    scene: Scene, clock: str, accessed: float, written: float, text: str | None
) -> None:
    scene.make(AREA)
    aged(scene, "/scratch/simone/f", accessed, written)
    report = run_check(scene, Areas, purged=[{**SCRATCH, "clock": clock}])
    assert report.found.get("USE-003 /scratch/simone", "").startswith(text or "")
    assert bool(report.found) == bool(text)


def test_the_nearest_date_is_said(scene: Scene) -> None:
    scene.make(AREA)
    aged(scene, "/scratch/simone/late", 25, 0)
    aged(scene, "/scratch/simone/soon", 28, 0)
    day = time.strftime("%Y-%m-%d", time.gmtime(scene.at("/scratch/simone/soon").stat().st_atime + 30 * DAY))
    text = run_check(scene, Areas, **PURGED).found["USE-003 /scratch/simone"]
    assert text == f"2 files will be purged within 7 days, the first one on {day}"


def test_the_later_of_two_clocks_counts() -> None:
    status = os.stat_result((0o100644, 1, 1, 1, 0, 0, 0, 100, 300, 200))
    assert [purged_files.last_use(status, clock) for clock in ("atime", "age", "ctime_and_atime")] == [100, 300, 200]


def test_an_area_that_is_larger_than_what_is_looked_at(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(areas, "AREA_LIMITS", Limits(entries=5))
    scene.make(below("a", "a/b", "c", "c/d", "c/d/e"))
    scene.make({"/scratch/simone/c/d/e/f": Plain(b"")})
    report = run_check(scene, Areas, **PURGED)
    assert list(report.found) == ["USE-003 /scratch/simone/a"]
    assert report.remarks == ["/scratch/simone contains too many files to check them all; the rest is unknown"]


def test_an_area_behind_a_link_is_looked_at(scene: Scene) -> None:
    scene.make({"/real": Folder(), "/real/a": Folder(), "/real/a/b": Folder(), "/scratch": Folder()})
    scene.make({"/scratch/simone": Link("/real")})
    assert list(run_check(scene, Areas, **PURGED).found) == ["USE-003 /scratch/simone/a"]


def test_a_variable_that_nobody_knows_is_said(scene: Scene) -> None:
    scene.make({"~/old": Link("/gone")})
    report = run_check(scene, Areas, purged=[{**SCRATCH, "path": "$SCRATCH"}])
    assert list(report.found) == ["LNK-003 ~/old"]
    assert "does not set $SCRATCH" in report.remarks[0]


def test_more_names_than_are_looked_at(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(areas, "LINK_LIMITS", areas.LINK_LIMITS._replace(entries=2))
    scene.make({f"~/l{number}": Link("/gone") for number in range(3)})
    report = run_check(scene, Areas)
    assert len(report.found) == 2
    assert report.remarks == ["~ contains too many entries; only the first 2 were checked"]


def test_what_may_not_be_opened_is_said_and_not_called_empty() -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "area/a/b").mkdir(parents=True)
        (root / "area/a/shut").mkdir(mode=0)
        root.chmod(0o755)

        found, unseen = check_as_nobody(Areas, purged=[{**SCRATCH, "path": f"{root}/area"}])
        (root / "area/a/shut").chmod(0o700)
        assert found == {}
        assert unseen == [f"{root}/area could not be checked completely: {root}/area/a/shut (permission denied)"]


def test_what_storage_links_has_just_made_is_in_order(scene: Scene) -> None:
    scene.make({"/scratch": Folder()})
    scene.run(
        {"kind": "directory", "path": "/scratch/simone", "root": "/scratch"},
        {"kind": "storage_link", "path": "~/scratch", "target": "/scratch/simone"},
    )
    assert examine_check(scene, Areas, **PURGED)["status"] == "ok"
    assert scene.whole("~") == HOME


def test_an_area_that_cannot_be_written_is_found_once() -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        root.chmod(0o755)
        for name, mode in (("open", 0o777), ("frozen", 0o555), ("frozen/mine", 0o555)):
            (root / name).mkdir()
            (root / name).chmod(mode)

        written = [{"path": f"{root}/{name}"} for name in ("open", "frozen/mine", "frozen", "gone")]
        assert check_as_nobody(Areas, written=written)[0] == {
            f"DIR-003 {root}/frozen": "you have no write permission for this folder, "
            "which belongs to another user (mode 0555)"
        }


def test_an_area_that_cannot_be_looked_at_hides_nothing_else(scene: Scene) -> None:
    area = {**SCRATCH, "path": "/" + "x" * 300}  # its error is that of a folder that may not be entered
    scene.make({"~/old": Link("/gone/away")})
    report = run_check(scene, Areas, purged=[area], made=[{"path": area["path"]}])
    assert list(report.found) == ["LNK-003 ~/old"]
    assert len(report.remarks) == 1


def test_a_dead_link_to_a_name_that_is_not_utf_8_is_offered_for_removal(scene: Scene) -> None:
    scene.at("~/old").symlink_to(os.fsdecode(b"/gone/\xe9"))
    report = run_check(scene, Areas)
    assert list(report.found) == ["LNK-003 ~/old"]
    assert [one["kind"] for one in report.document["evidence"]["fixes"].values()] == ["leftover_fix"]
