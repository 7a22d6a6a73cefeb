# SPDX-License-Identifier: GPL-3.0-or-later
"""What the integration tests share: a run of a playbook over the testbed, with its results as data."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets.file_format import (
    Kdf,
    derive_key,
    new_header,
    parse,
    seal,
)
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets.file_on_disk import KeyFile

REPOSITORY = Path(__file__).parent.parent.parent
COMMAND = str(Path(sys.executable).with_name("hpc-onboard"))
CALLBACKS = Path(__file__).parent / "callback"
CHEAP: Kdf = {"name": "scrypt", "n": 2**14, "r": 8, "p": 1}
KEY = "nvapi-" + "k" * 64
PASSPHRASE = "correct horse battery"
BACKEND = "ansible_collections.hpc.onboard.plugins.plugin_utils.keyring_backend.Keyring"


def seen_from(account: Any) -> str:
    """The address of this machine on the wire to the account's cluster: the one before the cluster's."""
    head, _dot, last = str(account.host).rpartition(".")
    return f"{head}.{int(last) - 1}"


class Ran(NamedTuple):
    """A finished run: exit code, all that was printed, and the results by host."""

    code: int
    text: str
    results: list[dict[str, Any]]

    def of(self, name: str) -> dict[str, Any]:
        """The result of the last converge of that account."""
        mine = [one for one in self.results if one["host"] == name and one["action"] == "hpc.onboard.converge"]
        result: dict[str, Any] = mine[-1]["result"]
        return result

    def outcomes(self, name: str) -> list[dict[str, Any]]:
        """The outcomes of that account, without the seconds, which no two runs share."""
        return [{k: v for k, v in one.items() if k != "seconds"} for one in self.of(name)["outcomes"]]

    def statuses(self, name: str) -> dict[str, str]:
        """Identity -> status."""
        return {one["identity"]: one["status"] for one in self.of(name)["outcomes"]}


def keyring_environment(folder: Path, key: str = KEY) -> dict[str, str]:
    """A keyring of the test: the plaintext backend of keyrings.alt, which the user has to name to get it."""
    backend = "keyrings.alt.file.PlaintextKeyring"
    store = folder / "keyring.cfg"
    environment = {"PYTHON_KEYRING_BACKEND": backend, "KEYRING_PROPERTY_FILE_PATH": str(store)}
    if not store.exists():
        subprocess.run(
            [sys.executable, "-m", "keyring", "set", "hpc.onboard", "ngc"],
            input=key,
            text=True,
            check=True,
            env={**environment, "HOME": str(folder), "PATH": "/usr/bin:/bin"},
        )
    return environment


class FileRing:
    """An encrypted file with the key ngc, and how a run is told of it.

    kdf: what a passphrase costs. Nearly nothing, unless a test is about that: a run pays for it each time.
    """

    def __init__(self, folder: Path, key: str = KEY, kdf: Kdf | None = CHEAP) -> None:
        self.folder = folder
        self.file = folder / "ring" / "keyring"
        self.passphrase_file = folder / "passphrase"
        self.passphrase_file.touch(mode=0o600)
        self.passphrase_file.write_text(f"{PASSPHRASE}\n")
        self.env = {"PYTHON_KEYRING_BACKEND": BACKEND, "KEYRING_PROPERTY_FILE": str(self.file)}
        header = new_header(kdf)
        file = KeyFile(self.file)
        with file.lock():
            content = seal({"hpc.onboard": {"ngc": key}}, header, derive_key(header, PASSPHRASE))
            file.write(content, parse)

    def keyring(self, *order: str, value: str | None = None) -> subprocess.CompletedProcess[str]:
        """The keyring command, with the passphrase from its file."""
        own = {"KEYRING_PROPERTY_PASSPHRASE_FILE": str(self.passphrase_file), "PATH": "/usr/bin:/bin"}
        env = {**self.env, **own, "HOME": str(self.folder)}
        program = [sys.executable, "-m", "keyring", *order]
        return subprocess.run(program, input=value, env=env, text=True, capture_output=True, check=False)


def play(
    bed: Any,
    *arguments: str,
    environment: dict[str, str] | None = None,
    playbook: str = "onboard.yml",
    programs: Path | None = None,
    timeout: float = 180,
) -> Ran:
    """Run a playbook of the checkout with its results recorded; programs: another folder with ansible-playbook."""
    record = Path(bed.folder) / f"record-{uuid.uuid4().hex}.jsonl"
    own = {
        "RECORD": str(record),
        "ANSIBLE_CALLBACK_PLUGINS": str(CALLBACKS),
        "ANSIBLE_CALLBACKS_ENABLED": "record",
        **keyring_environment(Path(bed.folder)),
        **(environment or {}),
    }
    done = bed.ansible(playbook, *arguments, cwd=REPOSITORY, env=own, programs=programs, timeout=timeout)
    results = [json.loads(line) for line in record.read_text().splitlines()] if record.exists() else []
    return Ran(done.returncode, done.stdout + done.stderr, results)


def onboard(bed: Any, *accounts: Any, more: tuple[str, ...] = (), settings: Any = None, **options: Any) -> Ran:
    """onboard.yml over these accounts of the testbed; settings: more keys of an account, by its name."""
    return play(bed, "-i", str(bed.accounts_file(accounts, settings=settings)), *more, **options)


def begin(bed: Any, *arguments: str, playbook: str = "onboard.yml") -> subprocess.Popen[str]:
    """Begin a run of a playbook of the checkout, in the background."""
    environment = {**bed.client.environment(), **keyring_environment(Path(bed.folder))}
    program = ["ansible-playbook", playbook, *arguments]
    return subprocess.Popen(
        program, cwd=REPOSITORY, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )


def until(is_so: Callable[[], object], seconds: float = 60) -> None:
    """Wait until something is so."""
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.1)
