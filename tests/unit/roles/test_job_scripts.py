# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The scripts of jobs as they are written for each site: sound for bash and shellcheck, and what they ask."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.module_utils._options.file_options import fill_found
from ansible_collections.hpc.onboard.plugins.plugin_utils._roles.job_scripts import (
    IMAGE_TEMPLATES,
    PLACEHOLDER,
    RUN_BY_HAND,
    TEMPLATES,
    declare,
    fill_template,
)

from tests.effort import clusters, turns
from tests.unit.roles.job_settings import WITH_SLURM, settings_at, with_partition

RICH: dict[str, Any] = {
    "mail": "ada@uni.example",
    "qos": "regular",
    "modules": ["StdEnv/2023", "python/3.11"],
    "environment": "~/envs/ml",
    "nccl": {"NCCL_SOCKET_IFNAME": "ib0", "NCCL_DEBUG": "INFO"},
    "command": "python train.py --epochs=10",
}


def at(cluster: str, **chosen: Any) -> dict[str, Any]:
    """Return what an account there has."""
    return with_partition(settings_at("job_scripts", cluster, **{"templates": ["all"], **chosen}))


def plain(**chosen: Any) -> dict[str, Any]:
    """Return the settings of a site of which no more is known than that Slurm and enroot are there."""
    return at("lrz", **{"limits": {}, "gpu": "--gres=gpu:1", "cpu": "--partition=cpus --qos=cpu", **chosen})


def scripts(settings: dict[str, Any]) -> dict[str, str]:
    """The texts of all scripts, by their names."""
    found = declare(settings)["resources"]
    return {
        Path(one["options"]["path"]).name: str(one["options"]["content"])
        for one in found
        if one["kind"] == "path_script"
    }


def found_there(text: str, account: str = "abc") -> str:
    """Return a script as it is on the account."""
    for name in ("slurm_account", "slurm_cpu_account"):
        text = fill_found(text, name, account)
    return text


def sbatch(text: str) -> list[str]:
    """What a script asks of Slurm."""
    return [line.removeprefix("#SBATCH ") for line in text.splitlines() if line.startswith("#SBATCH ")]


@turns(4)
@pytest.mark.parametrize("wishes", [{}, RICH], ids=["plain", "rich"])
@pytest.mark.parametrize("cluster", clusters(WITH_SLURM))
def test_every_script_is_sound_for_bash_and_for_shellcheck(
    cluster: str, wishes: dict[str, Any], tmp_path: Path
) -> None:
    settings = at(cluster, **wishes)
    if settings["home_in_jobs"]:
        settings["environment"] = settings["environment"].replace("~", settings["home_in_jobs"])
    texts = {name: found_there(text) for name, text in scripts(settings).items()}
    assert {name.removesuffix(".sh") for name in texts} >= set(TEMPLATES) - set(IMAGE_TEMPLATES)
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
        assert PLACEHOLDER.findall(text.replace("@script_folder@", "/jobs")) == []
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
        ("dfki", "", "gpus.sh", ["--gpus=2"]),
        ("dfki", "ml", "nodes.sh", ["--account=ml", "--nodes=2", "--gpus-per-node=2"]),
        ("narval", "def-ada", "nodes.sh", ["--account=def-ada", "--nodes=2", "--gpus-per-node=a100:2"]),
        ("daint", "def-ada", "batch.sh", ["--account=def-ada", "--gpus=1"]),
    ],
)
def test_a_script_asks_as_the_site_wants_it(cluster: str, account: str, name: str, asked: list[str]) -> None:
    said = sbatch(found_there(scripts(at(cluster))[name], account))
    assert [word for word in asked if word not in said] == []
    assert ("account" in " ".join(said)) == bool(account)


