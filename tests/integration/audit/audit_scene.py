# SPDX-License-Identifier: GPL-3.0-or-later
"""What the tests of the audit share: accounts that were set up, audits of them, and commands as people paste them."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from ansible_collections.hpc.onboard.plugins.plugin_utils._state import done_steps

from tests.integration.runs import REPOSITORY, Ran, keyring_environment, play, seen_from
from tests.testbed.web import Web

WANDB, HUGGINGFACE = "w" * 40, "hf_" + "h" * 34
TOKENS = {"tokens_programs": [{"program": one} for one in ("wandb", "huggingface", "ngc")]}

STANDINS = r"""for name in quota dssusrinfo diskusage_report; do
printf '%s\n' '#!/bin/sh' 'file=/var/tmp/quota-$(id -un)' '[ ! -e "$file" ] || exec cat "$file"' \
    'echo "Disk quotas for user $(id -un): none"' > /usr/bin/$name; chmod 755 /usr/bin/$name; done"""
"""The sites' own commands, which print what lies in /var/tmp/quota-USER, else that there is no quota."""


class Audit(NamedTuple):
    """An audit that has ended: the run, and its report."""

    ran: Ran
    report: dict[str, Any]

    @property
    def findings(self) -> list[dict[str, Any]]:
        """All findings."""
        found: list[dict[str, Any]] = self.report["findings"]
        return found

    def of(self, account: Any) -> list[dict[str, Any]]:
        """The findings of one account."""
        return [one for one in self.findings if one["account"] == account.name]

    def row(self, account: Any) -> dict[str, Any]:
        """The account's row, without the seconds, which no two runs share."""
        row = next(one for one in self.report["accounts"] if one["name"] == account.name)
        return {name: value for name, value in row.items() if name != "seconds"}


