# SPDX-License-Identifier: GPL-3.0-or-later
"""A key rotated over real accounts and a real registry: everywhere, or nowhere by halves."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.testbed.registry import PRIVATE, TAG, Registry, new_key

from .runs import FileRing, Ran, onboard, play, seen_from

pytestmark = pytest.mark.testbed

CLUSTERS = ("lrz", "lrz", "dfki", "wilson", "wilson", "daint")


class Stage(NamedTuple):
    """Accounts that hold the old key, a registry that knows it, and a keyring of the test's own."""

    bed: Any
    registry: Registry
    accounts: list[Any]
    environment: dict[str, str]
    ring: FileRing
    folder: Path
    old: str

    def rotate(self, *more: str, key: str | None = None, **wishes: Any) -> Ran:
        """A run of rotate_ngc.yml."""
        given = {
            "rotate_registry": self.registry.address,
            "rotate_image": f"{PRIVATE}:{TAG}",
            "rotate_canary_image": f"{PRIVATE}:{TAG}",
            "rotate_issuer": f"https://{self.registry.address}/v3/keys/get-caller-info",
            "rotate_ca_file": str(self.registry.ca_file),
            **wishes,
        }
        if key is not None:
            file = self.folder / "new-key"
            file.touch(0o600)
            file.write_text(key + "\n")
            given["rotate_key_file"] = str(file)
        wanted = ["-i", str(self.bed.accounts_file(self.accounts)), "-e", json.dumps(given), *more]
        return play(self.bed, *wanted, playbook="rotate_ngc.yml", environment=self.environment)

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


@pytest.fixture
def stage(bed: Any, tmp_path: Path) -> Iterator[Stage]:
    accounts = [bed.new_account(cluster) for cluster in CLUSTERS]
    here = seen_from(accounts[0])
    with Registry((here, "localhost"), listen="0.0.0.0") as registry:
        old = new_key()
        registry.allow(old, [PRIVATE])
        ring = FileRing(tmp_path, old)
        environment = {
            **ring.env,
            "KEYRING_PROPERTY_PASSPHRASE_FILE": str(ring.passphrase_file),
            "XDG_STATE_HOME": str(tmp_path / "state"),
        }
        made = Stage(bed, registry, accounts, environment, ring, tmp_path, old)
        assert onboard(bed, *accounts, environment=environment).code == 0
        assert all(set(made.held(account)) == {old} for account in accounts)
        yield made


def test_a_key_is_rotated_everywhere_and_the_old_one_proven_dead(stage: Stage) -> None:
    new = new_key()
    stage.registry.allow(new, [PRIVATE])
    for account in stage.accounts:
        account.reset_sessions()
    ran = stage.rotate(key=new)
    print(ran.text)
    assert ran.code == 0, ran.text
    assert all(set(stage.held(account)) == {new} for account in stage.accounts)
    assert "deactivate the old key" in " ".join(ran.text.split())
    stage.registry.revoke(stage.old)
    ended = stage.rotate(rotate_resume=True, rotate_retired=True)
    print(ended.text)
    assert ended.code == 0, ended.text
    again = stage.rotate(key=new)
    print(again.text)
    assert again.code == 0
