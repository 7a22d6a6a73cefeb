# SPDX-License-Identifier: GPL-3.0-or-later
"""What onboarding made is taken out again: all of it, nothing else, keys first, and as often as one likes."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.integration.audit.audit_scene import TOKENS, Scene, at, conda_settings
from tests.integration.keys.witness import Witness
from tests.integration.runs import REPOSITORY, Ran, play
from tests.testbed.installer import JOURNAL, installer
from tests.testbed.web import Web

pytestmark = pytest.mark.testbed

SHELLS = {"lrz": "/bin/bash", "dfki": "/bin/bash", "pegasus": "/usr/bin/zsh", "wilson": "/bin/tcsh",
          "daint": "/bin/bash", "narval": "/bin/bash"}  # fmt: skip
LEFT = {  # what conda's installer leaves; and where it leaves it, the folder that we made, and the receipt that says so
    "~/.conda", "~/.conda/environments.txt", "/data/{user}", f"/data/{{user}}/{JOURNAL}",
    "~/.config", "~/.config/hpc.onboard", "~/.config/hpc.onboard/receipt.json",
}  # fmt: skip
THEIRS = {
    "lrz": "mkdir -m 700 enroot; echo 'machine example.org login me password mine' > enroot/.credentials;"
    " chmod 600 enroot/.credentials",
    "dfki": "mkdir -p bin /data/$USER; echo mine > bin/mine; ln -s /data/$USER data",
    "wilson": "echo 'machine example.org login me password mine' > .netrc; chmod 600 .netrc",
    "daint": "echo 'alias ll=\"ls -l\"' >> .bashrc",
    "narval": "mkdir -m 700 .apptainer; cd .apptainer;"
    ' echo \'{"auths": {"example.org": {"auth": "YTpi"}}}\' > docker-config.json; chmod 600 docker-config.json',
}


@pytest.fixture
def scene(bed: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    accounts = [bed.new_account(cluster, shell=shell, skel=True) for cluster, shell in SHELLS.items()]
    with Web(installer(2, 0.01)) as web:
        settings = {one.name: {"vars": TOKENS} for one in accounts}
        settings[accounts[1].name].update(conda_settings(accounts[1], web))
        yield Scene(bed, tmp_path_factory.mktemp("offboard"), accounts, settings)


def offboard(scene: Scene, *more: str) -> Ran:
    """A run of offboard.yml."""
    order = ("-i", str(scene.inventory), "-e", "offboard_sure=true", *more)
    return play(scene.bed, *order, playbook="offboard.yml", environment=scene.environment)


def outcomes(ran: Ran) -> dict[str, list[dict[str, Any]]]:
    """The outcomes of each account, without the seconds, and without how far work is that goes on by itself.

    Whether a folder in conda's own is still there while that is being removed is left to chance.
    """
    return {
        one["host"]: [
            {k: v for k, v in outcome.items() if k not in ("seconds", "progress")}
            for outcome in one["result"]["outcomes"]
            if "miniconda3/" not in outcome["identity"]
        ]
        for one in ran.results
        if one["action"] == "hpc.onboard.offboard" and one["result"]["kind"] == "account"
    }


def changed(ran: Ran) -> set[str]:
    """The accounts on which a run changed something."""
    return {one["host"] for one in ran.results if one["result"].get("changed")}


def tree(account: Any) -> dict[str, tuple[Any, ...]]:
    """What lies on an account: kind, mode and content of each path, whenever it was written."""
    return {path: (entry.kind, entry.mode, entry.content) for path, entry in account.tree().items()}


def trees(scene: Scene) -> dict[str, dict[str, tuple[Any, ...]]]:
    return {one.name: tree(one) for one in scene.accounts}


def assert_as_before(scene: Scene, before: dict[str, dict[str, tuple[Any, ...]]]) -> None:
    """Nothing that was there has gone or is another, and nothing is there besides, but for LEFT where conda was."""
    for one in scene.accounts:
        now, then = tree(one), before[one.name]
        assert {path: now.get(path) for path in then} == then, one.name
        more = {path.replace(one.home, "~") for path in now.keys() - then.keys()}
        assert more <= {path.format(user=one.user) for path in LEFT if one.cluster.name == "dfki"}, one.name
        print(f"{one.cluster.name}: left are {', '.join(sorted(more)) or 'nothing'}")


def theirs(scene: Scene) -> None:
    """Things of the users' own, in the same files and folders as ours."""
    for one in scene.accounts:
        at(one, f"export USER={one.user}; {THEIRS.get(one.cluster.name, 'true')}")


