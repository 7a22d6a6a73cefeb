# SPDX-License-Identifier: GPL-3.0-or-later
"""What the tests of a rotation share: accounts that hold an old key, a registry that knows it, a keyring and runs."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets.file_format import Kdf

from tests.effort import EXHAUSTIVE
from tests.integration.runs import CHEAP, REPOSITORY, FileRing, Ran, onboard, play, seen_from
from tests.testbed.registry import PRIVATE, TAG, Registry, new_key, new_legacy_key

CLUSTERS = ("lrz", "lrz", "dfki", "wilson", *(("wilson", "daint") if EXHAUSTIVE else ()))


class Stage(NamedTuple):
    """Accounts that hold the old key, a registry that knows it, and a keyring of the test's own."""

    bed: Any
    registry: Registry
    accounts: list[Any]
    environment: dict[str, str]
    ring: FileRing
    folder: Path
    old: str

    def rotate(self, *more: str, key: str | None = None, programs: Path | None = None, **wishes: Any) -> Ran:
        """A run of rotate_ngc.yml; programs: another folder with ansible-playbook."""
        wanted = [*self.wanted(key, "new-key", wishes), *more]
        return play(self.bed, *wanted, playbook="rotate_ngc.yml", environment=self.environment, programs=programs)

    def wanted(self, key: str | None, name: str, wishes: dict[str, Any]) -> list[str]:
        """The arguments of a run, the key in a file of that name."""
        given = {
            "rotate_registry": self.registry.address,
            "rotate_image": f"{PRIVATE}:{TAG}",
            "rotate_canary_image": f"{PRIVATE}:{TAG}",
            "rotate_issuer": f"https://{self.registry.address}/v3/keys/get-caller-info",
            "rotate_ca_file": str(self.registry.ca_file),
            **wishes,
        }
        if key is not None:
            file = self.folder / name
            file.touch(0o600)
            file.write_text(key + "\n")
            given["rotate_key_file"] = str(file)
        return ["-i", str(self.bed.accounts_file(self.accounts)), "-e", json.dumps(given)]

    def begun(self, key: str, name: str, **wishes: Any) -> subprocess.Popen[str]:
        """A run in the background, in a session of its own."""
        program = ["ansible-playbook", "rotate_ngc.yml", *self.wanted(key, name, wishes)]
        environment = {**self.bed.client.environment(), **self.environment}
        return subprocess.Popen(
            program,
            cwd=REPOSITORY,
            env=environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def ledger_fits(self, state: Path) -> bool:
        """Whether every line of the ledger is as it was written."""
        code = (
            "import sys; sys.path[:0] = sys.argv[1:]\n"
            "from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.ledger import Ledger\n"
            "from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.ledger import record_key\n"
            "misfit = Ledger(record_key()).find_misfit(); print(misfit); sys.exit(misfit is not None)\n"
        )
        environment = {**self.bed.client.environment(), "XDG_STATE_HOME": str(state)}
        order = [sys.executable, "-c", code, *sys.path]
        return subprocess.run(order, env=environment, check=False).returncode == 0

    def held(self, account: Any) -> list[str]:
        """The keys in the files of an account that hold any."""
        found = []
        for path in ("enroot/.credentials", ".config/enroot/.credentials", ".apptainer/docker-config.json"):
            if account.exists(path):
                script = "import base64,re,sys; t=open(sys.argv[1]).read(); t+=''.join(base64.b64decode(a).decode() "
                script += 'for a in re.findall(r\'"auth": "([^"]*)"\', t)); print(*re.findall(r\'nvapi-[\\w-]+\', t))'
                order = [sys.executable, "-c", script, str(account.path(path))]
                found += subprocess.run(order, check=True, capture_output=True, text=True).stdout.split()
        return found

    def keyring(self, name: str) -> str:
        """What the keyring has under a name."""
        return self.ring.keyring("get", "hpc.onboard", name).stdout.strip()


@contextlib.contextmanager
def staged(
    bed: Any, folder: Path, clusters: Sequence[str] = CLUSTERS, legacy: bool = False, kdf: Kdf | None = CHEAP
) -> Iterator[Stage]:
    """A stage, its accounts set up with the old key; what it keeps lies in the folder. The first cluster is lrz."""
    accounts = [bed.new_account(cluster) for cluster in clusters]
    here = seen_from(accounts[0])
    with Registry((here, "localhost"), listen="0.0.0.0") as registry:
        old = new_legacy_key() if legacy else new_key()
        registry.allow(old, [PRIVATE])
        ring = FileRing(folder, old, kdf)
        environment = {
            **ring.env,
            "KEYRING_PROPERTY_PASSPHRASE_FILE": str(ring.passphrase_file),
            "XDG_STATE_HOME": str(folder / "state"),
        }
        made = Stage(bed, registry, accounts, environment, ring, folder, old)
        assert onboard(bed, *accounts, environment=environment).code == 0
        assert legacy or all(set(made.held(account)) == {old} for account in accounts)
        yield made


def settled(stage: Stage, new: str) -> bool:
    """Whether every account holds the new key alone."""
    return all(set(stage.held(account)) == {new} for account in stage.accounts)


def elsewhere(stage: Stage, folder: Path) -> Stage:
    """The same accounts, from another machine."""
    ring = FileRing(folder, stage.old)
    own = {"KEYRING_PROPERTY_PASSPHRASE_FILE": str(ring.passphrase_file), "XDG_STATE_HOME": str(folder / "state")}
    return stage._replace(ring=ring, folder=folder, environment={**stage.environment, **ring.env, **own})
