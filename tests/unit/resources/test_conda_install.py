# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A conda as it is found, wanted, refused and previewed. The installation itself is in tests/integration."""

from __future__ import annotations

import os
from typing import Any

import pytest
from account_scene import Folder, Link, Plain, Scene, Thing
from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.module_utils._core.files import LARGEST
from ansible_collections.hpc.onboard.plugins.module_utils._formats import condarc, origin_mark
from ansible_collections.hpc.onboard.plugins.module_utils._resources.conda_install import CondaInstall
from resource_tables import Case, judge, table

from tests.effort import turns

pytestmark = turns(2)

MACHINE = os.uname().machine
INSTALLER = {"url": "https://example.org/Miniforge3.sh", "sha256": "0" * 64}
PREFIX = "/data/ada/conda"
CONDA: dict[str, Any] = {
    "prefix": PREFIX,
    "root": "/data",
    "distribution": "miniforge",
    "version": "26.1.1-3",
    "installers": {MACHINE: INSTALLER},
}
AREA: dict[str, Thing] = {"/data": Folder()}
MADE = Plain(f"miniforge 26.1.1-3 for {MACHINE}".encode())
SETTINGS = condarc.render(PREFIX, ["conda-forge"], "26.1.1-3")
RESULT: dict[str, Thing] = {
    PREFIX: Folder(),
    f"{PREFIX}/.hpc.onboard": MADE,
    f"{PREFIX}/condarc.d": Folder(),
    f"{PREFIX}/condarc.d/hpc.onboard.yml": Plain(SETTINGS.encode()),
}
THERE: dict[str, Thing] = {**AREA, "/data/ada": Folder(0o700), **RESULT}
DEMO = {"name": "demo", "content": "dependencies: [python]\n"}
DEMO_THERE: dict[str, Thing] = {
    f"{PREFIX}/envs": Folder(),
    f"{PREFIX}/envs/demo": Folder(),
    f"{PREFIX}/envs/demo/.hpc.onboard": Plain(origin_mark.hash_text(DEMO["content"]).encode()),
}
HALF = "/data/ada/.conda.hpc.onboard"


OWN = {"prefix": PREFIX, "distribution": "own"}
MINE: dict[str, Thing] = {
    **AREA,
    **{path: Folder() for path in ("/data/ada", PREFIX, *(f"{PREFIX}/{one}" for one in ("conda-meta", "bin", "etc")))},
    **{f"{PREFIX}/etc/profile.d": Folder(), f"{PREFIX}/etc/profile.d/conda.sh": Plain(b"exit 9\n")},
    **{
        f"{PREFIX}/conda-meta/history": Plain(b"==> 2024-01-01 <==\n"),
        f"{PREFIX}/bin/conda": Plain(b"exit 9\n", 0o755),
    },
}


def other(machine: str) -> dict[str, Any]:
    """The same for another machine only."""
    return {**CONDA, "installers": {machine: INSTALLER}}


