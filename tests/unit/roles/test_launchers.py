# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""usrun.sh as it is written for each site, run by a real bash: what it would run, and what it says of mistakes."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.module_utils._options import image_name
from ansible_collections.hpc.onboard.plugins.module_utils._options.file_options import fill_found
from ansible_collections.hpc.onboard.plugins.plugin_utils._roles.launchers import declare, render_script
from ansible_collections.hpc.onboard.plugins.plugin_utils._roles.site import site_settings
from ansible_collections.hpc.onboard.plugins.plugin_utils._roles.table import SLURM_ACCOUNT, SLURM_CPU_ACCOUNT
from hypothesis import given
from hypothesis import strategies as st

from tests.effort import clusters, turns
from tests.unit.roles.job_settings import WITH_SLURM, settings_at, with_partition

pytestmark = turns(3)

Settings = dict[str, Any]
Finished = subprocess.CompletedProcess[str]


def at(cluster: str, **chosen: Any) -> Settings:
    """Return what the launcher of an account there is made from, without what the site advises beyond it."""
    return with_partition(settings_at("launchers", cluster, **chosen))


def plain(**chosen: Any) -> Settings:
    """Return the settings of a site of which no more is known than that Slurm and pyxis are there."""
    bare = {"gpu": "--gres=gpu:1", "cpu": "--partition=cpus --qos=cpu", "limits": {}, "image": "", "mounts": []}
    return {**settings_at("launchers", "lrz"), **bare, **chosen}


def found_there(script: Settings) -> str:
    """Its text where Slurm could not be asked: the account is the chosen one, or the likely one."""
    account = script["account"] or script["likely_account"]
    text = render_script(script)
    for word in (SLURM_ACCOUNT, SLURM_CPU_ACCOUNT):
        text = fill_found(text, word.strip("@"), account)
    return text


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


@pytest.mark.parametrize("cluster", clusters(WITH_SLURM))
def test_every_site_has_one_that_a_shell_can_read(cluster: str, tmp_path: Path) -> None:
    settings = at(cluster)
    (script,) = [one["options"] for one in declare(settings)["resources"] if one["kind"] == "path_script"]
    folder = {"wilson": "/work1/def-ada/ada/bin", "cirrus": "/work/def-ada/def-ada/ada/bin"}.get(cluster, "~/bin")
    shares_its_home = cluster in ("clariden", "eiger", "santis")  # with Daint
    assert script["path"] == f"{folder}/usrun{f'-{cluster}' if shares_its_home else ''}.sh"  # where jobs can read it
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
def test_a_command_arrives_as_it_was_typed(words: list[str]) -> None:
    text = shown(plain(), "--image=I", "--", "printf", *words)
    parts = subprocess.run(
        ["bash", "-c", 'eval "set -- $1"; printf \'%s\\0\' "$@"', "x", text], capture_output=True, check=True
    )
    said = parts.stdout.decode().split("\0")[:-1]
    assert said[said.index("printf") + 1 :] == words


def test_a_container_is_started_as_the_site_does_it() -> None:
    assert "--container-image=/x.sqsh --container-workdir=/ --container-mounts=/tmp:/tmp" in shown(
        plain(mounts=["$HOME:$HOME"]), "--image=/x.sqsh", "id"
    )
    apptainer = shown(at("wilson"), "--image=/x.sif", "id")
    assert "apptainer exec --nv --home=/work1/def-ada/ada --pwd=/ /x.sif id" in apptainer
    assert "--nv" not in shown(at("wilson"), "--image=/x.sif", "--gpus=0", "id")
    amd = plain(runtime="singularity", limits={"gpu_vendor": "amd"})
    assert "singularity exec --rocm --pwd=/ /x.sif id" in shown(amd, "--image=/x.sif", "id")
    assert shown(at("narval"), "id").endswith(" id \n")
    assert "--environment=IMAGE" in shown(at("daint"), "--image=IMAGE", "id").split()


def test_folders_that_are_named_come_to_those_of_the_site() -> None:
    site = plain(mounts=["/data:/data"])
    said = shlex.split(shown(site, "--image=I", "--mounts=/scratch:/s", "id"))
    assert "--container-mounts=/data:/data,/scratch:/s" in said


