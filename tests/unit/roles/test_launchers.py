# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""usrun.sh as it is written for each site, run by a real bash: what it would run, and what it says of mistakes."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.profiles import read_profile, render
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.collection import ROLES_FOLDER
from ansible_collections.hpc.onboard.plugins.plugin_utils._roles.launchers import (
    declare,
    render_script,
    split_gpu_options,
)
from ansible_collections.hpc.onboard.plugins.plugin_utils._roles.site import site_settings
from ansible_collections.hpc.onboard.plugins.plugin_utils._roles.table import SLURM_ACCOUNT
from hypothesis import given
from hypothesis import settings as at_most
from hypothesis import strategies as st

CHECKOUT = Path(__file__).parents[3]
PROFILES = {file.stem: read_profile(file) for file in sorted((CHECKOUT / "inventory/clusters").glob("*.yml"))}
DEFAULTS = {
    name.removeprefix("launchers_"): value
    for name, value in yaml.safe_load(
        (ROLES_FOLDER / "launchers/defaults/main.yml").read_text(encoding="utf-8")
    ).items()
}
Settings = dict[str, Any]
Finished = subprocess.CompletedProcess[str]
TEXT = st.text(st.characters(blacklist_characters="\0", blacklist_categories=("Cs",)), max_size=9)
AT_SITES = {  # what "usrun.sh --gpus=2 --image=IMAGE hostname" runs, but for the container's own options
    "lrz": "srun -K --gres=gpu:2 --time=60",
    "dfki": "srun -K --gpus=2 --time=60",
    "wilson": "srun -K --partition=gpu_gce --gres=gpu:a100:2 --time=60",
    "narval": "srun -K --gpus-per-node=a100:2 --time=60 --account=def-ada",
    "daint": "srun -K --gpus=2 --time=60 --account=def-ada --environment=IMAGE",
}


def at(cluster: str, **wishes: Any) -> Settings:
    """What the launcher of an account there is made from."""
    profile = render(PROFILES[cluster], {"user": "ada", "project": "def-ada"}, {})
    start = "launchers_"
    site = {name[len(start) :]: value for name, value in site_settings(profile, "def-ada").items() if start in name}
    return {**DEFAULTS, **site, **wishes}


def found_there(script: Settings) -> str:
    """Its text where Slurm could not be asked: the account is the chosen one, or the likely one."""
    return render_script(script).replace(SLURM_ACCOUNT, script["account"] or script["likely_account"])


def run(script: Settings, *words: str, folder: Path | None = None, **variables: str) -> Finished:
    """Run such a script with these arguments, in a folder, on a machine without Slurm."""
    return subprocess.run(
        ["/bin/bash", "-c", found_there(script), "usrun.sh", *words],
        capture_output=True, text=True, check=False, cwd=folder or "/",
        env={"PATH": "/usr/bin:/bin", "HOME": "/tmp", **variables},
    )  # fmt: skip


def shown(script: Settings, *words: str, **variables: str) -> str:
    """The command that it would run."""
    done = run(script, "--show", *words, **variables)
    assert done.returncode == 0, done.stderr
    return done.stdout


def refused(script: Settings, *words: str, folder: Path | None = None) -> str:
    """What it says of what it does not run."""
    done = run(script, *words, folder=folder)
    assert done.returncode == 2
    assert done.stdout == ""
    return done.stderr


@pytest.mark.parametrize("cluster", AT_SITES)
def test_the_same_words_are_the_sites_own_way(cluster: str) -> None:
    assert shown(at(cluster), "--gpus=2", "--image=IMAGE", "hostname").startswith(AT_SITES[cluster])