def test_a_persons_own_words_win_over_the_sites() -> None:
    chosen = {"limits": {}, "partition": "wc_gpu", "qos": "opp", "account": "wc", "cpus": 4, "memory": "30G"}
    said = sbatch(scripts(at("wilson", **chosen))["batch.sh"])
    assert said[3:] == [
        *("--partition=wc_gpu", "--qos=opp", "--account=@slurm_account@", "--nodes=1", "--ntasks-per-node=1"),
        *("--gres=gpu:a100:1", "--cpus-per-task=4", "--mem=30G", "--time=60"),
    ]


def test_at_wilson_they_lie_where_jobs_can_read() -> None:
    found = declare(at("wilson"))["resources"]
    assert found[1]["options"]["path"].startswith("/work1/def-ada")
    assert {str(Path(one["options"]["path"]).parent) for one in found[2:]} == {found[1]["options"]["path"][:-7]}


def test_the_account_is_asked_for_on_the_cluster_before_any_script_is_written() -> None:
    question, _output, *files = declare(at("daint", account="wc"))["resources"]
    assert question["kind"] == "scheduler"
    assert (question["options"]["account"], question["options"]["likely"]) == ("wc", "def-ada")
    assert all(one["options"]["found"] == ["slurm_account"] for one in files if one["kind"] == "path_script")


def test_a_site_with_accounts_for_gpus_has_another_one_for_imports() -> None:
    texts = scripts(plain(limits={"account_suffixes": {"cpu": "_cpu", "gpu": "_gpu"}}))
    assert "#SBATCH --account=@slurm_cpu_account@" in texts["import.sh"]
    assert "#SBATCH --account=@slurm_account@" in texts["batch.sh"]


def test_where_no_account_is_found_the_option_that_would_name_it_goes() -> None:
    texts = {name: found_there(text, "") for name, text in scripts(plain()).items()}
    assert "--job-name=interactive --nodes=1 --ntasks-per-node=1 --gres=gpu:1 --time=60 " in texts["interactive.sh"]
    assert not [name for name, text in texts.items() if "--account" in text]


def test_no_script_has_a_gpu_where_the_user_wants_none() -> None:
    for name, text in scripts(plain(gpus=0, image="/images/a.sif", runtime="apptainer")).items():
        assert "--gres" not in text, name
        assert "--nv" not in text, name
        assert {"--partition=cpus", "--qos=cpu"} <= set(sbatch(text)) or name == "interactive.sh"


@pytest.mark.parametrize(
    ("runtime", "image", "lines"),
    [
        ("pyxis", "/images/a.sqsh", ['image="/images/a.sqsh"', '--container-image="$image"', "$PWD:$PWD"]),
        ("pyxis", "nvcr.io/nvidia/pytorch:24.03-py3", ['image="/x/nvcr.io+nvidia+pytorch+24.03-py3.sqsh"']),
        ("pyxis", "nvcr.io#nvidia/pytorch:24.03-py3", ["image='nvcr.io#nvidia/pytorch:24.03-py3'"]),
        ("environment", "pytorch", ["image=pytorch", '--environment="$image"']),
        ("environment", "nvcr.io/nvidia/pytorch:24.03-py3", ["image=~/.edf/nvcr.io+nvidia+pytorch+24.03-py3.toml"]),
        (
            "apptainer",
            "$WORK/a.sif",
            ['image="$WORK/a.sif"', "module load apps", "apptainer exec --nv --bind=", "/s:/s"],
        ),
        ("none", "none", ["srun -K --export=ALL hostname"]),
    ],
)
def test_the_command_runs_in_the_image_as_the_site_starts_containers(
    runtime: str, image: str, lines: list[str]
) -> None:
    settings = plain(runtime=runtime, image=image, images="/x", mounts=["/s:/s"], module="apps")
    for name, text in scripts(
        {**settings, "templates": [name for name in TEMPLATES if name not in (*IMAGE_TEMPLATES, "farm")]}
    ).items():
        assert [line for line in lines if line not in text] in ([], ["srun -K --export=ALL hostname"]), name
        assert image == "none" or '"${container[@]}"' in text
    staging = scripts({**settings, "templates": ["staging"]})["staging.sh"]
    assert (":$disk" in staging) == (runtime in ("pyxis", "apptainer"))  # its data are seen in the container