def known(findings: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return findings without the field that the audit before decides."""
    return [{name: value for name, value in one.items() if name != "new"} for one in findings]


class Scene:
    """Accounts in one accounts file that always lies in the same place, and a controller's state of their own."""

    def __init__(self, bed: Any, folder: Path, accounts: list[Any], settings: Mapping[str, Any] | None = None) -> None:
        """settings: more keys of an account, by its name."""
        folder.mkdir(exist_ok=True)
        self.bed, self.folder, self.accounts = bed, folder, accounts
        self.inventory = folder / "accounts.yml"
        self.environment = {**_keys(folder), "XDG_STATE_HOME": str(folder / "state")}
        self.settings = dict(settings or {})
        self.say_done()
        for account in accounts:
            by_root(account, STANDINS)
            for shared in (folder for folder in account.folders if not folder.endswith(account.user)):
                by_root(account, f"mkdir -p -m 700 {shared}/colleague")
        self.declare()

    def say_done(self) -> None:
        """Let the person have said that each step is done which nothing shows."""
        mark = {"at": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"), "by": "ada@here"}
        said = {}
        for account in self.accounts:
            file = REPOSITORY / "inventory" / "clusters" / f"{account.name.partition('@')[2]}.yml"
            steps = yaml.safe_load(file.read_text(encoding="utf-8")).get("human_steps", ())
            said[account.name] = {step["id"]: mark for step in steps if "done" not in step}
        place = self.folder / "state" / "hpc.onboard"
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        (place / done_steps.FILE).touch(mode=0o600)
        (place / done_steps.FILE).write_text(
            json.dumps({"schema": done_steps.SCHEMA, "accounts": said}), encoding="utf-8"
        )

    def declare(self, changed: Mapping[str, Any] | None = None) -> None:
        """Write the accounts file; changed: settings in place of those of the scene, by account name."""
        written = self.bed.accounts_file(self.accounts, settings={**self.settings, **(changed or {})})
        shutil.copyfile(written, self.inventory)

    def onboard(self, *more: str) -> Ran:
        """A run of onboard.yml."""
        return play(self.bed, "-i", str(self.inventory), *more, environment=self.environment)

    def audit(self, *more: str, timeout: float = 180, **wishes: Any) -> Audit:
        """A run of audit.yml; wishes: its audit_... settings."""
        output = self.folder / f"report-{uuid.uuid4().hex[:8]}"
        given = json.dumps({"audit_output": str(output), "audit_formats": "json", "audit_max_age": 100_000, **wishes})
        ran = play(
            self.bed,
            *("-i", str(self.inventory), "-e", given, *more),
            playbook="audit.yml",
            environment=self.environment,
            timeout=timeout,
        )
        file = output / "audit.json"
        return Audit(ran, json.loads(file.read_text()) if file.exists() else {})

    def pasted(self, command: str, **more: str) -> subprocess.CompletedProcess[str]:
        """Run a command in a shell, as a person who pastes it there does."""
        environment = {**self.bed.client.environment(), **self.environment, **more}
        return subprocess.run(
            ["sh", "-c", command],
            cwd=REPOSITORY,
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )


def _keys(folder: Path) -> dict[str, str]:
    """A keyring with the keys of all programs, and how a run is told of it."""
    environment = keyring_environment(folder)
    order = [sys.executable, "-m", "keyring", "set", "hpc.onboard"]
    for name, value in (("wandb", WANDB), ("huggingface", HUGGINGFACE)):
        own = {**environment, "HOME": str(folder), "PATH": "/usr/bin:/bin"}
        subprocess.run([*order, name], input=value, text=True, check=True, env=own)
    return environment


def replaced(state: str, old: str) -> None:
    """Let the record of versions in a state folder say that an old key, dead by now, went before the one in use."""
    code = (
        "import sys; sys.path[:0] = sys.argv[2:]\n"
        "from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation import adapters\n"
        "from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets import key_marks, version_store, versions\n"
        "from ansible_collections.hpc.onboard.plugins.plugin_utils._state import fingerprint_key\n"
        "key, name = bytes.fromhex(fingerprint_key.local_key()), versions.new_id()\n"
        "marks = {'fingerprint': adapters.fingerprint(sys.argv[1])}\n"
        "marks['sealed'] = key_marks.encrypt_hash(sys.argv[1], 'ngc', name, key)\n"
        "old = versions.KeyVersion(name, 'personal', 'dead', **marks)\n"
        "now = versions.KeyVersion('first', 'personal', 'current')\n"
        "sidecar = version_store.VersionStore('ngc', key)\n"
        "sidecar.read_or_adopt('personal'); sidecar.update(lambda secret: versions.Secret('ngc', (old, now)))\n"
    )
    order = [sys.executable, "-c", code, old, str(REPOSITORY / "collections"), *sys.path]
    subprocess.run(order, check=True, env={**os.environ, "XDG_STATE_HOME": state})


def conda_settings(account: Any, web: Web, **more: Any) -> dict[str, Any]:
    """What the accounts file says, so that conda's installer comes from the test's web server."""
    url = f"http://{seen_from(account)}:{web.port}/Standin3.sh"
    installers = {os.uname().machine: {"url": url, "sha256": hashlib.sha256(web.content).hexdigest()}}
    terms = {"distribution": "miniconda", "anaconda_terms": "accepted", "version": "26.1.1-3"}
    return {"conda": {**terms, "installers": installers, **more}}


def at(account: Any, command: str) -> None:
    """Run a command on the account as its user, and not through ssh."""
    identity = ["setpriv", f"--reuid={account.login_entry.uid}", f"--regid={account.login_entry.gid}", "--init-groups"]
    script = f"set -e; export HOME={account.home}; cd; umask 022; {command}"
    done = subprocess.run(
        account.cluster.world.command(*identity, "bash", "-c", script), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, (command, done.stdout, done.stderr)


def by_root(account: Any, command: str) -> None:
    """Run a command on the account's cluster as the site would."""
    account.cluster.world.run("sh", "-ec", command)