def test_a_folder_that_no_mount_shows_is_shown_since_the_command_starts_there() -> None:
    done = run(plain(mounts=["/data:/data"]), "--show", "--image=I", "id", folder=Path("/usr/lib"))
    assert "--container-mounts=/data:/data,/usr/lib:/usr/lib" in shlex.split(done.stdout)
    covered = run(plain(mounts=["/usr:/usr:ro"]), "--show", "--image=I", "id", folder=Path("/usr/lib"))
    assert "--container-mounts=/usr:/usr:ro id" in covered.stdout


def test_a_path_may_begin_with_the_home_or_a_variable_wherever_it_is_said() -> None:
    site = plain(image="~/a.sqsh", mounts=["~/data:/data", "$WORK:$WORK", "/x~:/y:ro"])
    said = shlex.split(shown(site, "--mounts=~/b:/b", "id", WORK="/work/ada"))
    assert "--container-image=/tmp/a.sqsh" in said  # /tmp: the home of run()
    assert "--container-mounts=/tmp/data:/data,/work/ada:/work/ada,/x~:/y:ro,/tmp/b:/b" in said
    assert "/tmp/b.sif id" in shown(plain(runtime="apptainer"), "--image=~/b.sif", "id")
    assert "/work/ada/b.sif id" in shown(plain(runtime="apptainer", image="$WORK/b.sif"), "id", WORK="/work/ada")
    assert refused(site, "id") == ("usrun.sh: $WORK: the variable WORK is not set. Write the full path instead\n")


@pytest.mark.parametrize(
    "name",
    [
        *("nvcr.io/nvidia/pytorch:24.03-py3", "docker://nvcr.io#nvidia/pytorch:24.03-py3", "pytorch/pytorch:2.4.0"),
        *("ubuntu", "docker.io/ubuntu:latest", "index.docker.io/a/b", "localhost:5000/a/b:c", "ghcr.io/a/b"),
    ],
)
def test_an_imported_image_is_found_by_the_name_with_which_it_was_declared(name: str, tmp_path: Path) -> None:
    parsed = image_name.parse(name)
    assert parsed is not None
    file = tmp_path / f"{parsed.plain}.sqsh"
    file.touch()
    assert f"--container-image={file}" in shlex.split(shown(plain(images=str(tmp_path)), f"--image={name}", "id"))


def test_a_folder_that_is_reached_by_a_link_is_there_in_the_container(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "real").mkdir()
    (tmp_path / "home/work").symlink_to(tmp_path / "real")
    link, home, real = tmp_path / "home/work", f"{tmp_path}/home", f"{tmp_path}/real"

    def said(script: Settings) -> list[str]:
        return shlex.split(run(script, "--show", "--image=/x", "id", folder=link, PWD=str(link), HOME=home).stdout)

    assert f"--container-mounts={home}:{home},{real}:{real}" in said(plain(mounts=[f"{home}:{home}"]))
    assert f"--container-mounts={link}:{link},{real}:{real}" in said(plain())
    (tmp_path / "real/a.sif").touch()
    hidden = plain(runtime="apptainer", home_in_jobs=real, image="~/work/a.sif")  # jobs cannot read the home
    assert f"--pwd={real}" in said(hidden)
    without_links = run(hidden, "--show", "id", folder=link, PWD=str(link), HOME=home)
    assert without_links.stdout.endswith(f"--pwd={real} {real}/a.sif id \n")
    (tmp_path / "home/b.sif").touch()
    unreadable = run(hidden, "--image=~/b.sif", "id", folder=link, PWD=str(link), HOME=home)
    assert f"cannot read {home}/b.sif. Move it to a folder such as {real}\n" in unreadable.stderr


def test_without_a_gpu_it_asks_for_what_the_site_wants_then() -> None:
    apart = plain(partition="gpus")
    wanted = "srun -K --export=ALL --partition=cpus --qos=cpu --nodes=1 --ntasks-per-node=1 --time=60 id \n"
    assert shown(apart, "--gpus=0", "id") == shown(apart, "--gpus", "0", "id") == wanted
    assert "--partition=gpus" in shown(apart, "id")


