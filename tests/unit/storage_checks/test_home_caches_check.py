# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Caches in the home: content and size decide, and where the variables lead."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
from account_scene import HOME, KEY, Folder, Link, Plain, Scene, Thing
from ansible_collections.hpc.onboard.plugins.module_utils._core.account import Account
from ansible_collections.hpc.onboard.plugins.module_utils._core.host import Host
from ansible_collections.hpc.onboard.plugins.module_utils._scan import walk as _walk
from ansible_collections.hpc.onboard.plugins.module_utils._storage_checks.home_caches import HomeCaches
from audit_check_runs import check_as_nobody, complete_options, run_check

AREA: dict[str, Thing] = {"/work": Folder(), "/work/p": Folder()}


def folder(path: str) -> dict[str, Thing]:
    """A folder below the home with those above it."""
    parts = path.removeprefix("~/").split("/")
    return {"~/" + "/".join(parts[: at + 1]): Folder() for at in range(len(parts))}


def cache(path: str, *sizes: int) -> dict[str, Thing]:
    """A cache in the home with files of these sizes."""
    return {**folder(path), **{f"{path}/f{at}": Plain(b"x" * number) for at, number in enumerate(sizes)}}


WANTED = {"apptainer": "/work/p/apptainer"}
EVERY = {"*": "/work/p"}


