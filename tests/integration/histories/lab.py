# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a history takes place: two accounts behind real sshd, a registry, and two machines that look after them."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tests.integration.runs import CALLBACKS, COMMAND, REPOSITORY, FileRing, seen_from
from tests.testbed.registry import PRIVATE, TAG, Registry, new_key

DEAD_PORT = 9
BARE = ["conda", "tool_caches", "container_caches", "launchers"]
NGC = [{"program": "ngc", "secret": "ngc"}]
SCRIPT_TEXT = "#!/bin/sh\necho hi\n"
SCRIPT = {"path_scripts": {"scripts": [{"name": "s1.sh", "content": SCRIPT_TEXT}]}}
MENU: dict[str, dict[str, Any]] = {
    "nothing": {"without": [*BARE, "storage_links", "shell_environment"]},
    "keys": {"without": [*BARE, "storage_links", "shell_environment"], "tokens": {"programs": NGC}},
    "script": {"without": BARE, **SCRIPT},
    "script kept": {"without": BARE, **SCRIPT, "keep": ["script ~/bin/s1.sh"]},
    "script replaced": {"without": BARE, **SCRIPT, "replace": ["script ~/bin/s1.sh"]},
    "launcher": {"without": BARE[:-1], **SCRIPT},
    "variables": {"without": BARE, "shell_environment": {"variables": {"LAB": "one"}}},
    "other variables": {"without": BARE, "shell_environment": {"variables": {"LAB": "two", "MORE": "3"}}},
    "caches": {"without": ["conda", "launchers"]},
}
"""What an account may ask for in a history, by name."""


class Ended(NamedTuple):
    """An ended command: exit code (negative: killed), all that it printed in one line, and Ansible's results."""

    code: int
    text: str
    results: list[dict[str, Any]]

    def statuses(self, name: str) -> dict[str, str]:
        """Return the status of each thing of an account, by its identity."""
        mine = [one["result"] for one in self.results if one["host"] == name and "outcomes" in one["result"]]
        return {one["identity"]: one["status"] for one in mine[-1]["outcomes"]} if mine else {}