def test_a_mount_may_begin_with_the_home() -> None:
    for runtime in ("pyxis", "apptainer"):
        text = scripts(plain(runtime=runtime, image="/a", mounts=["~/data:/data", "~:~", "/x~:/y"]))["batch.sh"]
        assert '="$HOME/data:/data,$HOME:$HOME,/x~:/y' in text


@pytest.fixture
def slurm_programs(tmp_path: Path) -> Path:
    """A folder with programs in the place of Slurm's: sbatch prints its arguments, srun runs the command here."""
    folder = tmp_path / "programs"
    folder.mkdir()
    for name, text in (("sbatch", 'echo "$@"'), ("srun", 'shift 2; exec "$@"')):
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o755)
    return folder


def run_script(name: str, words: list[str], programs: Path, **variables: str) -> subprocess.CompletedProcess[bytes]:
    """Run a script here, whose command prints each argument in brackets."""
    text = scripts(plain(templates=[name], command="printf [%s]"))[f"{name}.sh"]
    environment = {"PATH": f"{programs}:/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": "/nonexistent", **variables}
    return subprocess.run(
        ["bash", "-c", text, f"{name}.sh", *words], capture_output=True, check=False, cwd=programs, env=environment
    )


def test_an_array_has_every_line_of_a_file_in_any_encoding(slurm_programs: Path) -> None:
    file = slurm_programs / "rates"
    file.write_bytes(b"# n\r\ncaf\xe9 1\r\n\r\n'x y' a\\ b \"\"\r\nit's 3\n")
    told = run_script("array", ["rates"], slurm_programs)
    assert told.stdout.decode() == f"--array=1-3 array.sh {file}\n"

    def job(number: int) -> subprocess.CompletedProcess[bytes]:
        return run_script("array", [str(file)], slurm_programs, SLURM_ARRAY_TASK_ID=str(number), SLURM_JOB_ID="7")

    assert job(1).stdout == b"line 1: caf\xe9 1\n[caf\xe9][1]"
    assert job(2).stdout.endswith(b"[x y][a b][]")
    assert (job(3).returncode, job(3).stdout) == (1, b"")
    assert f"line 3 of {file} has an open quote: it's 3\n" in job(3).stderr.decode()
    file.write_text("# none\n")
    empty = run_script("array", ["rates"], slurm_programs)
    assert (empty.returncode, empty.stderr.decode()) == (2, f"{file} has no line with parameters\n")


def test_a_farm_runs_every_command_of_a_file_in_any_encoding(slurm_programs: Path) -> None:
    file = slurm_programs / "commands"
    file.write_bytes(b"# n\r\necho caf\xe9 >>ran\r\necho two >>ran\r\n")
    for _turn in range(2):
        ran = run_script("farm", [str(file)], slurm_programs, SLURM_CPUS_PER_TASK="1")
        assert ran.returncode == 0, ran.stderr
        assert (slurm_programs / "ran").read_bytes() == b"caf\xe9\ntwo\n"
        assert (slurm_programs / "commands.done").read_bytes() == b"echo caf\xe9 >>ran\necho two >>ran\n"