@pytest.mark.parametrize(
    ("claim", "tree", "environment", "options", "found"),
    [
        ("nothing is there", {}, {}, {"wanted": EVERY}, {}),
        ("a folder with the name of one", folder("~/a.sif"), {}, {}, {}),
        ("an empty folder", folder("~/.apptainer/cache/blob"), {}, {"wanted": WANTED}, {}),
        ("files without content", cache("~/.apptainer/cache", 0, 0), {}, {"wanted": WANTED}, {}),
        (
            "the site wants it elsewhere",
            cache("~/.apptainer/cache", 1000, 2000),
            {},
            {"wanted": WANTED},
            {"~/.apptainer/cache": "the apptainer cache contains 2 files, 3.0 kB; this site wants the cache in"},
        ),
        ("no wish of the site, and small", cache("~/.apptainer/cache", 1000), {}, {}, {}),
        ("another tool than the site's", cache("~/.cache/enroot", 1000), {}, {"wanted": WANTED}, {}),
        (
            "big by size",
            cache("~/.cache/pip", 700, 400),
            {},
            {"big_bytes": 1000},
            {"~/.cache/pip": "the pip cache contains 2 files, 1.1 kB"},
        ),
        (
            "big by number",
            cache("~/.cache/uv", 1, 1, 1),
            {},
            {"big_files": 3},
            {"~/.cache/uv": "the uv cache contains 3 files, 3 bytes"},
        ),
        (
            "a site that wants all of them off",
            cache("~/.cache/torch", 5),
            {},
            {"wanted": EVERY},
            {"~/.cache/torch": "/work/p"},
        ),
        (
            "one file is one file",
            cache("~/.local/share/enroot", 5),
            {},
            {"wanted": {"enroot": "/work"}},
            {"~/.local/share/enroot": "the enroot containers contain 1 file, 5 bytes; this"},
        ),
        (
            "containers that enroot does not list any more",
            {**AREA, **cache("~/.local/share/enroot", 5)},
            {"ENROOT_DATA_PATH": "/work/p"},
            {"wanted": {"enroot": "/work"}},
            {"~/.local/share/enroot": "the enroot containers contain 1 file, 5 bytes that enroot no longer uses"},
        ),
        ("of a tool that the table lacks, and small", cache("~/.cache/strange", 10**6), {}, {"wanted": EVERY}, {}),
        (
            "of a tool that the table lacks",
            cache("~/.cache/strange", 6 * 10**7),
            {},
            {"wanted": EVERY},
            {"~/.cache/strange": "the strange cache contains 1 file, 60.0 MB; this site wants the cache in /work/p"},
        ),
        (
            "a variable that a link leads back into the home",
            {**AREA, "/work/p/pip": Link(f"{HOME}/.pip-moved"), "~/.pip-moved": Folder()},
            {"PIP_CACHE_DIR": "/work/p/pip"},
            {"wanted": EVERY},
            {"/work/p/pip": "the pip cache is a link to ~/.pip-moved in the home directory; this site wants"},
        ),
        (
            "a Python environment",
            {**cache("~/venvs/a/lib", 6 * 10**7), "~/venvs/a/pyvenv.cfg": Plain(b"x")},
            {},
            {"wanted": EVERY},
            {"~/venvs/a": "the Python environment contains 2 files, 60.0 MB; this site wants the environment in"},
        ),
        ("too small for a word", cache("~/.cache/pip", 999), {}, {"wanted": EVERY, "least_bytes": 1000}, {}),
        (
            "a folder of containers",
            {**folder("~/old/tf/etc"), **folder("~/old/tf/usr"), "~/old/tf/etc/rc": Plain(b"")},
            {},
            {},
            {"~/old/tf": "this folder is an unpacked container"},
        ),
        (
            "containers deeper in the home",
            {**folder("~/p/boxes/tf/etc"), **folder("~/p/boxes/tf/usr"), "~/p/boxes/tf/etc/rc": Plain(b"")}
            | {**folder("~/p/boxes/x/etc"), **folder("~/p/boxes/x/usr"), "~/p/boxes/x/etc/rc": Plain(b"")},
            {},
            {},
            {"~/p/boxes": "this folder contains unpacked containers (such as tf)"},
        ),
        (
            "containers in the folder that enroot takes by itself",
            {f"~/{name}": Folder() for name in ("x", ".local", ".local/share")}
            | {**folder("~/.local/share/enroot/tf/etc"), **folder("~/.local/share/enroot/tf/usr")}
            | {"~/.local/share/enroot/tf/etc/os-release": Plain(b"")},
            {},
            {},
            {"~/.local/share/enroot/tf": "this folder is an unpacked container"},
        ),
        (
            "data of a tool without a variable",
            cache("~/.ivy2/cache", 6 * 10**7),
            {},
            {"wanted": EVERY},
            {"~/.ivy2": "the Ivy data contains 1 file, 60.0 MB; this site wants the data in /work/p"},
        ),
        ("little data of such a tool", cache("~/.docker", 10**6), {}, {"wanted": EVERY}, {}),
        (
            "vLLM's cache has a variable",
            cache("~/.cache/vllm", 2 * 10**6),
            {},
            {"wanted": EVERY},
            {"~/.cache/vllm": "the vLLM cache contains 1 file, 2.0 MB; this site wants the cache in /work/p"},
        ),
        (
            "the folder of containers in use",
            {**folder("~/old/tf/etc"), **folder("~/old/tf/usr"), "~/old/tf/etc/rc": Plain(b"")},
            {"ENROOT_DATA_PATH": f"{HOME}/old"},
            {},
            {},
        ),
        (
            "a link that leads out",
            {**AREA, "/work/p/f": Plain(b"x" * 99), "~/.cache": Link("/work/p"), "/work/p/pip": Folder()},
            {},
            {"wanted": EVERY, "big_bytes": 1},
            {},
        ),
        (
            "a link to elsewhere in the home",
            {**cache("~/big", 10), **folder("~/.cache"), "~/.cache/pip": Link("~/big")},
            {},
            {"wanted": EVERY},
            {"~/big": "the pip cache contains 1 file"},
        ),
        (
            "the variable leads into the home",
            cache("~/images/cache", 10),
            {"APPTAINER_CACHEDIR": f"{HOME}/images"},
            {"wanted": WANTED},
            {"~/images/cache": "contains 1 file, 10 bytes ($APPTAINER_CACHEDIR points to this folder)"},
        ),
        (
            "the variable has a list of folders",
            {**cache("~/j", 10), **cache("~/g/pkg", 10), **cache("~/p", 10)},
            {"JULIA_DEPOT_PATH": f"{HOME}/j:", "GOPATH": f"{HOME}/g:/x", "CONDA_PKGS_DIRS": f"{HOME}/p,/x"},
            {"wanted": EVERY},
            {"~/j": "the julia packages", "~/g/pkg": "the go cache", "~/p": "the conda packages"},
        ),
        (
            "the variable leads out, and the old folder is left",
            {**AREA, **cache("~/.apptainer/cache", 10)},
            {"APPTAINER_CACHEDIR": "/work/p"},
            {"wanted": WANTED},
            {"~/.apptainer/cache": "that apptainer no longer uses, because $APPTAINER_CACHEDIR names another folder"},
        ),
        (
            "the variable that moves all of them",
            {**cache("~/arch/cache/pip", 10), **folder("~/.cache/pip")},
            {"XDG_CACHE_HOME": f"{HOME}/arch/cache"},
            {"wanted": EVERY},
            {"~/arch/cache/pip": "$XDG_CACHE_HOME"},
        ),
        (
            "a key beside a cache is none",
            {**folder("~/.cache/huggingface"), "~/.cache/huggingface/token": Plain(b"k", 0o600)},
            {},
            {"wanted": EVERY},
            {},
        ),
        ("a variable that names no folder", {}, {"PIP_CACHE_DIR": "off", "HF_HOME": HOME}, {"wanted": EVERY}, {}),
        ("a loop in place of a cache", {**folder("~/.cache"), "~/.cache/pip": Link("pip")}, {}, {"wanted": EVERY}, {}),
    ],
)
def test_what_is_found(
    scene: Scene,
    claim: str,
    tree: dict[str, Thing],
    environment: dict[str, str],
    options: dict[str, Any],
    found: dict[str, str],
) -> None:
    scene.environment.update(environment)
    scene.make(tree)
    report = run_check(scene, HomeCaches, **options)
    by_rule = {f"{'IMG-004' if 'container' in words else 'ENV-001'} {place}": words for place, words in found.items()}
    assert sorted(report.found) == sorted(by_rule), claim
    assert [place for place, words in by_rule.items() if words not in report.found[place]] == [], report
    assert report.remarks == []


