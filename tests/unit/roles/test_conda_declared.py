# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the capability conda declares for each site and wish: where it goes, from what, or why not."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.plugin_utils._roles import collect, conda_installer
from ansible_collections.hpc.onboard.plugins.plugin_utils._roles.site import site_settings

from tests.unit.roles.job_settings import PROFILES

AREA = {"name": "data", "path": "/data/ada", "root": "/data", "create": True}
SITE = {"area": "data", "storage": [AREA]}
WANTED = {"conda_wanted": True, "conda_site": SITE}


def declared(**settings: Any) -> collect.DeclaredResources:
    """What follows from these settings and the role's defaults."""
    return collect.collect_resources(["conda"], [], [], settings.get)


def install(**settings: Any) -> dict[str, Any]:
    """The options of the installation."""
    options: dict[str, Any] = declared(**{**WANTED, **settings}).resources[0]["options"]
    return options


def why(**settings: Any) -> str:
    """Why there is none."""
    found = declared(**{**WANTED, **settings})
    assert found.resources == []
    return found.notes[0]["text"]


def test_it_goes_into_the_area_and_every_shell_learns_of_it() -> None:
    found = declared(**WANTED)
    assert [one["kind"] for one in found.resources] == ["conda_install", "shell_environment"]
    assert install()["prefix"] == "/data/ada/miniforge3"
    assert install()["root"] == "/data"
    files = found.resources[1]["options"]["on_demand"]["conda"]
    assert files["sh"] == "/data/ada/miniforge3/etc/profile.d/conda.sh"
    assert found.notes == []


def test_where_nobody_asks_for_it_nothing_is_said() -> None:
    assert declared(conda_site=SITE) == collect.DeclaredResources([], [], {})


def test_an_environment_asks_for_it(tmp_path: Path) -> None:
    (tmp_path / "demo.yml").write_text("\ufeffdependencies: [python]\n")
    settings = {**WANTED, "conda_wanted": False, "conda_files_from": str(tmp_path)}
    found = declared(**settings, conda_environments=[{"file": "demo.yml"}]).resources[0]["options"]
    assert found["environments"] == [{"name": "demo", "content": "dependencies: [python]\n"}]


EXPLICIT = "# name: of-a-comment\n@EXPLICIT\nhttps://conda.anaconda.org/x.conda\n"


@pytest.mark.parametrize(
    ("entry", "content", "name"),
    [
        ({}, "name: torch\ndependencies: [python]\n", "torch"),
        ({"name": "mine"}, "name: torch\ndependencies: [python]\n", "mine"),
        ({}, "dependencies: [python]\n", "environment"),
        ({}, EXPLICIT, "environment"),
    ],
)
def test_an_environment_has_the_name_that_its_file_gives_it(
    entry: dict[str, str], content: str, name: str, tmp_path: Path
) -> None:
    (tmp_path / "environment.yml").write_text(content)
    made = install(conda_environments=[{**entry, "file": "environment.yml"}], conda_files_from=str(tmp_path))
    assert [one["name"] for one in made["environments"]] == [name]


def test_a_file_that_is_no_environment_is_one_error_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "broken.yml").write_text("name: torch\ndependencies: [python\n")
    with pytest.raises(AccountError, match=r"broken\.yml:3: the file is neither valid YAML nor an explicit lock file"):
        install(conda_environments=[{"file": "broken.yml"}], conda_files_from=str(tmp_path))


def test_the_folder_can_be_named_for_the_user_and_the_machine() -> None:
    assert (
        install(conda_site={**SITE, "below": "ada", "by_machine": True})["prefix"]
        == "/data/ada/ada/miniforge3-{machine}"
    )


def test_one_word_takes_the_other_distribution_once_its_terms_are_accepted() -> None:
    settings = {"conda_distribution": "miniconda"}
    assert "only you can accept" in why(**settings)
    options = install(**settings, conda_anaconda_terms="accepted")
    assert options["prefix"] == "/data/ada/miniconda3"
    assert all(one["url"].startswith("https://repo.anaconda.com/") for one in options["installers"].values())


def test_a_site_that_refuses_is_listened_to_even_against_the_wish() -> None:
    settings = {"conda_site": {**SITE, "policy": "refused", "why": "It fills the home.", "instead": "virtualenv"}}
    assert why(**settings, conda_despite_advice=True) == "It fills the home. Use virtualenv."
    assert declared(**{**settings, "conda_wanted": False}).notes


