# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The scripts of jobs as they are written for each site: sound for bash and shellcheck, and what they ask."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.module_utils._options.file_options import fill_found
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.profiles import read_profile, render
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.collection import ROLES_FOLDER
from ansible_collections.hpc.onboard.plugins.plugin_utils._roles.job_scripts import OURS, WORD, declare, fill_template
from ansible_collections.hpc.onboard.plugins.plugin_utils._roles.site import site_settings

CHECKOUT = Path(__file__).parents[3]
PROFILES = {file.stem: read_profile(file) for file in sorted((CHECKOUT / "inventory/clusters").glob("*.yml"))}
START = "job_scripts_"
DEFAULTS = yaml.safe_load((ROLES_FOLDER / "job_scripts/defaults/main.yml").read_text(encoding="utf-8"))
RICH: dict[str, Any] = {
    "mail": "ada@uni.example",
    "qos": "regular",
    "modules": ["StdEnv/2023", "python/3.11"],
    "environment": "~/envs/ml",
    "nccl": {"NCCL_SOCKET_IFNAME": "ib0", "NCCL_DEBUG": "INFO"},
    "command": "python train.py --epochs=10",
}


def at(cluster: str, **wishes: Any) -> dict[str, Any]:
    """What an account there has."""
    profile = render(PROFILES[cluster], {"user": "ada", "project": "def-ada"}, {})
    settings = {**DEFAULTS, **{k: v for k, v in site_settings(profile, "def-ada").items() if k.startswith(START)}}
    return {**{k.removeprefix(START): v for k, v in settings.items()}, "templates": ["all"], **wishes}


def scripts(settings: dict[str, Any]) -> dict[str, str]:
    """The texts of all scripts, by their names."""
    found = declare(settings)["resources"]
    return {
        Path(one["options"]["path"]).name: str(one["options"]["content"])
        for one in found
        if one["kind"] == "path_script"
    }


def sbatch(text: str) -> list[str]:
    """What a script asks of Slurm."""
    return [line.removeprefix("#SBATCH ") for line in text.splitlines() if line.startswith("#SBATCH ")]


@pytest.mark.parametrize("wishes", [{}, RICH], ids=["plain", "rich"])
@pytest.mark.parametrize("cluster", sorted(PROFILES))
def test_every_script_is_sound_for_bash_and_for_shellcheck(
    cluster: str, wishes: dict[str, Any], tmp_path: Path
) -> None:
    texts = {name: fill_found(text, "slurm_account", "abc") for name, text in scripts(at(cluster, **wishes)).items()}
    assert {name.removesuffix(".sh") for name in texts} >= set(OURS) - {"import"}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
        assert not WORD.search(text)
    files = sorted(str(tmp_path / name) for name in texts)
    for file in files:
        assert subprocess.run(["bash", "-n", file], check=False).returncode == 0
    if shutil.which("shellcheck"):
        done = subprocess.run(
            ["shellcheck", "--exclude=SC1090,SC1091", *files], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("cluster", "account", "name", "asked"),
    [
        ("lrz", "", "batch.sh", ["--gres=gpu:1"]),
        ("lrz", "", "import.sh", ["--partition=lrz-cpu", "--qos=cpu"]),
        ("wilson", "", "gpus.sh", ["--partition=gpu_gce", "--gres=gpu:a100:2"]),
        ("wilson", "", "nodes.sh", ["--partition=gpu_gce", "--gres=gpu:a100:2"]),
        ("dfki", "", "gpus.sh", ["--gpus=2"]),
        ("dfki", "ml", "nodes.sh", ["--account=ml", "--gpus-per-node=2"]),
        ("narval", "def-ada", "nodes.sh", ["--account=def-ada", "--gpus-per-node=a100:2"]),
        ("daint", "def-ada", "batch.sh", ["--account=def-ada", "--gpus=1"]),
    ],
)
def test_a_script_asks_as_the_site_wants_it(cluster: str, account: str, name: str, asked: list[str]) -> None:
    said = sbatch(fill_found(scripts(at(cluster))[name], "slurm_account", account))
    usual = ("--job-name", "--output", "--time", "--nodes", "--ntasks-per-node")
    assert [word for word in said if not word.startswith(usual)] == asked


