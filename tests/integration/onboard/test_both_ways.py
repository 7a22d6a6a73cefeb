# SPDX-License-Identifier: GPL-3.0-or-later
"""Every kind of resource through its own module and through converge: the same outcome, previewed and taken."""

from __future__ import annotations

import hashlib
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.plan import KINDS
from ansible_collections.hpc.onboard.plugins.plugin_utils._state.fingerprint_key import derive_key

from tests.effort import sample, turns
from tests.integration.runs import KEY, Ran, play, seen_from
from tests.testbed.installer import installer
from tests.testbed.web import Web

pytestmark = pytest.mark.testbed

SCRIPT = "#!/bin/sh\necho hello\n"
INSTALLER = installer()
CONDA = {
    "prefix": "~/conda",
    "distribution": "miniforge",
    "version": "26.1.1-3",
    "installers": {
        os.uname().machine: {"url": "http://WEB/installer.sh", "sha256": hashlib.sha256(INSTALLER).hexdigest()}
    },
}
DEMO = {"name": "demo", "content": "dependencies: [python]\n"}
LIVES: dict[str, list[dict[str, Any]]] = {
    "conda_install": [
        CONDA,
        {**CONDA, "environments": [DEMO], "channels": ["bioconda", "conda-forge"]},
        {**CONDA, "environments": [{**DEMO, "content": "dependencies: [python, numpy]\n"}]},
        {**CONDA, "prefix": "~/there"},
        {**CONDA, "state": "absent"},
    ],
    "directory": [
        {"path": "~/data/deep"},
        {"path": "~/data/deep/er", "root": "~/data"},
        {"path": "~/a-file"},
        {"path": "~/data/deep/er", "state": "absent"},
    ],
    "storage_link": [
        {"path": "~/link", "target": "~/there"},
        {"path": "~/link", "target": "/usr"},
        {"path": "~/link", "target": "/nowhere"},
        {"path": "~/a-file", "target": "/usr"},
        {"path": "~/link", "target": "/usr", "state": "absent"},
    ],
    "enroot_credential": [
        {"machine": "nvcr.io"},
        {"machine": "authn.nvidia.com", "login": "me"},
        {"machine": "nvcr.io", "state": "absent"},
        {"machine": "nvcr.io", "path": "~/a-link/.credentials"},
    ],
    "registry_auth": [
        {"registry": "nvcr.io"},
        {"registry": "ghcr.io", "login": "me"},
        {"registry": "nvcr.io", "state": "absent"},
        {"registry": "nvcr.io", "path": "~/a-file"},
    ],
    "netrc_entry": [
        {"machine": "api.wandb.ai"},
        {"machine": "api.wandb.ai", "login": "me"},
        {"machine": "api.wandb.ai", "state": "absent"},
    ],
    "rotated_key": [
        {"path": "~/enroot/.credentials", "places": [{"kind": "enroot_credential", "machine": "nvcr.io"}]},
        {"path": "~/.netrc", "places": [{"kind": "netrc_entry", "machine": "api.wandb.ai"}]},
        {"path": "~/a-file", "places": [{"kind": "registry_auth", "registry": "nvcr.io"}]},
    ],
    "key_leftovers": [{"known": {"key 0123456789ab": "the old key"}, "own": ["~/.netrc"], "caches": ["~/there"]}],
    "container_image": [
        {"image": "nvcr.io/nvidia/pytorch:24.03-py3", "folder": "~/there", "runtime": "enroot", "state": "absent"}
    ],
    "emptied_cache": [
        {"path": "~/there", "runtime": "enroot"},
        {"path": "~/a-link", "runtime": "apptainer"},
        {"path": "~/there", "runtime": "apptainer", "state": "absent"},
    ],
    "scheduler": [{}, {"account": "p1", "likely": "p2", "required": "yes"}],
    "slurm_test_job": [{"folder": "~/.hpc.onboard-test-job", "state": "absent"}],
    "token_file": [{}, {"path": "~/a-link/token"}, {"state": "absent"}],
    "ngc_config": [{}, {"path": "~/a-file"}, {"state": "absent"}],
    "path_script": [
        {"path": "~/bin/hello", "content": SCRIPT},
        {"path": "~/bin/hello", "content": SCRIPT + "exit 0\n"},
        {"path": "~/bin/hello", "state": "absent"},
        {"path": "~/a-file", "content": SCRIPT},
    ],
    "shell_environment": [
        {"section": "one", "variables": {"A": "b c"}, "path": ["~/bin"]},
        {"section": "two", "variables": {"D": "~/d"}},
        {"section": "one", "state": "absent"},
        {"section": "two", "state": "absent"},
    ],
    "python_env": [
        {"path": "~/envs/demo", "root": "~", "python": "/usr/bin/python3", "maker": "venv"},
        {"path": "~/there", "python": "/usr/bin/python3", "maker": "venv"},
        {"path": "~/envs/demo", "root": "~", "python": "/usr/bin/python3", "maker": "venv", "state": "absent"},
    ],
    "own_file": [
        {"path": "~/made", "content": "# one\ntwo\n"},
        {"path": "~/made", "content": "three\n", "mode": "0600"},
        {"path": "~/a-file", "content": "three\n"},
        {"path": "~/made", "state": "absent"},
    ],
}


