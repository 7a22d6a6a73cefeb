# SPDX-License-Identifier: GPL-3.0-or-later
"""What is written for CSCS' container engine, read as that documents it: a container is started from it on a node.

What reads it is a stand-in, for the engine itself cannot be had.
"""

from __future__ import annotations

import tomllib
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.effort import exhaustive
from tests.integration.jobs.image_scene import IMAGE, ONLY, PLAIN, REPOSITORY_OF_IMAGE, Scene, layer
from tests.integration.runs import onboard
from tests.testbed import slurm

pytestmark = [pytest.mark.testbed, exhaustive]

ENGINE = Path(slurm.__file__).with_name("containers") / "srun_with_edf"


def test_a_container_is_started_from_the_file_that_names_the_image(scene: Callable[..., Scene]) -> None:
    here = scene("lrz")  # for nothing but the engine is of CSCS, and its stand-in's login node reaches no registry
    here.registry.push(REPOSITORY_OF_IMAGE, "24.03-py3", layer("for the engine", "/bin/sh", "/bin/cat"))
    settings = here.settings(edf="~/.edf", mounts=["${HOME}:/mine"])
    settings[here.account.name]["launchers"] = {"runtime": "environment"}
    ran = onboard(here.bed, here.account, more=ONLY, settings=settings)
    assert ran.code == 0, ran.text
    edf = here.account.login_shell(f"cat .edf/{PLAIN}.toml").stdout
    assert tomllib.loads(edf) == {"image": f"{here.folder}/{PLAIN}.sqsh", "mounts": ["${HOME}:/mine"]}

    here.account.login_shell(f"echo mine >thesis; echo {b64encode(ENGINE.read_bytes()).decode()} | base64 -d >bin/srun")
    here.account.login_shell("chmod 755 bin/srun")
    for image in (IMAGE, PLAIN):
        step = here.account.login_shell(
            f"usrun.sh --gpus=0 --partition=lrz-cpu --qos=cpu --image={image} sh -c 'cat /etc/image /mine/thesis'",
            timeout=60,
        )
        assert (step.returncode, step.stdout) == (0, "for the enginemine\n"), step.stderr
