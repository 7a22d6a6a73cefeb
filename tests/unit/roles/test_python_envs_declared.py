# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the capability python_envs declares for each site and wish: where it goes, from what, or what is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.module_utils._jobs.env_spec import EnvSpec
from ansible_collections.hpc.onboard.plugins.module_utils._options.env_options import PythonEnvOptions
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.profiles import render
from ansible_collections.hpc.onboard.plugins.plugin_utils._roles import collect
from ansible_collections.hpc.onboard.plugins.plugin_utils._roles.site import site_settings

from tests.unit.roles.job_settings import PROFILES

ML = {"name": "ml", "modules": ["python/3.11"], "packages": ["numpy"]}


def declared(cluster: str, *environments: dict[str, Any], **wishes: Any) -> list[dict[str, Any]]:
    """The options of what an account there gets."""
    profile = render(PROFILES[cluster], {"user": "ada", "project": "lgt"}, {})
    own = {f"python_envs_{name}": value for name, value in wishes.items()}
    settings = {**site_settings(profile, "lgt"), "python_envs_environments": list(environments), **own}
    return [one["options"] for one in collect.collect_resources(["python_envs"], [], [], settings.get).resources]


def test_where_the_site_has_wheels_they_come_from_those_alone() -> None:
    (found,) = declared("narval", ML)
    assert (found["path"], found["root"]) == ("~/envs/ml", "~")
    assert (found["maker"], found["offline"], found["in_job"]) == ("virtualenv", True, "$SLURM_TMPDIR")
    assert found["search"] == "avail_wheels"


def test_elsewhere_they_lie_in_the_area_where_conda_belongs_and_come_from_the_sites_mirror() -> None:
    (found,) = declared("dfki", {"name": "ml"})
    assert found["path"] == "/data/ada/envs/ml"
    assert (found["maker"], found["offline"], found["in_job"]) == ("any", False, "")
    mirror = "https://pypi.example.org/simple"
    assert site_settings({"mirrors": {"pypi": mirror}})["python_envs_index"] == mirror


def test_an_index_without_tls_is_refused_and_no_certificate_is_left_unchecked() -> None:
    (plain,) = declared("dfki", {"name": "ml"}, index="http://evil.example:8080/simple")
    with pytest.raises(AccountError, match="is not valid; expected the https:// address of a package index"):
        PythonEnvOptions(PythonEnvOptions.with_defaults(plain))
    (sound,) = declared("dfki", {"name": "ml"}, index="https://pypi.example.org/simple")
    options = PythonEnvOptions(PythonEnvOptions.with_defaults(sound)).options
    assert EnvSpec(options).index_options() == ["--index-url", "https://pypi.example.org/simple"]


def test_a_requirements_file_is_read_beside_the_accounts_file(tmp_path: Path) -> None:
    (tmp_path / "all.txt").write_text("\ufeff# mine\nnumpy==1.26  # pinned\n\ntorch>=2,<3\t# tab\n")
    (found,) = declared("narval", {**ML, "requirements": "all.txt"}, files_from=str(tmp_path))
    assert found["packages"] == ["numpy", "numpy==1.26", "torch>=2,<3"]


def test_an_environment_can_be_removed_after_its_requirements_file(tmp_path: Path) -> None:
    (found,) = declared("narval", {**ML, "requirements": "gone.txt"}, files_from=str(tmp_path), state="absent")
    assert (found["packages"], found["state"]) == (["numpy"], "absent")


@pytest.mark.parametrize("line", ["-r other.txt", "--index-url https://x", "git+https://x/y", "numpy==1 \\"])
def test_a_line_that_is_no_package_is_named_with_its_number(tmp_path: Path, line: str) -> None:
    (tmp_path / "all.txt").write_text(f"numpy\n{line}\n")
    with pytest.raises(AccountError, match=r"all\.txt:2: .* is not supported"):
        declared("narval", {**ML, "requirements": "all.txt"}, files_from=str(tmp_path))


def test_at_a_site_with_wheels_a_module_must_be_named() -> None:
    with pytest.raises(
        AccountError, match="ml has no modules, but this site's wheels require one of its Python modules"
    ):
        declared("narval", {"name": "ml"})
    assert declared("narval", {"name": "ml"}, modules=["python/3.12"])[0]["modules"] == ["python/3.12"]


def test_two_of_one_name_are_refused() -> None:
    with pytest.raises(AccountError, match="two environments have the same name, ml"):
        declared("narval", ML, ML)