def life(kind: str) -> list[dict[str, Any]]:
    """The steps of a kind's life; in a sample, one of them."""
    return sample(LIVES[kind], 1, kind)


def test_every_kind_has_a_life_here() -> None:
    assert set(LIVES) == set(KINDS)


@turns(6)
@pytest.mark.parametrize("kind", sorted(LIVES))
def test_both_ways_give_the_same_outcomes(bed: Any, kind: str, tmp_path: Path) -> None:
    files = {"a-file": b"mine\n", "there/x": b"", ".bashrc": b"# mine\n"}
    accounts = [bed.new_account("dfki", files=files) for _way in range(2)]
    for account in accounts:
        account.ssh("ln -s there a-link")
    key = _fingerprint_key(bed, accounts[1].name)
    with Web(INSTALLER) as web:
        module, shared = (
            _lived(bed, account, kind, tmp_path / f"{way}.yml", (way, key, f"{seen_from(account)}:{web.port}"))
            for account, way in zip(accounts, ("module", "converge"), strict=True)
        )
    assert module == shared
    assert len(module) == 3 * len(life(kind))
    for number in range(len(life(kind))):
        preview, taken, again = module[3 * number : 3 * number + 3]
        assert preview == taken
        assert again["status"] == ("ok" if taken["reason"] is None else taken["status"])


def _fingerprint_key(bed: Any, name: str) -> str:
    """The key that converge makes an account's fingerprints with; a run makes the one that it follows from."""
    account = bed.new_account("dfki")
    assert play(bed, "-i", str(bed.accounts_file([account]))).code == 0
    found = next(Path(bed.folder).rglob("fingerprint.key")).read_text().strip()
    return derive_key(bytes.fromhex(found), "fingerprints of an account", name).hex()


def _lived(bed: Any, account: Any, kind: str, file: Path, how: tuple[str, str, str]) -> list[dict[str, Any]]:
    way, key, web = how
    tasks = [
        {
            **_task(kind, json.loads(json.dumps(options).replace("WEB", web)), way, key),
            "check_mode": check,
            "ignore_errors": True,
        }
        for options in life(kind)
        for check in (True, False, False)
    ]
    plays = [{"hosts": "accounts", "gather_facts": False, "vars": {"the_key": KEY}, "tasks": tasks}]
    file.write_text(json.dumps(plays))
    ran = play(bed, "-i", str(bed.accounts_file([account])), playbook=str(file))
    return [_outcome(one["result"], account) for one in ran.results]


def _task(kind: str, options: dict[str, Any], way: str, key: str) -> dict[str, Any]:
    with_key = "password" in KINDS[kind].OPTIONS and options.get("state") != "absent"
    if way == "converge":
        entry = {"kind": kind, **options, **({"secret": "ngc"} if with_key else {})}
        return {"hpc.onboard.converge": {"resources": [entry]}}
    password = {"password": "{{ the_key }}"} if with_key else {}
    return {f"hpc.onboard.{kind}": {**options, **password, "fingerprint_key": key}}


def _outcome(result: dict[str, Any], account: Any) -> dict[str, Any]:
    outcome: dict[str, Any] = result["outcome"] if "outcome" in result else result["outcomes"][0]
    text = json.dumps(outcome).replace(account.user, "USER")
    same = json.loads(
        re.sub(r"Kept by hpc\.onboard \([0-9a-f]{12}\)", "Kept by hpc.onboard", text)
    )  # of the whole text
    return {name: same[name] for name in ("identity", "status", "fields", "before", "after", "reason")}


def test_the_record_is_of_every_task(bed: Any) -> None:
    account = bed.new_account("dfki")
    ran: Ran = play(bed, "-i", str(bed.accounts_file([account])))
    assert [one["action"] for one in ran.results] == ["hpc.onboard.converge"]