@pytest.mark.parametrize(
    ("image", "address", "name"),
    [
        ("nvcr.io/nvidia/pytorch:24.03-py3", "nvcr.io#nvidia/pytorch:24.03-py3", "pytorch-24.03-py3"),
        ("docker://nvcr.io#nvidia/pytorch:24.03-py3", "nvcr.io#nvidia/pytorch:24.03-py3", "pytorch-24.03-py3"),
        ("localhost:5000/a/b", "localhost:5000#a/b", "b"),
        ("pytorch/pytorch:2.4.0", "pytorch/pytorch:2.4.0", "pytorch-2.4.0"),
        ("ubuntu:24.04", "ubuntu:24.04", "ubuntu-24.04"),
    ],
)
def test_an_image_of_any_registry_is_imported(image: str, address: str, name: str, slurm_programs: Path) -> None:
    for tool, ending, written in (("enroot", "sqsh", address), ("apptainer", "sif", address.replace("#", "/"))):
        (slurm_programs / tool).write_text('#!/bin/sh\necho "$@"\n')
        (slurm_programs / tool).chmod(0o755)
        settings = plain(templates=["import"], importer=tool, images=str(slurm_programs), module="")
        text = scripts(settings)["import.sh"]
        environment = {"PATH": f"{slurm_programs}:/usr/bin:/bin", "SLURM_JOB_ID": "7"}
        ran = subprocess.run(
            ["bash", "-c", text, "import.sh", image], capture_output=True, text=True, check=True, env=environment
        )
        told, imported = ran.stdout.splitlines()
        assert told.endswith(f" {slurm_programs}/{name}.{ending} docker://{written}")
        assert imported == f"imported {slurm_programs}/{name}.{ending}"


def test_amd_gpus_are_shown_by_their_own_flag() -> None:
    amd = plain(runtime="singularity", image="/a.sif", limits={"gpu_vendor": "amd"})
    assert "singularity exec --rocm --pwd" in scripts(amd)["batch.sh"]


def test_whole_nodes_and_a_missing_container_are_said() -> None:
    text = scripts(plain(limits={"whole_nodes": True}))["gpus.sh"]
    assert "# At LRZ AI Systems, a job gets whole nodes and is charged for all of their GPUs and processors." in text
    assert "# This script runs without a container." in text


def test_no_import_is_offered_to_jobs_without_the_internet() -> None:
    declared = declare(plain(internet="none"))
    (note,) = declared["notes"]
    assert "import.sh and build.sh are skipped: compute nodes have no Internet access" in note["text"]
    assert not [one for one in declared["resources"] if one["options"].get("path", "").endswith("import.sh")]
    assert "import.sh" in scripts(plain(internet="none", proxy="http://p.example.org:3128"))


@pytest.mark.parametrize(
    ("environment", "line"),
    [
        ("~/envs/ml", "environment=~/envs/ml"),
        ("/data/ada/envs/ml", 'environment="/data/ada/envs/ml"'),
        ("$WORK/envs/ml", 'environment="$WORK/envs/ml"'),
    ],
)
def test_an_environment_may_be_anywhere(environment: str, line: str) -> None:
    assert line in scripts(plain(environment=environment))["batch.sh"].splitlines()