@table(
    Case("a conda of the user's is used as it is", MINE, OWN, "ok"),
    Case(
        "one that is behind a link is not", {**MINE, "/data/c": Link(PREFIX)}, {**OWN, "prefix": "/data/c"}, "blocked"
    ),
    Case(
        "a folder that is no conda is not",
        {**MINE, f"{PREFIX}/x": Folder()},
        {**OWN, "prefix": f"{PREFIX}/x"},
        "blocked",
    ),
    Case("one that is missing is not made", AREA, OWN, "blocked", "does not exist"),
    Case("one that hpc-onboard made is not the user's", {**MINE, f"{PREFIX}/.hpc.onboard": MADE}, OWN, "blocked"),
    Case(
        "a conda of the user's is not taken out",
        MINE,
        {**OWN, "state": "absent"},
        "blocked",
        "is your own conda installation",
    ),
    Case("a missing one is installed", AREA, CONDA, "missing", left={"/data/ada": Folder(0o700), **RESULT}),
    Case("one that is there stays", THERE, CONDA, "ok"),
    Case(
        "one of a newer version stays",
        {**THERE, f"{PREFIX}/.hpc.onboard": Plain(f"miniforge 27.1 for {MACHINE}".encode())},
        CONDA,
        "ok",
    ),
    Case(
        "one of an older version is brought up",
        {**THERE, f"{PREFIX}/.hpc.onboard": Plain(f"miniforge 25.9.1-0 for {MACHINE}".encode())},
        CONDA,
        "different",
        left={f"{PREFIX}/.hpc.onboard": MADE},
    ),
    Case(
        "another distribution is kept",
        {**THERE, f"{PREFIX}/.hpc.onboard": Plain(f"miniconda py313_26.1.1-1 for {MACHINE}".encode())},
        CONDA,
        "blocked",
        "set another prefix",
    ),
    Case(
        "one of another machine is kept",
        {**THERE, f"{PREFIX}/.hpc.onboard": Plain(b"miniforge 26.1.1-3 for vax")},
        CONDA,
        "blocked",
        "for vax",
    ),
    Case(
        "one that we did not make is kept",
        {**AREA, "/data/ada": Folder(), PREFIX: Folder(), f"{PREFIX}/bin": Folder()},
        CONDA,
        "blocked",
        "was not created by hpc-onboard",
    ),
    Case(
        "a file in the way is kept",
        {**AREA, "/data/ada": Folder(), PREFIX: Plain(b"x")},
        CONDA,
        "blocked",
        "was not created by hpc-onboard",
    ),
    Case("the site's area is not made", {}, CONDA, "blocked", "only the site can create it"),
    Case("there is no installer for this machine", AREA, other("vax"), "blocked", "available: vax"),
    Case("a system that is too old is said", AREA, {**CONDA, "glibc": "99.1"}, "blocked", "needs glibc 99.1"),
    Case(
        "settings changed by hand are kept",
        {**THERE, f"{PREFIX}/condarc.d/hpc.onboard.yml": Plain(SETTINGS.replace("forge", "mine").encode())},
        CONDA,
        "blocked",
        "was changed by hand",
    ),
    Case(
        "other channels are written",
        THERE,
        {**CONDA, "channels": ["bioconda"]},
        "different",
        left={f"{PREFIX}/condarc.d/hpc.onboard.yml": Plain(condarc.render(PREFIX, ["bioconda"], "26.1.1-3").encode())},
    ),
    Case(
        "an environment is made",
        THERE,
        {**CONDA, "environments": [DEMO]},
        "different",
        left=DEMO_THERE,
    ),
    Case("an environment that is there stays", {**THERE, **DEMO_THERE}, {**CONDA, "environments": [DEMO]}, "ok"),
    Case(
        "an environment that we did not make is kept",
        {**THERE, f"{PREFIX}/envs": Folder(), f"{PREFIX}/envs/demo": Folder()},
        {**CONDA, "environments": [DEMO]},
        "blocked",
        "the environment demo already exists and was not created by hpc-onboard",
    ),
    Case("what is absent stays so", AREA, {**CONDA, "state": "absent"}, "ok"),
    Case(
        "one of ours is removed",
        {**THERE, **DEMO_THERE},
        {**CONDA, "state": "absent"},
        "extra",
        left=dict.fromkeys([*RESULT, *DEMO_THERE]),
    ),
    Case(
        "one that holds environments of the user's is kept",
        {**THERE, f"{PREFIX}/envs": Folder(), f"{PREFIX}/envs/mine": Folder()},
        {**CONDA, "state": "absent"},
        "blocked",
        "the environment mine",
    ),
    Case(
        "a link to a folder that is not ours is kept",
        {**AREA, "/data/ada": Folder(), "/data/x": Folder(), PREFIX: Link("/data/x")},
        CONDA,
        "blocked",
        "not created by hpc-onboard",
    ),
)
def test_conda_install(scene: Scene, case: Case) -> None:
    judge(scene, "conda_install", case)


def test_what_was_half_made_by_us_is_no_obstacle(scene: Scene) -> None:
    scene.make({**AREA, "/data/ada": Folder(), PREFIX: Folder(), f"{PREFIX}/bin": Folder()})
    scene.make({HALF: Folder(0o700), f"{HALF}/making": Plain(PREFIX.encode())})
    outcome = scene.run({"kind": "conda_install", **CONDA}, check=True)[0]
    assert (outcome["status"], outcome["before"]) == ("different", {"is": "unfinished"})


def test_what_a_removal_has_left_goes_with_the_next_one(scene: Scene) -> None:
    scene.make({**AREA, "/data/ada": Folder(), PREFIX: Folder(), f"{PREFIX}/envs": Folder()})
    scene.make({f"{PREFIX}/envs/demo": Folder(), HALF: Folder(0o700), f"{HALF}/making": Plain(PREFIX.encode())})
    outcome = scene.run({"kind": "conda_install", **CONDA, "state": "absent"})[0]
    assert outcome["status"] == "extra", outcome["reason"]
    assert not scene.at(PREFIX).exists()


def test_the_architecture_can_be_part_of_the_prefix(scene: Scene) -> None:
    scene.make(AREA)
    assert scene.run({"kind": "conda_install", **CONDA, "prefix": PREFIX + "-{machine}"})[0]["status"] == "missing"
    assert scene.at(f"{PREFIX}-{MACHINE}/.hpc.onboard").exists()