def test_a_type_of_gpu_can_be_named() -> None:
    assert "--gres=gpu:v100:2" in shown(at("wilson"), "--gpus=v100:2", "id")
    assert "--gres=gpu:v100:2" in shown(at("wilson"), "--gres=gpu:v100:2", "id")


def test_inside_a_job_it_is_a_step_of_that_job() -> None:
    assert shown(at("wilson"), "id", SLURM_JOB_ID="7") == "srun -K --export=ALL id \n"
    assert (
        shown(at("wilson"), "--gpus=1", "--mem=2G", "id", SLURM_JOB_ID="7")
        == "srun -K --export=ALL --gres=gpu:a100:1 --mem=2G id \n"
    )


@pytest.mark.parametrize(
    ("words", "options"),
    [
        ("-n 2", "--gres=gpu:1 --time=60 -n2"),
        ("-n2", "--gres=gpu:1 --time=60 -n2"),
        ("--ntasks 2 -N 2", "--nodes=2 --gres=gpu:1 --time=60 --ntasks=2"),
        ("-p x", "--partition=x --nodes=1 --ntasks-per-node=1 --gres=gpu:1 --time=60"),
        ("-c 4 -t 5", "--nodes=1 --ntasks-per-node=1 --gres=gpu:1 --cpus-per-task=4 --time=5"),
        ("-J name", "--nodes=1 --ntasks-per-node=1 --gres=gpu:1 --time=60 -Jname"),
        ("--job-name NAME", "--nodes=1 --ntasks-per-node=1 --gres=gpu:1 --time=60 --job-name=NAME"),
        ("-lu --exclusive", "--nodes=1 --ntasks-per-node=1 --gres=gpu:1 --time=60 -l -u --exclusive"),
        ("-lJ name -K", "--nodes=1 --ntasks-per-node=1 --gres=gpu:1 --time=60 -l -Jname"),
        ("--mem-per-cpu 2G", "--nodes=1 --ntasks-per-node=1 --gres=gpu:1 --time=60 --mem-per-cpu=2G"),
        ("--constraint=x --new=y", "--nodes=1 --ntasks-per-node=1 --gres=gpu:1 --time=60 --constraint=x --new=y"),
        ("--new --", "--nodes=1 --ntasks-per-node=1 --gres=gpu:1 --time=60 --new"),
    ],
)
def test_options_of_srun_may_have_their_value_in_the_next_word(words: str, options: str) -> None:
    inside = "--container-image=I --container-workdir=/ id"
    assert shown(plain(), "--image=I", *words.split(), "id") == f"srun -K --export=ALL {options} {inside} \n"


def test_what_a_step_gets_can_be_said() -> None:
    assert shown(plain(), "--export=ALL,FOO=bar", "id").count("--export") == 1


def test_what_is_usual_can_be_said_in_the_accounts_file_and_in_the_shell() -> None:
    said = shown(at("wilson", account="wc_test", qos="regular", memory="30G"), "id").split()
    assert {"--account=wc_test", "--qos=regular", "--mem=30G"} <= set(said)
    assert "--time=5" in shown(at("wilson"), "id", USRUN_MINUTES="5")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "usrun.sh: the command is missing. For a shell, run: usrun.sh --pty bash"),
        (("--gpus",), "usrun.sh: --gpus: the value is missing. For help, run: usrun.sh --help"),
        (("-n",), "usrun.sh: -n: the value is missing. For help, run: usrun.sh --help"),
        (
            ("--new", "x", "id"),
            'usrun.sh: --new: if "x" is its value, write --new=x. Otherwise, write -- before the command',
        ),
        (("-5", "id"), "usrun.sh: -5: unknown option of srun. For help, run: usrun.sh --help"),
        (("--gpus=some", "id"), "usrun.sh: --gpus=some is not valid; expected NUMBER or TYPE:NUMBER"),
    ],
)
def test_a_mistake_is_one_line(words: tuple[str, ...], said: str) -> None:
    assert refused(plain(), *words) == said + "\n"