def test_a_site_that_discourages_is_listened_to_until_a_word_is_said() -> None:
    settings = {"conda_site": {**SITE, "policy": "discouraged", "why": "It is slow."}}
    assert why(**settings).startswith("It is slow. To install conda anyway, set `conda:")
    assert install(**settings, conda_despite_advice=True)


@pytest.mark.parametrize(
    ("area", "said"),
    [
        ({"name": "data", "path": "/scratch/ada", "purge": {"days": 30}}, "purges data"),
        ({"name": "data", "ask": "run dssusrinfo"}, "run dssusrinfo"),
        ({"name": "other", "path": "/x"}, "no folder for conda is known"),
    ],
)
def test_a_place_that_is_purged_or_unknown_is_not_taken(area: dict[str, Any], said: str) -> None:
    assert said in why(conda_site={**SITE, "storage": [area]})


def test_a_prefix_of_ones_own_is_taken() -> None:
    settings = {**WANTED, "conda_site": {}, "conda_prefix": "/mine/conda"}
    options = declared(**settings).resources[0]["options"]
    assert (options["prefix"], "root" in options) == ("/mine/conda", False)


def test_a_version_that_is_not_pinned_needs_an_address_and_a_sum() -> None:
    with pytest.raises(AccountError, match=r"version 1\.0 of Miniforge is not available; choose 26"):
        install(conda_version="1.0")
    mirror = {"x86_64": {"url": "https://mirror.example.org/M.sh", "sha256": "0" * 64}}
    options = install(conda_version="1.0", conda_installers=mirror)
    assert (options["version"], options["installers"]) == ("1.0", mirror)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(AccountError, match=f"{re.escape(str(tmp_path))}/no.yml cannot be read: No such file"):
        install(conda_environments=[{"file": "no.yml"}], conda_files_from=str(tmp_path))


@pytest.mark.parametrize("channels", [["defaults"], ["conda-forge", "pkgs/main"], ["https://repo.anaconda.com/pkgs/r"]])
def test_the_licence_of_anacondas_channels_is_said_in_one_sentence(channels: list[str]) -> None:
    notes = declared(**WANTED, conda_channels=channels).notes
    assert [note["text"] for note in notes] == [conda_installer.LICENCE]


def test_a_fact_that_no_site_has_is_refused() -> None:
    with pytest.raises(AccountError, match=r'unknown key "polcy" in conda_site; did you mean "policy"[?]'):
        declared(conda_site={"polcy": "refused"})


def test_the_facts_of_every_profile_are_taken() -> None:
    for name, profile in PROFILES.items():
        site = site_settings(profile)["conda_site"]
        assert {*profile.get("conda", {})} <= {*site, "usual", "distribution", "source"}, name


@pytest.mark.parametrize("distribution", sorted(conda_installer.read_pins()))
def test_every_pin_is_whole(distribution: str) -> None:
    pins = conda_installer.read_pins()[distribution]
    for pin in pins["versions"].values():
        assert set(pin) == {"glibc", "bytes", "files", "sha256"}
        assert all(re.fullmatch(r"[0-9a-f]{64}", digest) for digest in pin["sha256"].values())
        assert {"x86_64", "aarch64"} <= set(pin["sha256"])
    assert ("terms" in pins) == (distribution == "miniconda")


def test_a_conda_of_the_users_is_used_and_nothing_is_asked_for_it() -> None:
    wish = {"conda_distribution": "own", "conda_site": {**SITE, "policy": "discouraged", "why": "No."}}
    found = declared(**wish, conda_prefix="/data/ada/mine")
    assert found.resources[0]["options"] == {"prefix": "/data/ada/mine", "distribution": "own", "state": "present"}
    assert found.resources[1]["options"]["on_demand"]["conda"]["sh"] == "/data/ada/mine/etc/profile.d/conda.sh"
    assert found.notes == []
    with pytest.raises(AccountError, match="requires the path of your conda"):
        declared(**wish)
    with pytest.raises(AccountError, match="cannot be used with your own conda"):
        declared(**wish, conda_prefix="/data/ada/mine", conda_environments=[{"file": "x.yml"}])
