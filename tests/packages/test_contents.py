"""What the packages hold, and what they must not.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import re
import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.formats.files import FORMATS

from tools.sanity_cores import ROOT

from .conftest import only

FOLDERS = ("meta", "inventory", "playbooks", "plugins", "roles", "scripts", "docs/schemas")
OURS_ALONE = r"tests|collections|\.sandbox|\.venv|\.cache|\.ansible|\.mypy_cache|\.git|__pycache__"
NEVER = re.compile(rf"(^|/)({OURS_ALONE})/|litter|last-week/|^inventory/accounts\.yml$")
PREFIX = "ansible_collections/hpc/onboard/"


def promised(tree: Path) -> set[str]:
    """Every file of the tree that makes the collection work."""
    files = {path.relative_to(tree).as_posix() for folder in FOLDERS for path in (tree / folder).rglob("*")}
    return {name for name in files if (tree / name).is_file() and not NEVER.search(name)}


def in_wheel(wheel: Path) -> set[str]:
    """The names in the wheel, as they are in the collection."""
    return {name.removeprefix(PREFIX) for name in zipfile.ZipFile(wheel).namelist() if name.startswith(PREFIX)}


def in_tarball(tarball: Path) -> dict[str, tarfile.TarInfo]:
    """The members of a tarball by name."""
    with tarfile.open(tarball) as archive:
        return {member.name: member for member in archive.getmembers()}


def test_the_promise_is_not_empty(tree: Path) -> None:
    """Or the tests below would say nothing."""
    assert {
        "inventory/practice.yml",
        "inventory/clusters/wilson.yml",
        "docs/schemas/profile.schema.json",
        "docs/schemas/cluster.schema.json",
        "docs/schemas/accounts.schema.json",
        "roles/launchers/files/usrun.sh.template",
        "plugins/inventory/accounts.py",
        "plugins/modules/converge.py",
        "plugins/module_utils/_engine/engine.py",
        "plugins/plugin_utils/_audit/formats/page/page.html",
        "plugins/plugin_utils/_audit/formats/page/parts.html",
        "plugins/plugin_utils/_audit/formats/page/report.md",
        "playbooks/onboard.yml",
        "playbooks/doctor.yml",
        "meta/runtime.yml",
    } <= promised(tree)


def test_the_wheel_holds_the_collection(tree: Path, wheel: Path) -> None:
    assert promised(tree) | {"galaxy.yml", "README.md", "COPYING"} == in_wheel(wheel)


def test_the_wheel_holds_nothing_beside_the_collection(wheel: Path) -> None:
    outside = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist() if not name.startswith(PREFIX)}
    assert all(name.endswith(".dist-info") for name in outside), outside


def test_the_wheel_announces_its_backend_and_its_command(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/entry_points.txt")]
    plugins = "ansible_collections.hpc.onboard.plugins.plugin_utils"
    text = archive.read(name).decode()
    assert f"[keyring.backends]\nhpc-onboard = {plugins}.keyring_backend\n" in text
    assert "[console_scripts]\n" in text
    assert f"hpc-onboard = {plugins}._command.main:main\n" in text


def test_the_tarball_holds_the_collection(tree: Path, tarball: Path) -> None:
    assert promised(tree) | {"README.md", "COPYING"} <= in_tarball(tarball).keys()


def test_the_command_in_the_tarball_can_be_run(tarball: Path) -> None:
    assert in_tarball(tarball)["scripts/hpc-onboard"].mode & 0o111 == 0o111


def test_the_sdist_can_be_built_and_tested(tree: Path, dist: Path) -> None:
    (top, *_rest) = names = sorted(in_tarball(only(dist.glob("hpc_onboard-*.tar.gz"))))
    held = {name.removeprefix(top.split("/")[0] + "/") for name in names}
    assert promised(tree) | {"galaxy.yml", "pyproject.toml", "README.md", "COPYING", "Makefile"} <= held


@pytest.mark.parametrize("package", ["wheel", "tarball", "sdist"])
def test_no_litter_travels(package: str, wheel: Path, tarball: Path, dist: Path) -> None:
    sdist = {
        re.sub(r"^[^/]*/((tools/role_template/)?tests/)?", "", name)
        for name in in_tarball(only(dist.glob("hpc_onboard-*.tar.gz")))
    }
    names = {"wheel": in_wheel(wheel), "tarball": in_tarball(tarball).keys(), "sdist": sdist}[package]
    assert not [name for name in names if NEVER.search(name)]


def test_a_report_is_no_file_of_git_wherever_it_lies_and_the_page_of_its_name_is_one(tarball: Path) -> None:
    def ignored(path: str) -> bool:
        order = ["git", "check-ignore", "-q", "--no-index", path]
        return subprocess.run(order, cwd=ROOT, check=False).returncode == 0

    reports = [f"{folder}{name}" for folder in ("", "last week/", "inventory/x/") for name in FORMATS.values()]
    assert [path for path in reports if not ignored(path)] == []
    assert not ignored("docs/audit.md")
    assert "docs/audit.md" in in_tarball(tarball)


def test_no_package_holds_a_link(tarball: Path, wheel: Path) -> None:
    assert not [member.name for member in in_tarball(tarball).values() if member.issym() or member.islnk()]
    modes = {entry.filename: entry.external_attr >> 28 for entry in zipfile.ZipFile(wheel).infolist()}
    assert 0o12 not in modes.values(), modes