@pytest.mark.parametrize(
    ("most", "more"),
    [("90", "91"), ("1:30:00", "1:31:00"), ("90:00", "91:00"), ("0-1", "0-2"), ("0-01:09:00", "1-0:0")],
)
def test_a_time_is_compared_with_the_limit_in_all_forms_of_slurm(most: str, more: str) -> None:
    site = plain(limits={"hours": 1.5})
    assert f"--time={most} " in shown(site, f"--time={most}", "id")
    said = f"usrun.sh: --time={more}: jobs may run for at most 90 minutes at LRZ AI Systems. Use --time=90\n"
    assert refused(site, "-t", more, "id") == said
    assert "--time=UNLIMITED" in shown(site, "--time=UNLIMITED", "id")  # Slurm itself answers


def test_a_job_that_must_name_its_account_says_how_to_find_it() -> None:
    said = refused(at("roihu", likely_account="", accounts_command="sshare -U"), "id")
    assert said.startswith("usrun.sh: jobs at CSC Roihu need a Slurm account. Add --account=NAME")
    assert said.endswith(". To list your accounts, run: sshare -U\n")


def test_nothing_starts_in_a_home_that_jobs_cannot_read() -> None:
    said = refused(at("wilson"), "id", folder=Path("/tmp"))  # the home of run()
    assert "cannot read the home directory. First change to the folder /work1/def-ada/ada\n" in said


def test_a_job_that_sees_no_home_may_start_steps() -> None:
    home = "/nonexistent/home"
    assert run(at("wilson"), "--show", "id", HOME=home, SLURM_JOB_ID="7").stdout == "srun -K --export=ALL id \n"


def test_without_slurm_it_says_so() -> None:
    done = run(plain(), "id", PATH="/nowhere")
    assert (done.returncode, done.stdout) == (127, "")
    assert "srun was not found" in done.stderr


def test_a_usual_request_that_the_site_cannot_give_is_refused_when_it_is_written() -> None:
    with pytest.raises(
        AccountError, match="launchers: minutes: 90 is too long; jobs may run for at most 60 minutes at"
    ):
        render_script(plain(minutes=90, limits={"hours": 1}))
    for settings, words in (
        ({"memory": "lots"}, "memory: 'lots' is not a valid size"),
        ({"cpus": -3}, "cpus: -3 is too"),
    ):
        with pytest.raises(AccountError, match=f"launchers: {words}"):
            render_script(plain(**settings))
    assert "gpu_memory='32GB'" in render_script(plain(memory="32GB"))
    with pytest.raises(AccountError, match="launchers: image: no container runtime for jobs"):
        render_script(plain(image="/x.sif", runtime="none"))
    assert render_script(plain(limits={"partition_required": True}))  # it may be named with the command


@pytest.mark.parametrize("bad", ["a b", "a;id", "$(id)", "a`id`", "a'b", 'a"b', "a\nb", "a}b", "a\\b", "a|b", "a&b"])
@pytest.mark.parametrize("where", ["image", "mounts", "partition", "home_in_jobs"])
def test_it_takes_nothing_that_a_shell_would_run(where: str, bad: str) -> None:
    with pytest.raises(AccountError, match="special meaning in a shell"):
        render_script(plain(**{where: [bad] if where == "mounts" else bad}))


def test_a_site_without_slurm_has_none() -> None:
    declared = declare(at("polaris"))
    assert declared["resources"] == []
    assert declared["notes"][0]["code"] == "not_here"


def test_where_no_tool_is_known_jobs_get_none() -> None:
    assert settings_at("launchers", "perlmutter")["runtime"] == "none"
    assert settings_at("container_images", "perlmutter")["runtime"] == "none"
    assert settings_at("container_images", "sherlock")["runtime"] == "enroot"


def test_the_next_tool_stands_in_for_one_that_cannot_be_used() -> None:
    container = {"runtime": "podman-hpc", "further": ["shifter", "apptainer"]}
    settings = site_settings({"id": "attic", "container": container})
    assert [settings[f"{role}_runtime"] for role in ("launchers", "container_images")] == ["apptainer", "apptainer"]
