# SPDX-License-Identifier: GPL-3.0-or-later
"""A key rotated over real accounts and a real registry: everywhere, or nowhere by halves."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.testbed.registry import PRIVATE, TAG, Registry, new_key

from .runs import REPOSITORY, FileRing, Ran, onboard, play, seen_from

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
        wanted = self.wanted(key, "new-key", wishes)
        return play(self.bed, *wanted, *more, playbook="rotate_ngc.yml", environment=self.environment)

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

    def begun(self, key: str, name: str) -> subprocess.Popen[str]:
        """A run in the background, in a session of its own."""
        program = ["ansible-playbook", "rotate_ngc.yml", *self.wanted(key, name, {})]
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

    def killed(self, key: str, seconds: float | None, records: int) -> bool:
        """Begin a run and kill all of it after so long, or when the ledger has so many records; was it at work?"""
        run = self.begun(key, "new-key")
        ledger = Path(self.environment["XDG_STATE_HOME"]) / "hpc.onboard" / "ledger.jsonl"
        deadline = time.monotonic() + (seconds or 30)
        while time.monotonic() < deadline and run.poll() is None:
            if seconds is None and ledger.exists() and ledger.read_bytes().count(b"\n") >= records:
                break
            time.sleep(0.005)
        at_work = run.poll() is None
        if at_work:
            mark = f"XDG_STATE_HOME={self.environment['XDG_STATE_HOME']}".encode()
            while mine := _with(mark):  # Ansible's workers have sessions of their own
                for pid in mine:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                time.sleep(0.01)
        run.communicate()
        self.bed.client.disconnect()
        return at_work

    def ledger_fits(self, state: Path) -> bool:
        """Whether every line of the ledger is as it was written."""
        code = (
            "import sys; sys.path[:0] = sys.argv[1:]\n"
            "from ansible_collections.hpc.onboard.plugins.plugin_utils._ledger import Ledger\n"
            "from ansible_collections.hpc.onboard.plugins.plugin_utils._world import record_key\n"
            "misfit = Ledger(record_key()).verify(); print(misfit); sys.exit(misfit is not None)\n"
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


def _with(mark: bytes) -> list[int]:
    """The living processes that have this in their environment."""
    found = []
    for path in Path("/proc").iterdir():
        if path.name.isdigit():
            with contextlib.suppress(OSError):
                dead = b"\nState:\tZ" in (path / "status").read_bytes()
                if not dead and mark in (path / "environ").read_bytes().split(b"\0"):
                    found.append(int(path.name))
    return found


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


def settled(stage: Stage, new: str) -> bool:
    """Whether every account holds the new key alone."""
    return all(set(stage.held(account)) == {new} for account in stage.accounts)


def test_onboarding_installs_what_a_rotation_left(stage: Stage) -> None:
    new = new_key()
    stage.registry.allow(new, [PRIVATE])
    assert stage.rotate(key=new).code == 0
    again = onboard(stage.bed, *stage.accounts, environment=stage.environment)
    assert again.code == 0, again.text
    assert not any(again.of(account.name)["changed"] for account in stage.accounts)
    late = stage.bed.new_account("lrz")
    assert onboard(stage.bed, late, environment=stage.environment).code == 0
    assert set(stage.held(late)) == {new}


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("unknown", "invalid"),
        ("revoked", "invalid"),
        ("not entitled", "not_entitled"),
        ("malformed", "was not taken, and nothing was changed"),
        ("hostile", "was not taken, and nothing was changed"),
        ("the same", "is the current one already"),
    ],
)
def test_a_key_that_is_not_good_touches_no_account(stage: Stage, how: str, said: str) -> None:
    new = {"malformed": "nvapi-short", "hostile": "$(touch /tmp/pwned)", "the same": stage.old}.get(how) or new_key()
    if how in ("revoked", "not entitled"):
        stage.registry.allow(new, [PRIVATE] if how == "revoked" else [])
    if how == "revoked":
        stage.registry.revoke(new)
    before = [account.tree() for account in stage.accounts]
    for account in stage.accounts:
        account.reset_sessions()
    ran = stage.rotate(key=new)
    assert ran.code == (0 if how == "the same" else 2), ran.text
    assert said in " ".join(ran.text.split())
    assert [account.tree() for account in stage.accounts] == before
    assert [account.sessions() for account in stage.accounts] == [0] * len(stage.accounts)
    assert how == "the same" or new not in ran.text


def test_what_could_not_be_reached_is_done_by_the_next_run_and_nothing_is_said_to_be_done_before(stage: Stage) -> None:
    new, away = new_key(), stage.accounts[3]
    stage.registry.allow(new, [PRIVATE])
    away.cluster.world.run("sh", "-c", f"usermod -s /bin/false {away.user}; true")
    before = away.tree()
    ran = stage.rotate(key=new)
    assert ran.code == 2, ran.text
    assert away.tree() == before
    assert set(stage.held(away)) == {stage.old}
    assert "rotate_resume=true" in ran.text
    away.cluster.world.run("sh", "-c", f"usermod -s /bin/bash {away.user}; true")
    ended = stage.rotate(rotate_resume=True)
    assert ended.code == 0, ended.text
    assert settled(stage, new)


def test_a_target_that_cannot_be_written_keeps_its_old_file(stage: Stage) -> None:
    new, odd = new_key(), stage.accounts[1]
    stage.registry.allow(new, [PRIVATE])
    odd.ssh("ln enroot/.credentials enroot/second-name")
    before = odd.tree()
    ran = stage.rotate(key=new)
    assert ran.code == 2
    assert odd.tree() == before
    assert [set(stage.held(account)) for account in stage.accounts if account is not odd] == [{new}] * 5
    odd.ssh("rm enroot/second-name")
    ended = stage.rotate(rotate_resume=True)
    assert ended.code == 0, ended.text
    assert settled(stage, new)


def test_a_rotation_that_is_open_is_not_begun_again(stage: Stage) -> None:
    new, other = new_key(), new_key()
    for key in (new, other):
        stage.registry.allow(key, [PRIVATE])
    assert stage.rotate(key=new).code == 0
    ran = stage.rotate(key=other)
    assert ran.code == 2
    assert "is open" in ran.text
    assert settled(stage, new)


def test_an_old_key_that_still_works_is_not_called_dead(stage: Stage) -> None:
    new = new_key()
    stage.registry.allow(new, [PRIVATE])
    assert stage.rotate(key=new).code == 0
    ran = stage.rotate(rotate_resume=True, rotate_retired=True)
    assert ran.code == 2, ran.text
    assert stage.keyring("ngc") == stage.old
    stage.registry.revoke(stage.old)
    assert stage.rotate(rotate_resume=True, rotate_retired=True).code == 0
    assert stage.keyring("ngc") == ""


def test_check_judges_the_key_and_changes_nothing(stage: Stage) -> None:
    new = new_key()
    stage.registry.allow(new, [PRIVATE])
    before = [account.tree() for account in stage.accounts]
    ran = stage.rotate("--check", key=new)
    assert ran.code == 0, ran.text
    assert "it would be replaced" in " ".join(ran.text.split())
    assert [account.tree() for account in stage.accounts] == before
    assert not (stage.folder / "state" / "hpc.onboard" / "ledger.jsonl").exists()


def test_no_key_is_in_the_records_or_in_what_is_said(stage: Stage) -> None:
    new = new_key()
    stage.registry.allow(new, [PRIVATE])
    said = stage.rotate("-vvvv", "--diff", key=new)
    stage.registry.revoke(stage.old)
    said_too = stage.rotate("-vvvv", rotate_resume=True, rotate_retired=True)
    assert (said.code, said_too.code) == (0, 0)
    (stage.folder / "new-key").unlink()
    kept = b"".join(path.read_bytes() for path in stage.folder.rglob("*") if path.is_file())
    for key in (stage.old, new):
        for form in (key.encode(), base64.b64encode(f"$oauthtoken:{key}".encode()), key[:40].encode()):
            assert form not in kept
            assert form.decode() not in said.text + said_too.text
    for account in stage.accounts:
        for path in (account.home, *account.folders):
            text = subprocess.run(["grep", "-rlaF", stage.old, str(account.path(path))], capture_output=True, text=True)
            assert text.stdout == ""


MOMENTS = int(os.environ.get("HPC_ONBOARD_KILLS", "16"))


def test_killed_at_any_moment_a_rotation_is_finished_by_the_next_run(stage: Stage) -> None:
    """Half of the moments are random, the others are those at which the ledger has so many records."""
    randomly = random.Random(7)
    few = stage._replace(accounts=[stage.accounts[0], stage.accounts[2], stage.accounts[3]])
    old, cut, halves = stage.old, 0, 0
    for number in range(MOMENTS):
        new = new_key()
        few.registry.allow(new, [PRIVATE])
        state = few.folder / f"state{number}"
        one = few._replace(environment={**few.environment, "XDG_STATE_HOME": str(state)})
        assert one.ring.keyring("set", "hpc.onboard", "ngc", value=old).returncode == 0
        trees = [account.tree() for account in one.accounts]
        seconds = randomly.uniform(0.5, 4.0) if number % 2 else None
        cut += one.killed(new, seconds, 1 + number // 2 * 3 % 24)
        held = [set(one.held(account)) for account in one.accounts]
        halves += 0 < held.count({new}) < len(held)
        for account, keys, tree in zip(one.accounts, held, trees, strict=True):
            assert keys == {new} or (keys == {old} and _of_files(account.tree()) == _of_files(tree))
        assert one.ledger_fits(state)
        begun = (state / "hpc.onboard" / "ledger.jsonl").exists()
        ended = one.rotate(key=new, **({"rotate_resume": True} if begun else {}))
        assert ended.code == 0, ended.text
        assert settled(one, new)
        assert one.ledger_fits(state)
        old = new
    print(f"killed while at work: {cut} of {MOMENTS}, {halves} of them with some accounts done; finished: {MOMENTS}")
    assert cut >= MOMENTS * 3 // 4


def _of_files(tree: dict[str, Any]) -> dict[str, Any]:
    """What is in the files that matter: all but drafts of a killed run."""
    return {path: (entry.content, entry.mode) for path, entry in tree.items() if not path.endswith("-draft")}


def test_of_two_rotations_at_once_one_is_refused_or_both_agree(stage: Stage) -> None:
    keys = [new_key(), new_key()]
    for key in keys:
        stage.registry.allow(key, [PRIVATE])
    runs = [stage.begun(key, f"key{number}") for number, key in enumerate(keys)]
    said = [run.communicate(timeout=120)[0] for run in runs]
    codes = sorted(run.returncode for run in runs)
    assert codes == [0, 2], said
    held = [set(stage.held(account)) for account in stage.accounts]
    assert held in ([{keys[0]}] * 6, [{keys[1]}] * 6)