def test_what_was_made_is_taken_out_and_what_was_there_stays(scene: Scene) -> None:
    theirs(scene)
    before = trees(scene)
    ran = scene.onboard()
    assert ran.code == 0, ran.text
    onboarded = {one.name: one.tree() for one in scene.accounts}
    preview = offboard(scene, "--check")
    assert preview.code == 0, preview.text
    assert {one.name: one.tree() for one in scene.accounts} == onboarded, "check mode wrote"
    for one in scene.accounts:
        one.reset_sessions()
    with Witness(*scene.accounts) as witness:
        done = offboard(scene)
        events = witness.seen()
    assert done.code == 0, done.text
    for name, came in outcomes(done).items():
        pairs = zip(came, outcomes(preview)[name], strict=True)
        assert [(a["identity"], key, a[key], b[key]) for a, b in pairs for key in a if a[key] != b[key]] == [], name
    assert_as_before(scene, before)
    assert_keys_first(events, scene)
    again = offboard(scene)
    assert again.code == 0, again.text
    assert changed(again) == set()
    assert_as_before(scene, before)


def assert_keys_first(events: list[str], scene: Scene) -> None:
    """The last change of a key's file comes before the first of anything else of ours, on each account."""
    keys = (".credentials", "docker-config.json", ".netrc", "/.ngc/", "huggingface/token")
    for one in scene.accounts:
        mine = [event for event in events if f"{one.home}/" in event and not re.search(r"receipt|\.lock", event)]
        of_keys = [any(key in event for key in keys) for event in mine]
        assert any(of_keys), one.name
        assert of_keys == sorted(of_keys, reverse=True), (one.name, mine)


def test_what_is_not_declared_any_more_goes_alone(scene: Scene) -> None:
    assert scene.onboard().code == 0
    before = trees(scene)
    wilson = next(one for one in scene.accounts if one.cluster.name == "wilson")
    scene.declare({wilson.name: {"vars": {"tokens_programs": [{"program": "ngc"}]}}})
    ran = offboard(scene, "-e", "offboard_only=undeclared")
    assert ran.code == 0, ran.text
    assert changed(ran) == {wilson.name}
    gone = {path.replace(wilson.home, "~") for path in before[wilson.name].keys() - tree(wilson).keys()}
    assert gone == {"~/.netrc", "~/.cache", "~/.cache/huggingface", "~/.cache/huggingface/token"}
    after = trees(scene)
    assert all(after[one.name] == before[one.name] for one in scene.accounts if one is not wilson)
    assert scene.onboard().code == 0
    assert scene.audit().findings == []


def test_killed_in_the_middle_the_next_run_finishes(scene: Scene) -> None:
    before = trees(scene)
    assert scene.onboard().code == 0
    environment = {**scene.bed.client.environment(), **scene.environment}
    killed = 0
    with Witness(*scene.accounts) as witness:
        run = subprocess.Popen(
            ["ansible-playbook", "offboard.yml", "-i", str(scene.inventory), "-e", "offboard_sure=true"],
            cwd=REPOSITORY,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        waiting = list(scene.accounts)
        while run.poll() is None:
            events = " ".join(witness.seen())
            for one in [one for one in waiting if f"{one.home}/" in events]:
                waiting.remove(one)
                killed += kill_all(one)
            time.sleep(0.001)
        run.wait()
    scene.bed.client.disconnect()
    half = [one.name for one in scene.accounts if ".config/hpc.onboard/receipt.json" in "".join(tree(one))]
    print(f"killed {killed} accounts at work; {len(half)} of them had not ended")
    assert killed
    assert half, "every account had ended before it was killed"
    ran = offboard(scene)
    assert ran.code == 0, ran.text
    assert_as_before(scene, before)
    assert not [path for one in scene.accounts for path in tree(one) if "draft" in path or ".lock" in path]


def kill_all(account: Any) -> int:
    """End every process of the account's user, as a node that goes down does; 1 if there was one."""
    found = account.processes()
    for process in found:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    return int(bool(found))
