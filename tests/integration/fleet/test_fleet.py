# SPDX-License-Identifier: GPL-3.0-or-later
"""A site's machine room: ansible-runner hands a fleet's jobs from one machine to another, and brings back what came.

The two machines are mount namespaces: neither sees the other one's folder, the testbed's, or its home. What is shared
is the pipe, as between a controller of AWX and the container in which it runs a job. Of the accounts a few are real,
the others sandboxes, which lie on the machine that works.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.effort import EXHAUSTIVE, turns
from tests.integration.runs import KEY, PASSPHRASE, REPOSITORY, FileRing, seen_from
from tests.testbed.further_sshd import FurtherSshd

pytestmark = [pytest.mark.testbed, turns(2)]

REAL = ("wilson", "lrz", "dfki")
ALL = 100 if EXHAUSTIVE else 6
JOB = "17"
PORT = 2231
RUNNER = str(Path(sys.executable).with_name("ansible-runner"))
APART = 'for folder in $HIDDEN; do mount -t tmpfs -o mode=0755 apart "$folder"; done; exec "$@"'
CLUSTERS = ("wilson", "lrz", "daint", "dfki")


class Site:
    """A controller that has the accounts file and all credentials, and a worker that has an empty home."""

    def __init__(self, bed: Any, folder: Path, real: Sequence[str] = REAL, number: int = ALL) -> None:
        """real: the clusters of real accounts. number: of all accounts; the others are sandboxes."""
        self.bed = bed
        self.real = [bed.new_account(name) for name in real]
        self.control, self.worker, self.home = folder / "control", folder / "worker", folder / "home"
        for one in (self.control / "env", self.control / "inventory", self.control / "project", self.worker, self.home):
            one.mkdir(parents=True, mode=0o700)
        self._write_accounts(number)
        self._write_credentials(folder)

    @property
    def came(self) -> Path:
        """The folder with what came back of the last job."""
        return self.control / "artifacts" / JOB

    @property
    def names(self) -> set[str]:
        """Of all accounts."""
        return set(json.loads((self.control / "inventory/accounts.yml").read_text())["accounts"])

    def runs(self, playbook: str, *words: str) -> int:
        """Let the worker run a playbook, and process what comes back; the exit code of the run."""
        shutil.rmtree(self.came, ignore_errors=True)
        more = ["--cmdline", " ".join(words)] if words else []
        transmit = [RUNNER, "transmit", str(self.control), "--ident", JOB, "-p", playbook, *more]
        sent = self._on([self.worker], transmit, b"")
        hidden = [self.control, Path(self.bed.folder)]
        self.stream = self._on(hidden, [RUNNER, "worker", "--private-data-dir", str(self.worker)], sent)
        self._on([self.worker], [RUNNER, "process", str(self.control), "--ident", JOB], self.stream)
        return int((self.came / "rc").read_text())

    @property
    def said(self) -> str:
        """What the run printed, as the controller keeps it."""
        return (self.came / "stdout").read_text()

    @property
    def report(self) -> dict[str, Any]:
        """The audit's report, as it came back."""
        found: dict[str, Any] = json.loads((self.came / "report/audit.json").read_text())
        return found

    def brought_back(self) -> bytes:
        """All bytes that the controller keeps of the run, beside those that it has sent."""
        return b"".join(file.read_bytes() for file in self.came.rglob("*") if file.is_file())

    def _on(self, hidden: list[Path], command: list[str], given: bytes) -> bytes:
        """Run a command on a machine that has none of these folders; what it printed. It must succeed, or end a job."""
        place = ["unshare", "--mount", "--propagation=private", "sh", "-c", APART, "sh", *command]
        path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
        environment = {"PATH": path, "HOME": str(self.home), "LC_ALL": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"}
        environment["HIDDEN"] = " ".join(map(str, hidden))
        done = subprocess.run(place, input=given, env=environment, capture_output=True, timeout=600, check=False)
        assert done.stdout, done.stderr.decode()
        return done.stdout

    def _write_accounts(self, number: int) -> None:
        own = {"ansible_ssh_common_args": f"-F {self.worker}/project/ssh_config"}
        settings = {one.name: {"vars": own} for one in self.real}
        for one in self.real:
            if one.cluster.name == "dfki":
                settings[one.name]["vars"] = {**own, "ansible_port": self._consented(one)}
        file = self.bed.accounts_file(self.real, settings=settings)
        written = json.loads(Path(file).read_text())
        for other in range(number - len(self.real)):
            entry = {"sandbox": True, "project": "deep_lgt"}
            written["accounts"][f"s{other:03}@{CLUSTERS[other % len(CLUSTERS)]}"] = entry
        (self.control / "inventory/accounts.yml").write_text(json.dumps(written))

    def _consented(self, account: Any) -> int:
        """The port of an sshd that knows the key by a line such as docs/fleet.md gives people to put in place."""
        line = f'from="{seen_from(account)}",restrict {Path(f"{self.bed.key}.pub").read_text()}'
        place = account.cluster.world.root / "etc/ssh/consent"
        place.write_text(line)
        place.chmod(0o644)
        FurtherSshd(account.cluster, "consent", PORT, {"AuthorizedKeysFile": "/etc/ssh/consent"})
        return PORT

    def _write_credentials(self, folder: Path) -> None:
        """What the site's controller keeps in its vault and sends along: ssh's key, the keyring and its passphrase."""
        project, env = self.control / "project", self.control / "env"
        bed = Path(self.bed.folder)
        settings = Path(self.bed.ssh_config).read_text()
        away = ("IdentityFile", "IdentitiesOnly", "IdentityAgent")
        kept = [row for row in settings.splitlines() if not row.strip().startswith(away)]
        (project / "ssh_config").write_text(
            "\n".join(kept).replace(str(bed / "known_hosts"), f"{self.worker}/project/known_hosts") + "\n"
        )
        shutil.copy(bed / "known_hosts", project / "known_hosts")
        shutil.copy(self.bed.key, env / "ssh_key")
        ring = FileRing(folder)
        for file in (ring.file, ring.passphrase_file):
            shutil.copy(file, env / file.name)
        where = {
            "KEYRING_PROPERTY_FILE": f"{self.worker}/env/{ring.file.name}",
            "KEYRING_PROPERTY_PASSPHRASE_FILE": f"{self.worker}/env/{ring.passphrase_file.name}",
            "ANSIBLE_STDOUT_CALLBACK": "hpc.onboard.console",
            "TERM": "dumb",
        }
        (env / "envvars").write_text(json.dumps({**ring.env, **where}))


def test_a_fleet_is_onboarded_and_audited_by_another_machine_and_no_key_comes_back(bed: Any, short_path: Path) -> None:
    site = Site(bed, short_path)
    assert len(site.names) == ALL
    assert site.runs("hpc.onboard.onboard") == 0, site.said
    assert f"{ALL} accounts: {ALL} changed" in site.said
    assert [one.sessions() for one in site.real[:2]] == [1, 1]  # the third has another sshd
    assert KEY.encode() in site.real[1].read("enroot/.credentials")

    report = ["-e", f"audit_output={site.worker}/artifacts/{JOB}/report"]
    assert site.runs("hpc.onboard.audit", *report) == 0, site.said
    rows = {row["name"]: row["state"] for row in site.report["accounts"]}
    assert rows == dict.fromkeys(site.names, "measured")
    assert [one.sessions() for one in site.real[:2]] == [2, 2]

    drifted = site.real[0]
    drifted.path("work", follow=False).unlink()
    assert site.runs("hpc.onboard.audit", *report, "-e", "audit_fail_on=medium") == 2, site.said
    worse = {one["account"] for one in site.report["findings"] if one["severity"] in ("high", "medium")}
    assert worse == {drifted.name}
    assert site.runs("hpc.onboard.onboard", "-l", drifted.name) == 0, site.said
    assert drifted.path("work", follow=False).is_symlink()
    secrets = (KEY, PASSPHRASE, Path(bed.key).read_text().splitlines()[1])
    assert [one for one in secrets if one.encode() in site.brought_back() + site.stream] == []


def test_the_execution_environment_is_one_that_ansible_builder_takes(tmp_path: Path) -> None:
    builder = str(Path(sys.executable).with_name("ansible-builder"))
    file = REPOSITORY / "docs/examples/execution-environment.yml"
    done = subprocess.run(
        [builder, "create", "-f", str(file), "-c", str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "_build/requirements.txt").read_text().split()[0] == "hpc-onboard"
    recipe = next(tmp_path.glob("*ile")).read_text()
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    (core,) = (one for one in project["dependencies"] if one.startswith("ansible-core"))
    assert core in recipe