def test_what_no_program_makes_again_is_told_apart(scene: Scene) -> None:
    scene.make({**cache("~/.local/share/wandb", 5), **cache("~/.cache/pip", 5)})
    report = run_check(scene, HomeCaches, wanted=EVERY)
    assert report.document["evidence"]["cases"] == {"ENV-001 ~/.local/share/wandb": "not_made_again"}


def test_links_pipes_and_loops_inside_a_cache_are_not_followed(scene: Scene) -> None:
    scene.make({**AREA, "/work/p/foreign": Plain(b"x" * 5000), **cache("~/.cache/pip", 10)})
    scene.make({"~/.cache/pip/out": Link("/work/p"), "~/.cache/pip/up": Link("..")})
    os.mkfifo(scene.at("~/.cache/pip/pipe"))
    assert "1 file, 10 bytes" in run_check(scene, HomeCaches, wanted=EVERY).found["ENV-001 ~/.cache/pip"]


def test_a_huge_cache_is_counted_as_far_as_it_may_be(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ansible_collections.hpc.onboard.plugins.module_utils._storage_checks.home_caches.ENTRIES", 5)
    scene.make(cache("~/.cache/pip", *[10] * 9))
    assert "at least 5 files, 50 bytes" in run_check(scene, HomeCaches, big_files=5).found["ENV-001 ~/.cache/pip"]


def test_a_login_shell_that_does_not_answer_is_said(tmp_path: Path) -> None:
    (tmp_path / ".cache/pip").mkdir(parents=True)
    (tmp_path / ".cache/pip/f").write_bytes(b"x")
    watch = HomeCaches(complete_options(HomeCaches, {"wanted": EVERY}))
    host = Host(Account(str(tmp_path), "/no/such/shell"), bytes.fromhex(KEY))
    bound = watch.with_expanded_paths(host)
    assert list(bound.inspect(host)) == ["ENV-001 ~/.cache/pip"]
    assert bound.remarks(host) == [
        "the variables that set where caches are stored cannot be read: the login shell /no/such/shell cannot be"
        " started."
        " Ask the site to set another login shell"
    ]


def test_a_walk_ends_in_time_and_says_so(scene: Scene) -> None:
    scene.make(cache("~/a/b", 1, 1))
    walk = _walk.Walk(scene.host(), _walk.Limits(100, -1.0))
    assert list(walk.below(f"{HOME}/a")) == []
    assert walk.cut == "time"
    assert _walk.format_walked(7, "file", walk) == "files"


def test_a_walk_goes_no_deeper_than_it_may(scene: Scene) -> None:
    scene.make(cache("~/a/b/c/d", 1))
    walk = _walk.Walk(scene.host(), _walk.Limits(depth=2))
    assert [one.path for one in walk.below(f"{HOME}/a")] == [f"{HOME}/a/b", f"{HOME}/a/b/c", f"{HOME}/a/b/c/d"]
    assert walk.skipped.sentences() == ["not checked: ~/a/b/c/d (too deep)"]


@pytest.mark.parametrize(
    ("tree", "place", "said"),
    [
        ({"~/a.sqsh": Plain(b"x" * 2000)}, "~/a.sqsh", "the image uses 2.0 kB"),
        ({**folder("~/images"), "~/images/a.sif": Plain(b"xx")}, "~/images/a.sif", "the image uses 2 bytes"),
    ],
)
def test_images_in_the_home_are_found(tmp_path: Path, tree: dict[str, Thing], place: str, said: str) -> None:
    scene = Scene(tmp_path / "cluster")
    scene.make(tree)
    account = Account(HOME, "/bin/bash", {})
    host = Host(account, bytes.fromhex(KEY), str(scene.root))
    assert HomeCaches(HomeCaches.with_defaults({})).inspect(host) == {f"IMG-003 {place}": said}


def test_a_variable_with_an_unusable_path_hides_nothing_else(scene: Scene) -> None:
    scene.make(cache("~/.cache/pip", 10))
    scene.environment = {"HF_HOME": "/" + "x" * 300}  # its error is that of a folder that may not be entered
    report = run_check(scene, HomeCaches, wanted=EVERY)
    assert list(report.found) == ["ENV-001 ~/.cache/pip"]
    assert "ENAMETOOLONG" in report.remarks[0]


def test_a_folder_that_may_not_be_opened_hides_nothing_else() -> None:
    with tempfile.TemporaryDirectory() as home:
        Path(home).chmod(0o755)
        (Path(home) / "closed").mkdir(mode=0)
        for name in ("tf/etc", "tf/usr"):
            (Path(home) / name).mkdir(parents=True)
            (Path(home) / name / "os-release").write_text("x")

        found, _unseen = check_as_nobody(HomeCaches, home)
        (Path(home) / "closed").chmod(0o700)
        assert list(found) == ["IMG-004 ~/tf"]


def test_a_link_to_a_folder_of_the_system_is_no_container(scene: Scene) -> None:
    scene.make({"/root": Folder(), **{f"/root/{name}": Folder() for name in ("etc", "usr")}})
    scene.make({"/root/etc/os-release": Plain(b"x"), "~/system": Link("/root")})
    assert run_check(scene, HomeCaches).found == {}