def test_a_persons_own_words_win_over_the_sites() -> None:
    said = sbatch(scripts(at("wilson", partition="wc_gpu", qos="opp", account="wc"))["batch.sh"])
    assert said[3:] == ["--account=@slurm_account@", "--partition=wc_gpu", "--qos=opp", "--gres=gpu:a100:1"]


def test_at_wilson_they_lie_where_jobs_can_read() -> None:
    found = declare(at("wilson"))["resources"]
    assert found[1]["options"]["path"].startswith("/work1/def-ada")
    assert {str(Path(one["options"]["path"]).parent) for one in found[2:]} == {found[1]["options"]["path"][:-7]}


def test_the_account_is_asked_for_on_the_cluster_before_any_script_is_written() -> None:
    question, _output, *files = declare(at("daint", account="wc"))["resources"]
    assert question == {"kind": "scheduler", "options": {"account": "wc", "likely": "def-ada", "required": "yes"}}
    assert all(one["options"]["found"] == ["slurm_account"] for one in files if one["kind"] == "path_script")


def test_where_no_account_is_found_the_option_that_would_name_it_goes() -> None:
    text = fill_found(scripts(at("dfki"))["interactive.sh"], "slurm_account", "")
    assert "--time=60 --gpus=1 " in text
    assert "account" not in "".join(fill_found(one, "slurm_account", "") for one in scripts(at("dfki")).values())


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"mail": "ada"}, "is not a mail address"),
        ({"mail": "ada@uni.example\n#SBATCH --x"}, "is not a mail address"),
        ({"command": "a\nb"}, "one line"),
        ({"account": "a b"}, "a shell would read"),
        ({"gpu": "--gpus=1;id"}, "a shell would read"),
        ({"templates": ["bach"]}, "'bach' is not one of batch, gpus"),
        ({"minutes": 0}, "from 1 up"),
        ({"environment": "~/a b"}, "is not a path"),
        ({"nccl": {"A B": "x"}}, "is not the name of a variable"),
    ],
)
def test_what_a_script_could_not_bear_is_refused(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(AccountError, match=said):
        declare(at("lrz", **wrong))


def test_a_job_opens_the_way_out_before_all_else() -> None:
    text = scripts(at("narval", proxy_module="httpproxy", proxy="http://p.example.org:3128", modules=["python/3.11"]))
    lines = text["batch.sh"].splitlines()
    start = lines.index("module load httpproxy")
    proxy = "export http_proxy=http://p.example.org:3128 https_proxy=http://p.example.org:3128"
    assert lines[start + 1 : start + 3] == ["module load python/3.11", proxy]


def test_a_persons_template_has_the_same_words_and_an_unknown_one_is_named_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "mine.sh").write_text("#!/bin/bash\n@person@\n@gpu@\n@nccl@\nsrun x --time=@time@ a@b.example\n")
    own = [{"name": "mine.sh", "file": "mine.sh"}]
    texts = scripts(at("narval", templates=[], own=own, files_from=str(tmp_path)))
    assert texts == {
        "mine.sh": "#!/bin/bash\n#SBATCH --account=@slurm_account@\n#SBATCH --gpus-per-node=a100:1\n"
        "srun x --time=60 a@b.example\n"
    }
    with pytest.raises(AccountError, match=r"mine:2: nobody knows @gqu@; these are known: @gpu@"):
        fill_template("#!/bin/bash\n@gqu@\n", {"gpu": []}, "mine")


def test_slurm_is_asked_of_what_is_submitted_alone() -> None:
    found = declare(at("lrz", ask_slurm=True))["resources"]
    asked = {Path(one["options"]["path"]).name for one in found if one["options"].get("asks")}
    assert asked == {f"{name}.sh" for name in OURS} - {"interactive.sh"}