@pytest.mark.parametrize("cluster", PROFILES)
def test_every_site_has_one_that_a_shell_can_read(cluster: str, tmp_path: Path) -> None:
    settings = at(cluster)
    path = declare(settings)["resources"][1]["options"]["path"]
    assert path == ("~/bin/usrun-clariden.sh" if cluster == "clariden" else "~/bin/usrun.sh")
    file = tmp_path / "usrun.sh"
    file.write_text(render_script(settings), encoding="utf-8")
    done = subprocess.run(["shellcheck", "--severity=warning", str(file)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    told = run({**settings, "image": "", "mounts": []}, "--help").stdout
    assert settings["site"] in told
    assert max(map(len, told.splitlines())) <= 80


@given(
    st.lists(st.text(st.characters(blacklist_characters="\0", blacklist_categories=("Cs",)), max_size=9), max_size=5)
)
@at_most(max_examples=60, deadline=None)
def test_a_command_arrives_as_it_was_typed(words: list[str]) -> None:
    text = shown(at("lrz"), "--image=I", "--", "printf", *words)
    parts = subprocess.run(
        ["bash", "-c", 'eval "set -- $1"; printf \'%s\\0\' "$@"', "x", text], capture_output=True, check=True
    )
    said = parts.stdout.decode().split("\0")[:-1]
    assert said[said.index("printf") + 1 :] == words


def test_a_container_is_started_as_the_site_does_it() -> None:
    assert "--container-image=/x.sqsh --container-workdir=/ --container-mounts=/tmp:/tmp" in shown(
        at("lrz", mounts=["$HOME:$HOME"]), "--image=/x.sqsh", "id"
    )
    apptainer = shown(at("wilson"), "--image=/x.sif", "id")
    assert "apptainer exec --nv --home=/work1/def-ada/ada --pwd=/ /x.sif id" in apptainer
    assert "--nv" not in shown(at("wilson"), "--image=/x.sif", "--gpus=0", "id")
    assert shown(at("narval"), "id").endswith("--account=def-ada id \n")


def test_without_a_gpu_it_asks_for_what_the_site_wants_then() -> None:
    assert shown(at("lrz"), "--gpus=0", "id") == "srun -K --partition=lrz-cpu --qos=cpu --time=60 id \n"
    assert shown(at("wilson"), "--gpus", "0", "id") == "srun -K --partition=cpu_gce --time=60 id \n"


def test_a_type_of_gpu_can_be_named() -> None:
    assert "--gres=gpu:v100:2" in shown(at("wilson"), "--gpus=v100:2", "id")


def test_inside_a_job_it_is_a_step_of_that_job() -> None:
    assert shown(at("wilson"), "id", SLURM_JOB_ID="7") == "srun -K id \n"
    assert (
        shown(at("wilson"), "--gpus=1", "--mem=2G", "id", SLURM_JOB_ID="7")
        == "srun -K --gres=gpu:a100:1 --mem=2G id \n"
    )


def test_what_it_does_not_know_goes_to_srun() -> None:
    assert "--exclusive --constraint=x" in shown(at("dfki"), "--exclusive", "--constraint=x", "id")


def test_what_is_usual_can_be_said_in_the_accounts_file_and_in_the_shell() -> None:
    assert "--account=wc_test --qos=regular --mem=30G" in shown(
        at("wilson", account="wc_test", qos="regular", memory="30G"), "id"
    )
    assert "--time=5" in shown(at("wilson"), "id", USRUN_MINUTES="5")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "usrun.sh: no command. Try: usrun.sh --pty bash"),
        (("--gpus",), "usrun.sh: --gpus: a value is missing. Try: usrun.sh --help"),
        (("--gpus=some", "id"), "usrun.sh: --gpus=some: write a number, or TYPE:NUMBER"),
    ],
)
def test_a_mistake_is_one_line(words: tuple[str, ...], said: str) -> None:
    assert refused(at("lrz"), *words) == said + "\n"


def test_a_job_that_must_name_its_account_says_how_to_find_it() -> None:
    said = refused(at("daint", likely_account="", accounts_command="sshare -U"), "id")
    assert said == "usrun.sh: a job names its account here. Say --account=NAME; yours: sshare -U\n"


def test_nothing_starts_in_a_home_that_jobs_cannot_read() -> None:
    said = refused(at("wilson"), "id", folder=Path("/tmp"))  # the home of run()
    assert said == "usrun.sh: jobs cannot read the home here. Change to /work1/def-ada/ada first.\n"


def test_without_slurm_it_says_so() -> None:
    done = run(at("lrz"), "id", PATH="/nowhere")
    assert (done.returncode, done.stdout) == (127, "")
    assert "srun is not here" in done.stderr


@pytest.mark.parametrize(
    ("asked", "parts"),
    [
        ("--gres=gpu:1", ("--gres=gpu:", "", "")),
        ("--partition=gpu_gce --gres=gpu:a100:1", ("--gres=gpu:", "a100", "--partition=gpu_gce")),
        ("--gpus-per-node=h100:1", ("--gpus-per-node=", "h100", "")),
        ("--partition=gh --nodes=1", ("", "", "--partition=gh --nodes=1")),
    ],
)
def test_how_a_site_asks_for_one_gpu(asked: str, parts: tuple[str, str, str]) -> None:
    assert split_gpu_options(asked) == parts


@pytest.mark.parametrize("bad", ["a b", "a;id", "$(id)", "a`id`", "a'b", 'a"b', "a\nb", "a}b", "a\\b", "a|b", "a&b"])
@pytest.mark.parametrize("where", ["image", "mounts", "partition", "home_in_jobs"])
def test_it_takes_nothing_that_a_shell_would_run(where: str, bad: str) -> None:
    with pytest.raises(AccountError, match="a shell would read"):
        render_script(at("lrz", **{where: [bad] if where == "mounts" else bad}))


def test_a_site_without_slurm_has_none() -> None:
    declared = declare(at("lrz", scheduler="pbs"))
    assert declared["resources"] == []
    assert declared["notes"][0]["code"] == "not_here"