def test_a_start_up_file_that_cannot_be_read_does_not_fail_the_conda(scene: Scene) -> None:
    scene.make({**THERE, "~/.login": Plain(b"#" * (LARGEST + 1)), "~/.bashrc": Plain(b"x\n")})
    outcome = scene.run({"kind": "conda_install", **CONDA})[0]
    assert (outcome["status"], outcome["remarks"]) == ("ok", [])


@pytest.mark.parametrize("file", [".bashrc", ".zshrc", ".config/fish/config.fish"])
def test_a_block_of_conda_init_is_reported_and_stays(scene: Scene, file: str) -> None:
    text = b"# mine\n# >>> conda initialize >>>\neval\n# <<< conda initialize <<<\n"
    scene.at(f"~/{file}").parent.mkdir(parents=True, exist_ok=True)
    scene.make({**THERE, f"~/{file}": Plain(text)})
    outcome = scene.run({"kind": "conda_install", **CONDA})[0]
    assert outcome["status"] == "ok"
    assert [remark.split(" ")[0] for remark in outcome["remarks"]] == [f"~/{file}"]
    assert scene.at(f"~/{file}").read_bytes() == text


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"prefix": "relative"}, "prefix"),
        ({"prefix": "/data/with blank"}, "blank"),
        ({"prefix": "~/.ssh/conda"}, ".ssh"),
        ({"version": "1; rm"}, "version"),
        ({"installers": {MACHINE: {"url": "file:///etc/passwd", "sha256": "0" * 64}}}, "url"),
        ({"installers": {MACHINE: {"url": "https://x/`id`", "sha256": "0" * 64}}}, "url"),
        ({"installers": {MACHINE: {"url": "https://x/y", "sha256": "0" * 63}}}, "sha256"),
        ({"channels": ['"x']}, "channels"),
        ({"environments": [{"name": "../up", "content": "x"}]}, "environments: name: "),
        ({"environments": [{"name": "a", "content": " "}]}, "no content"),
        ({"proxies": {"ftp": "x"}}, "proxies"),
        ({"proxies": {"http": "x y"}}, "proxies"),
    ],
)
def test_a_wrong_option_is_refused_before_anything_is_touched(options: dict[str, Any], reason: str) -> None:
    with pytest.raises(AccountError, match=reason):
        CondaInstall(CondaInstall.with_defaults({**CONDA, **options}))


@pytest.mark.parametrize(
    ("version", "name"),
    [
        ("26.1.1-3", "auto_activate"),
        ("py313_26.1.1-1", "auto_activate"),
        ("25.9.1-0", "auto_activate_base"),
        ("py39_4.12.0", "auto_activate_base"),
    ],
)
def test_nothing_is_activated_by_itself_whatever_the_version(version: str, name: str) -> None:
    text = condarc.render("/p", ["conda-forge"], version)
    assert text.splitlines()[-1] == f"{name}: false"
    assert origin_mark.is_unchanged(text)


@pytest.mark.parametrize(
    ("wanted", "said"), [({"bytes": 10**18}, ": the file system has "), ({"files": 10**15}, "files")]
)
def test_too_little_room_is_said(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, wanted: dict[str, int], said: str
) -> None:
    """The file system is one at rest: on a busy one the room that is left differs from look to look."""
    found = os.statvfs("/")
    monkeypatch.setattr(os, "statvfs", lambda _path: found)
    judge(scene, "conda_install", Case(said, AREA, {**CONDA, **wanted}, "blocked", said))


@pytest.mark.parametrize("through", ["", "~/area"])
def test_room_is_previewed_below_folders_and_links_that_the_same_run_would_make(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, through: str
) -> None:
    """It is measured where the area is, and not where the link is going to lie."""
    scene.make(AREA)
    measured, found = scene.root / "measured", os.statvfs("/")

    def seen(path: str) -> os.statvfs_result:
        measured.write_text(path)  # by the engine's child
        return found

    monkeypatch.setattr(os, "statvfs", seen)
    area = {"kind": "directory", "path": "/data/me", "root": "/data"}
    link = {"kind": "storage_link", "path": "~/area", "target": "/data/me"}
    conda = {**CONDA, "kind": "conda_install", "prefix": f"{through or '/data/me'}/deep/conda"}
    outcomes = scene.run(area, link, conda, check=True)
    assert [(one["status"], one["reason"]) for one in outcomes] == [("missing", None)] * 3
    assert measured.read_text() == str(scene.at("/data"))
