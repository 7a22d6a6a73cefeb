# SPDX-License-Identifier: GPL-3.0-or-later
"""What jobs ask Slurm for: as the site wants it, refused if impossible, the same in usrun.sh and in every script."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.plugin_utils._roles import container_images, job_scripts
from ansible_collections.hpc.onboard.plugins.plugin_utils._roles.collect import collect_resources
from ansible_collections.hpc.onboard.plugins.plugin_utils._roles.job_request import (
    make_import_request,
    make_request,
    nearest_offer,
    offered_gpus,
)
from ansible_collections.hpc.onboard.plugins.plugin_utils._roles.launchers import render_script
from ansible_collections.hpc.onboard.plugins.plugin_utils._roles.site import site_settings

from tests.effort import EXHAUSTIVE, turns
from tests.unit.roles.job_settings import PROFILES, WITH_SLURM, settings_at, with_partition

pytestmark = turns(2)

Settings = dict[str, Any]
PLAIN: Settings = {
    **{"site": "Attic", "gpu": "--gpus=1", "cpu": "", "limits": {}, "gpu_type": "", "cpus": 0, "memory": ""},
    **{"minutes": 60, "partition": "", "cpu_partition": "", "qos": ""},
}
WILSON: Settings = {
    "gpu": "--partition=gpu_gce --gres=gpu:a100:1",
    "cpu": "--partition=cpu_gce",
    "limits": {"gpu_nodes": {"a100": 1, "v100": 3}},
}
LRZ: Settings = {
    "gpu": "--gres=gpu:1",
    "cpu": "--partition=lrz-cpu --qos=cpu",
    "limits": {"partition_required": True, "partitions": ["lrz-v100x2", "lrz-cpu"]},
}
TRILLIUM: Settings = {"gpu": "--gpus-per-node=1", "limits": {"gpus_per_node": [1, 4], "hours": 24}}
NARVAL: Settings = {
    "gpu": "--gpus-per-node=a100:1",
    "limits": {
        **{"cpus_per_gpu": 12, "memory_per_gpu": "124G", "memory_per_cpu": "4000M"},
        "account_suffixes": {"cpu": "_cpu", "gpu": "_gpu"},
    },
}
VISTA: Settings = {"gpu": "--partition=gh --nodes=1", "cpu": "--partition=gg"}
CLARIDEN: Settings = {"limits": {"hours": 24, "partition_hours": {"normal": 12, "debug": 1.5}, "whole_nodes": True}}
IRIS: Settings = {"gpu": "--partition=gpu --gpus=1", "limits": {"hours": 48, "qos_hours": {"gpu-long": 336}}}
USUAL = ["--account=@slurm_account@", "--nodes=1", "--ntasks-per-node=1"]
WITHOUT_GPUS = ("import.sh", "build.sh", "farm.sh")
SAMPLE = (
    "lrz",
    "wilson",
    "narval",
    "trillium",
    "vista",
    "lumi",
    "daint",
    "dfki",
    "cirrus",
    "frontier",
    "stampede3",
)  # of the sites, in `make test`


@pytest.mark.parametrize(
    ("site", "gpus", "nodes", "options"),
    [
        ({}, 1, 1, [*USUAL, "--gpus=1", "--time=60"]),
        ({}, 2, 3, ["--account=@slurm_account@", "--nodes=3", "--ntasks-per-node=1", "--gpus-per-node=2", "--time=60"]),
        ({"cpus": 4, "memory": "8G"}, 0, 1, [*USUAL, "--cpus-per-task=4", "--mem=8G", "--time=60"]),
        (WILSON, 2, 1, ["--partition=gpu_gce", *USUAL, "--gres=gpu:a100:2", "--time=60"]),
        ({**WILSON, "gpu_type": "v100"}, 2, 1, ["--partition=gpu_gce", *USUAL, "--gres=gpu:v100:2", "--time=60"]),
        ({**WILSON, "qos": "regular"}, 0, 1, ["--partition=cpu_gce", "--qos=regular", *USUAL, "--time=60"]),
        (VISTA, 1, 1, ["--partition=gh", *USUAL, "--time=60"]),
        (
            {"gpu": "--gres=gpu:4 --exclusive"}, 1, 1,
            [USUAL[0], "--exclusive", *USUAL[1:], "--gres=gpu:1", "--time=60"],
        ),
        (
            {**IRIS, "minutes": 20160, "qos": "gpu-long"}, 1, 1,
            ["--partition=gpu", "--qos=gpu-long", *USUAL, "--gpus=1", "--time=20160"],
        ),
        (NARVAL, 2, 1, [*USUAL, "--gpus-per-node=a100:2", "--cpus-per-task=24", "--mem=248G", "--time=60"]),
        (
            NARVAL, 0, 1,
            ["--account=@slurm_cpu_account@", *USUAL[1:], "--mem-per-cpu=4000M", "--time=60"],
        ),
    ],
)  # fmt: skip
def test_a_job_asks_as_the_site_wants_it(site: Settings, gpus: int, nodes: int, options: list[str]) -> None:
    assert make_request({**PLAIN, **site}, gpus, nodes) == options


def test_a_gpu_partition_never_reaches_a_job_without_a_gpu_nor_the_reverse() -> None:
    chosen = {**PLAIN, **LRZ, "partition": "lrz-v100x2", "qos": "mcml"}
    assert make_request(chosen, 1, 1)[:2] == ["--partition=lrz-v100x2", "--qos=mcml"]
    assert make_request(chosen, 0, 1)[:2] == ["--partition=lrz-cpu", "--qos=cpu"]
    assert make_import_request(chosen)[:2] == ["--partition=lrz-cpu", "--qos=cpu"]
    members = settings_at("job_scripts", "lrz", partition="mcml-hgx-a100-80x4", qos="mcml")
    assert make_request(members, 1, 1)[:2] == ["--partition=mcml-hgx-a100-80x4", "--qos=mcml"]
    own = make_request({**PLAIN, **WILSON, "cpu_partition": "cpu_gce_test"}, 0, 1)
    assert own[0] == "--partition=cpu_gce_test"
    assert make_request({**PLAIN, "partition": "batch"}, 0, 1)[0] == "--partition=batch"


@pytest.mark.parametrize(
    ("chosen", "charged"),
    [("", "def-ada_cpu"), ("def-pi", "def-pi_cpu"), ("def-pi_gpu", "def-pi_cpu"), ("def-pi_cpu", "def-pi_cpu")],
)
def test_an_import_is_charged_to_the_chosen_account_for_jobs_without_gpus(chosen: str, charged: str) -> None:
    settings = settings_at(
        "container_images", "narval", by="job", images=[{"image": "alpine"}], limits=NARVAL["limits"]
    )
    account = site_settings(PROFILES["narval"], "def-ada", chosen)["container_images_account"]
    (image,) = container_images.declare({**settings, "account": account})["resources"]
    assert [one for one in image["options"]["job_options"] if "account" in one] == [f"--account={charged}"]


@pytest.mark.parametrize("options", ["--cpus-per-task 4", "-c 4", "--partition lrz-cpu"])
def test_an_option_of_an_import_is_one_word(options: str) -> None:
    values = {**site_settings(PROFILES["lrz"]), "container_images_by": "job", "container_images_folder": "/dss"}
    values |= {"container_images_images": [{"image": "a/b:1"}], "container_images_job_options": options}
    with pytest.raises(AccountError, match="is not valid; write each option as --NAME=VALUE"):
        collect_resources(["container_images"], [], [], values.get)


@pytest.mark.parametrize(
    ("site", "gpus", "nodes", "message"),
    [
        (TRILLIUM, 2, 1, "gpus: a job at Attic cannot have 2 GPUs on one node. Set gpus to 1 or 4"),
        (VISTA, 2, 1, "gpus: a job at Attic cannot have 2 GPUs on one node. Set gpus to 1"),
        (
            WILSON,
            1,
            2,
            r"has only 1 node with GPUs of type a100. Set nodes to at most 1, or gpu_type to v100 \(3 nodes\)",
        ),
        ({**TRILLIUM, "minutes": 6000}, 1, 1, "at most 1440 minutes at Attic. Set minutes: 1440"),
        (
            {**CLARIDEN, "minutes": 1400, "partition": "normal"},
            1,
            1,
            "1400 is too long; jobs may run for at most 720 minutes in partition normal at Attic",
        ),
        ({**IRIS, "minutes": 2881}, 1, 1, "at most 2880 minutes at Attic"),
        ({**IRIS, "minutes": 20161, "qos": "gpu-long"}, 1, 1, "at most 20160 minutes in partition gpu at Attic"),
        (LRZ, 1, 1, "partition: Slurm has no default partition at Attic. .* set partition to lrz-v100x2 or lrz"),
        ({**LRZ, "cpu": ""}, 0, 1, "cpu_partition: Slurm has no default partition"),
        ({**LRZ, "partition": "nonsense"}, 1, 1, "partition: Attic has no partition 'nonsense'. Set partition to"),
        ({**TRILLIUM, "limits": {"gpus_per_node": [4]}}, 1, 1, "a job at Attic cannot have 1 GPU on one node"),
        ({**IRIS, "cpu": "--cpus-per-task=x"}, 0, 1, "--cpus-per-task=x is not a whole number"),
        ({**VISTA, "gpu_type": "gh200"}, 1, 1, "gpu_type: Attic does not support this setting"),
    ],
)
def test_what_cannot_be_is_refused_with_what_can(site: Settings, gpus: int, nodes: int, message: str) -> None:
    with pytest.raises(AccountError, match=message):
        make_request({**PLAIN, **site}, gpus, nodes)


def test_a_default_is_a_number_that_the_site_offers() -> None:
    assert settings_at("job_scripts", "trillium", limits={"gpus_per_node": [1, 4]})["gpus"] in (1, 2)


def show_options(settings: Settings, gpus: int, nodes: int) -> list[str] | None:
    """Return what usrun.sh asks srun for, or None if it refuses."""
    ran = subprocess.run(
        ["/bin/bash", "-c", render_script(settings), "usrun.sh", "--show", f"--gpus={gpus}", f"--nodes={nodes}", "id"],
        capture_output=True, text=True, check=False, cwd="/", env={"PATH": "/usr/bin:/bin", "HOME": "/tmp"},
    )  # fmt: skip
    assert ran.returncode in (0, 2), ran.stderr
    words = ran.stdout.split()
    assert words[:3] in ([], ["srun", "-K", "--export=ALL"])
    return words[3:-1] if ran.returncode == 0 else None


GRID = [
    ({**settings_at("launchers", "dfki"), **PLAIN, **site}) for site in (WILSON, LRZ, TRILLIUM, NARVAL, VISTA, CLARIDEN)
]
GRID += [with_partition(settings_at("launchers", name)) for name in (WITH_SLURM if EXHAUSTIVE else SAMPLE)]


@pytest.mark.parametrize("settings", [{**one, "image": "", "mounts": []} for one in GRID])
def test_usrun_asks_for_the_same_and_refuses_the_same(settings: Settings) -> None:
    for gpus, nodes in ((0, 1), (0, 2), (1, 1), (1, 2), (2, 1), (4, 1), (4, 2)):
        try:
            wanted = make_request(settings, gpus, nodes)
        except AccountError:
            wanted = None
        assert show_options(settings, gpus, nodes) == wanted, (gpus, nodes)


# What sites demand of a script, by their pages: of every one, of one with GPUs, and never. Sources: the profiles'.
RULES: dict[str, tuple[list[str], list[str], list[str]]] = {
    "vista": ([r"--partition=", r"--nodes=", r"--ntasks-per-node="], [], [r"--gres", r"--gpus"]),
    "trillium": ([], [r"--gpus-per-node="], [r"--gpus-per-node=[23]$", r"--gres"]),
    "lumi": ([], [], [r"--nv\b"]),
    "wilson": ([r"--partition="], [r"--gres=gpu:"], []),
    "narval": ([], [r"--gpus-per-node=a100:"], []),
    "lrz": ([], [r"--gres=gpu:"], []),
    "cirrus": ([r"--partition=", r"--qos="], [], [r"--mem", r"--gpus", r"--gres"]),
    "stampede3": (
        [r"--partition=", r"--nodes=", r"--ntasks-per-node=", r"--time="],
        [],
        [r"--gres", r"--gpus", r"--mem\b"],
    ),
    "lonestar6": (
        [r"--partition=", r"--nodes=", r"--ntasks-per-node=", r"--time="],
        [],
        [r"--gres", r"--gpus", r"--mem\b"],
    ),
    "vsc_kuleuven": ([r"--clusters=wice"], [r"--partition=gpu_a100"], []),
    "frontier": ([r"--partition="], [r"--gpus-per-node=8$"], [r"--nv\b"]),
    "tamia": ([], [r"--gpus(-per-node)?=h100:4$"], []),
    "bunya": ([r"--partition=", r"--qos=", r"--time="], [r"--gres=gpu:h100:"], []),
    "pelle": ([], [r"--gpus(-per-node)?=l40s:"], []),
    "roihu": ([r"--partition="], [r"--gres=gpu:gh200:"], []),
    "dardel": ([r"--partition="], [], [r"--nv\b"]),
}


def shapes(settings: Settings) -> Iterator[Settings]:
    """Yield settings for the fewest GPUs of a node, for all of them, for two nodes, and for none."""
    fewest, all_gpus = nearest_offer(settings, 1), max(offered_gpus(settings) or [2])
    yield from ({**settings, **shape} for shape in ({"gpus": fewest, "nodes": 1}, {"gpus": all_gpus, "nodes": 1}))
    yield from ({**settings, **shape} for shape in ({"gpus": fewest}, {"gpus": 0}))


@pytest.mark.parametrize("cluster", sorted(WITH_SLURM if EXHAUSTIVE else SAMPLE))
@pytest.mark.parametrize("image", ["", "/images/a.sif"])
def test_every_script_of_every_site_keeps_the_sites_rules(cluster: str, image: str, tmp_path: Path) -> None:
    always, with_gpus, never = RULES.get(cluster, ([], [], []))
    settings = with_partition(settings_at("job_scripts", cluster, templates=["all"], image=image))
    if image and settings["runtime"] == "none":
        pytest.skip("no containers in jobs there")
    checked = set()
    for shape in shapes(settings):
        for declared in job_scripts.declare(shape)["resources"]:
            if declared["kind"] != "path_script":
                continue
            name, text = Path(declared["options"]["path"]).name, str(declared["options"]["content"])
            if text not in checked:  # several shapes have the same scripts
                (tmp_path / name).write_text(text)
                assert subprocess.run(["bash", "-n", tmp_path / name], check=False).returncode == 0
                checked.add(text)
            line = next((one for one in text.splitlines() if one.startswith("exec srun")), "")
            options = re.findall(r"(?m)^#SBATCH (\S+)", text) or [one for one in line.split() if one.startswith("--")]
            names = [one.partition("=")[0] for one in options]
            assert len(names) == len(set(names)), f"{name}: {names}"
            has_gpus = shape["gpus"] > 0 and name not in WITHOUT_GPUS
            for rule in always + (with_gpus if has_gpus else []):
                assert any(re.search(rule, one) for one in options), f"{name} has no {rule}: {options}"
            assert not [one for one in options for rule in never if re.search(rule, one)], name
            assert not re.search("|".join(never), text) if never else True
            assert ("--nv" in text) <= (shape["limits"].get("gpu_vendor") != "amd")
            if not has_gpus:
                assert not re.search(r"(?m)^#SBATCH --(gpus|gres)", text), name
                partition = next((one for one in options if one.startswith("--partition=")), "")
                assert partition not in ("--partition=gpu_gce", "--partition=gh", "--partition=lrz-v100x2"), name