@pytest.mark.parametrize("command", ["false", "echo training"])
def test_no_job_goes_on_without_its_environment_or_its_image(command: str, tmp_path: Path) -> None:
    missing = {"environment": str(tmp_path / "no"), "command": command}
    text = scripts(plain(**missing, templates=["batch"]))["batch.sh"]
    ran = subprocess.run(["bash", "-c", text, "batch.sh"], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr == f"batch.sh: {tmp_path}/no is not a Python environment that this job can read\n"
    text = scripts(plain(image=str(tmp_path / "no.sqsh"), templates=["batch"]))["batch.sh"]
    ran = subprocess.run(["bash", "-c", text, "batch.sh"], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (1, f"batch.sh: the image {tmp_path}/no.sqsh is missing\n")


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"mail": "ada"}, "is not a valid address"),
        ({"mail": "ada@uni.example\n#SBATCH --x"}, "is not a valid address"),
        ({"command": "a\nb"}, "one line"),
        ({"account": "a b"}, "special meaning in a shell"),
        ({"gpu": "--gpus=1;id"}, "special meaning in a shell"),
        ({"templates": ["bach"]}, "unknown name 'bach'; available: batch, gpus"),
        ({"minutes": 0}, "expected at least 1"),
        ({"environment": "~/a b"}, "is not a valid path"),
        ({"environment": "envs/ml"}, "is not a valid path"),
        ({"image": "a;b"}, "special meaning in a shell"),
        ({"image": "/a.sif", "runtime": "none"}, "image: no container runtime for jobs is known"),
        ({"image": "~/work/a.sif", "home_in_jobs": "/work1/p/ada"}, "image: jobs at .* such as /work1/p/ada/NAME"),
        (
            {"environment": "~/envs/ml", "home_in_jobs": "/work1/p/ada"},
            "environment: jobs at .* cannot read '~/envs/ml'",
        ),
        ({"gpus": 2, "limits": {"gpus_per_node": [1, 4]}}, "job_scripts: gpus: .* Set gpus to 1 or 4"),
        ({"nccl": {"A B": "x"}}, "is not a valid variable name"),
    ],
)
def test_what_a_script_could_not_bear_is_refused(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(AccountError, match=said):
        declare(plain(**wrong))


@pytest.mark.parametrize(
    ("tmp", "disk"),
    [("$SCRATCH", "${SCRATCH:?}/job-$SLURM_JOB_ID"), ("$SCRATCH/a/b", "${SCRATCH:?}/a/b/job-$SLURM_JOB_ID")],
)
def test_a_folder_below_a_variable_is_the_disk_of_the_job(tmp: str, disk: str) -> None:
    texts = scripts(at("narval", tmp=tmp))
    assert f'disk="{disk}"' in texts["staging.sh"].splitlines()
    assert f'temporary="{disk}"' in scripts(at("dfki", tmp=tmp))["build.sh"].splitlines()


def test_a_job_opens_the_way_out_before_all_else() -> None:
    text = scripts(at("narval", proxy_module="httpproxy", proxy="http://p.example.org:3128", modules=["python/3.11"]))
    lines = [line.partition(" ||")[0] for line in text["batch.sh"].splitlines()]
    start = lines.index("module load httpproxy")
    proxy = "export http_proxy=http://p.example.org:3128 https_proxy=http://p.example.org:3128"
    assert lines[start + 1 : start + 4] == ["module load python/3.11", "set -eu", proxy]
    assert lines.index("set -euo pipefail") < start


def test_a_persons_template_has_the_same_words_and_an_unknown_one_is_named_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "mine.sh").write_text("\ufeff#!/bin/bash\n@mail@\n@gpu@\n@nccl@\n@step@ x --time=@time@ a@b.example\n")
    own = [{"name": "mine.sh", "file": "mine.sh"}]
    texts = scripts(plain(templates=[], own=own, files_from=str(tmp_path), mail="ada@uni.example"))
    assert texts == {
        "mine.sh": "#!/bin/bash\n#SBATCH --mail-user=ada@uni.example\n#SBATCH --mail-type=END,FAIL\n"
        "#SBATCH --account=@slurm_account@\n#SBATCH --nodes=1\n#SBATCH --ntasks-per-node=1\n#SBATCH --gres=gpu:1\n"
        "#SBATCH --time=60\nsrun -K --export=ALL x --time=60 a@b.example\n"
    }
    gone = [{"name": "gone.sh", "file": "gone.sh"}]
    assert "gone.sh" in scripts(plain(templates=[], own=gone, files_from=str(tmp_path), state="absent"))
    with pytest.raises(AccountError, match=r"mine:2: unknown placeholder @gqu@; available: @gpu@"):
        fill_template("#!/bin/bash\n@gqu@\n", {"gpu": list}, "mine")


def test_slurm_is_asked_of_what_is_submitted_alone() -> None:
    found = declare(plain(ask_slurm=True))["resources"]
    asked = {Path(one["options"]["path"]).name for one in found if one["options"].get("asks")}
    assert asked == {f"{name}.sh" for name in TEMPLATES} - set(RUN_BY_HAND)
    gone = declare(plain(ask_slurm=True, state="absent"))["resources"]
    assert not [one for one in gone if one["options"].get("asks")]
