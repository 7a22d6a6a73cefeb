# SPDX-License-Identifier: GPL-3.0-or-later
"""The roles in anybody's playbook and inventory, from their own variables; and the answer by its schema."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery import payload
from ansible_collections.hpc.onboard.plugins.plugin_utils._roles.table import PLACES

from tests.effort import turns
from tests.integration.runs import KEY, REPOSITORY, onboard, play, seen_from
from tests.testbed.installer import installer
from tests.testbed.web import Web

pytestmark = pytest.mark.testbed

SETTINGS: dict[str, dict[str, Any]] = {
    "storage_links": {"storage_links_areas": [{"name": "tmp", "path": "/tmp", "link": "scratch"}]},
    "enroot_credentials": {"enroot_credentials_registries": [{"machine": "nvcr.io"}]},
    "container_caches": {"container_caches_runtime": "apptainer", "container_caches_folder": "~/data/apptainer"},
    "path_scripts": {"path_scripts_scripts": [{"name": "hello", "content": "#!/bin/sh\necho hello\n"}]},
    "launchers": {"launchers_site": "Attic"},
    "tool_caches": {"tool_caches_folder": "~/data/caches"},
    "own_files": {
        "own_files_folder": str(REPOSITORY),
        "own_files_files": [{"file": ".yamllint", "path": "~/.yamllint"}],
    },
    "shell_environment": {"shell_environment_variables": {"GREETING": "good day"}},
    "registry_auth": {"registry_auth_registries": [{"registry": "nvcr.io"}]},
    "tokens": {"tokens_programs": [{"program": one, "secret": "ngc"} for one in ("wandb", "huggingface", "ngc")]},
    "job_scripts": {"job_scripts_templates": ["batch"]},
    "python_envs": {"python_envs_environments": [{"name": "demo"}], "python_envs_maker": "venv"},
    "conda": {"conda_wanted": True, "conda_prefix": "~/data/conda", "conda_version": "1"},
}
SEEN = {
    "storage_links": ("readlink ~/scratch", "/tmp"),
    "enroot_credentials": ("cat ~/.config/enroot/.credentials", f"machine nvcr.io login $oauthtoken password {KEY}"),
    "container_caches": ("echo $APPTAINER_CACHEDIR", "{home}/data/apptainer"),
    "path_scripts": ("hello", "hello"),
    "launchers": (
        "usrun.sh --image=none --show id",
        "srun -K --export=ALL --nodes=1 --ntasks-per-node=1 --gpus=1 --time=60 id",
    ),
    "tool_caches": ("echo $PIP_CACHE_DIR", "{home}/data/caches/pip"),
    "own_files": ("head -1 ~/.yamllint", (REPOSITORY / ".yamllint").read_text().splitlines()[0]),
    "shell_environment": ("echo $GREETING", "good day"),
    "registry_auth": ("jq -r '.auths[].auth' ~/.apptainer/docker-config.json | base64 -d", f"$oauthtoken:{KEY}"),
    "tokens": ("cat ~/.cache/huggingface/token", KEY),
    "job_scripts": ("head -1 ~/jobs/batch.sh", "#!/usr/bin/env bash"),
    "python_envs": ("~/envs/demo/bin/python -c 'print(6 * 7)'", "42"),
    "conda": ("conda list", "conda in sh: list"),
}


def test_every_role_has_settings_here() -> None:
    roles = {path.name for path in (REPOSITORY / "roles").iterdir()}
    assert set(SETTINGS) == roles - {"container_images"}  # which wants a registry and a container tool: ../jobs


@pytest.fixture
def web() -> Iterator[Web]:
    with Web(installer()) as server:
        yield server


def served(web: Web, account: Any) -> dict[str, Any]:
    """The settings by which conda's installer comes from the test's web server."""
    url = f"http://{seen_from(account)}:{web.port}/installer.sh"
    one = {"url": url, "sha256": hashlib.sha256(web.content).hexdigest()}
    return {"conda_installers": {os.uname().machine: one}}


@turns(4)
@pytest.mark.parametrize("role", sorted(SETTINGS))
def test_a_role_works_alone_in_a_plain_roles_list(bed: Any, tmp_path: Path, web: Web, role: str) -> None:
    account = bed.new_account("dfki", files={"data/x": b""})
    host = {
        "ansible_host": account.host,
        "ansible_user": account.user,
        "ansible_ssh_common_args": f"-F {bed.ssh_config}",
    }
    inventory = tmp_path / "hosts.yml"
    inventory.write_text(json.dumps({"mine": {"hosts": {"somewhere": host}}}))
    entry = {"role": f"hpc.onboard.{role}", **SETTINGS[role], **(served(web, account) if role == "conda" else {})}
    playbook = tmp_path / "site.yml"
    playbook.write_text(json.dumps([{"hosts": "mine", "gather_facts": False, "roles": [entry]}]))
    for changed in (True, False):
        ran = play(bed, "-i", str(inventory), playbook=str(playbook))
        assert ran.code == 0, ran.text
        assert ran.of("somewhere")["changed"] is changed
    command, said = SEEN[role]
    assert account.login_shell(command).stdout.strip() == said.format(home=account.home)


def test_absent_takes_out_what_present_made(bed: Any) -> None:
    account = bed.new_account(
        "dfki", files={".bashrc": b"# mine\n", "enroot/.credentials": b"machine x login y password z\n"}
    )
    before = {path: entry.content for path, entry in account.tree().items()}
    assert onboard(bed, account).code == 0
    absent = {
        "storage_links": {"state": "absent"},
        "enroot_credentials": {"state": "absent"},
        "container_caches": {"state": "absent"},
        "path_scripts": {"state": "absent"},
        "launchers": {"state": "absent"},
        "tool_caches": {"state": "absent"},
    }
    ran = onboard(bed, account, settings={account.name: absent})
    assert ran.code == 0, ran.text
    after = {path: entry.content for path, entry in account.tree().items()}
    assert {path: after[path] for path in before} == before
    left = {path for path in after if path not in before and not account.path(path).is_dir()}
    left = {path for path in left if "/engine-" not in path}
    assert left == {f"{account.home}/.config/hpc.onboard/receipt.json"}
    noted = json.loads(account.read(".config/hpc.onboard/receipt.json"))["resources"].values()
    assert {note["kind"] for note in noted} == {"directory"}  # no role takes a folder out


def test_the_engine_answers_by_its_schema(bed: Any) -> None:
    schema = json.loads((REPOSITORY / "docs/schemas/answer.schema.json").read_text())
    account = bed.new_account("wilson")
    entries = [
        {
            "kind": "directory",
            "capability": "resources",
            "options": {"path": "~/a", "mode": "0700", "state": "present"},
        },
        {
            "kind": "storage_link",
            "capability": "resources",
            "options": {"path": "~/l", "target": "/no", "state": "present"},
        },
    ]
    plan = {"resources": entries, "work": "reconcile", "fingerprint_key": "00" * 32, "receipt": True}
    sent = payload.build_payload(plan, PLACES)
    said = _over_ssh(account, payload.build_command(None, []), sent)
    document = json.loads(said.split(payload.FRAME)[1].split("\n", 1)[1])
    jsonschema.validate(document, schema)
    assert [one["status"] for one in document["outcomes"]] == ["missing", "blocked"]
    assert list(document["receipt"]["notes"]) == ["directory folder ~/.config", "directory folder ~/a"]


def _over_ssh(account: Any, command: str, sent: bytes) -> str:
    line = [*account.ssh_command(), f"/bin/sh -c {shlex.quote(command)}"]
    return subprocess.run(line, input=sent, capture_output=True, check=True).stdout.decode()