class Machine:
    """A controller: state, keyring and connections of its own."""

    def __init__(self, bed: Any, folder: Path, key: str) -> None:
        """Store the key in the machine's keyring."""
        self.folder = folder
        folder.mkdir()
        ring = FileRing(folder, key)
        self._sockets = Path(tempfile.mkdtemp(prefix="cp", dir=bed.folder))
        self.environment = {
            **bed.client.environment(),
            **ring.env,
            "KEYRING_PROPERTY_PASSPHRASE_FILE": str(ring.passphrase_file),
            "XDG_STATE_HOME": str(folder / "state"),
            "ANSIBLE_SSH_CONTROL_PATH_DIR": str(self._sockets),
            "ANSIBLE_CALLBACK_PLUGINS": str(CALLBACKS),
            "ANSIBLE_CALLBACKS_ENABLED": "record",
        }

    def begin(self, playbook: str, *words: str) -> subprocess.Popen[str]:
        """Start a playbook in a process group of its own."""
        record = Path(tempfile.mktemp(prefix="record", dir=self.folder))
        program = [str(Path(sys.executable).with_name("ansible-playbook")), f"{playbook}.yml", *words]
        run = subprocess.Popen(
            program, cwd=REPOSITORY, env={**self.environment, "RECORD": str(record)}, text=True, errors="replace",
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        run.record = record  # type: ignore[attr-defined]
        return run

    def end(self, run: subprocess.Popen[str], after: float | None = None) -> Ended:
        """Wait for a run, or kill its whole process group after so many seconds."""
        try:
            text = run.communicate(timeout=after or 240)[0]
        except subprocess.TimeoutExpired:
            assert after, "a command did not end within 240 s"
            os.killpg(run.pid, signal.SIGKILL)
            text = run.communicate()[0]
        record: Path = run.record  # type: ignore[attr-defined]
        results = []
        for line in record.read_text().splitlines() if record.exists() else []:
            try:
                results.append(json.loads(line))
            except ValueError:  # the line that was cut off
                break
        return Ended(run.returncode, " ".join(text.split()), results)

    def local(self, *words: str) -> Ended:
        """Run a command of hpc-onboard that connects to nothing."""
        done = subprocess.run(
            [COMMAND, *words], env=self.environment, cwd=self.folder, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        return Ended(done.returncode, " ".join((done.stdout + done.stderr).split()), [])

    def disconnect(self) -> None:
        """Close the connections that are kept open between two commands."""
        for socket in list(self._sockets.iterdir()):
            order = ["ssh", "-F", os.devnull, "-o", f"ControlPath={socket}", "-O", "exit", "any"]
            subprocess.run(order, capture_output=True, check=False, timeout=10)

    def files(self) -> Iterator[Path]:
        """Give the files in which this machine remembers something."""
        return (path for path in (self.folder / "state").rglob("*") if path.is_file())


class Lab:
    """Accounts, registry and machines; what is declared for each account, and which of them can be reached."""

    def __init__(self, bed: Any, folder: Path, registry: Registry, accounts: list[Any]) -> None:
        """Nothing is declared yet but the least."""
        self.bed, self.folder, self.registry, self.accounts = bed, folder, registry, accounts
        self.keys = [self._allowed()]
        self.machines = [Machine(bed, folder / f"machine{number}", self.keys[0]) for number in (0, 1)]
        self.declared = {account.name: "script" for account in accounts}
        self.closed: set[str] = set()

    def _allowed(self) -> str:
        key = new_key()
        self.registry.allow(key, [PRIVATE])
        return key

    def another_key(self) -> str:
        """Return a new key that the registry accepts."""
        self.keys.append(self._allowed())
        return self.keys[-1]

    def accounts_file(self) -> str:
        """Write the accounts file as it is declared now."""
        settings = {
            name: {**MENU[chosen], **({"vars": {"ansible_port": DEAD_PORT}} if name in self.closed else {})}
            for name, chosen in self.declared.items()
        }
        file = self.bed.accounts_file(self.accounts, settings=settings)
        return str(shutil.copy(file, self.folder / "accounts.yml"))  # an audit is remembered by the path of this file

    def order(self, playbook: str, limit: str = "") -> tuple[str, ...]:
        """Return the words of a command: playbook, accounts, what answers its question, and for whom."""
        sure = {"offboard": "offboard_sure", "fix": "fix_sure"}.get(playbook)
        answers = ("-e", f"{sure}=true") if sure else ()
        return (playbook, "-i", self.accounts_file(), *answers, *(("-l", limit) if limit else ()))

    def rotation(self, **wishes: Any) -> tuple[str, ...]:
        """Return the words of a rotation; key: the new one."""
        given = {
            "rotate_registry": self.registry.address,
            "rotate_image": f"{PRIVATE}:{TAG}",
            "rotate_canary_image": f"{PRIVATE}:{TAG}",
            "rotate_ca_file": str(self.registry.ca_file),
            "rotate_levels": ["token"],
        }
        key = wishes.pop("key", None)
        if key:
            file = self.folder / "new-key"
            file.touch(0o600)
            file.write_text(key + "\n")
            given["rotate_key_file"] = str(file)
        return ("rotate_ngc", "-i", self.accounts_file(), "-e", json.dumps({**given, **wishes}))

    def quiet(self) -> None:
        """Wait until nothing of a killed command runs on the accounts any more."""
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            names = [Path(f"/proc/{pid}/comm") for one in self.accounts for pid in one.processes()]
            if not any(name.exists() and name.read_text().strip() not in ("sshd", "ssh") for name in names):
                return
            time.sleep(0.1)


@contextmanager
def built(bed: Any, folder: Path) -> Iterator[Lab]:
    """Build a lab with an account that enroot serves and one that Apptainer serves."""
    accounts = [bed.new_account("lrz"), bed.new_account("wilson")]
    with Registry((seen_from(accounts[0]), "localhost"), listen="0.0.0.0") as registry:
        lab = Lab(bed, folder, registry, accounts)
        try:
            yield lab
        finally:
            for machine in lab.machines:
                machine.disconnect()
