# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keep the versions of a secret (secrets/NAME.json in the state folder), and allow one rotation at a time.

A version is one of the keys that were stored for a secret, and its label shows whether that key is current; a rotation
adds a version. A target is a file with the key on an account. The ledger records the steps of rotations.

Labels change all at once: a draft is flushed and renamed, the folder is flushed, and the file is read back. The record
is signed, so an edit is detected; an older signed record is detected if the ledger is ahead (_rotation/next_step.py). A
second rotation is refused by the lock while the process of the first is running, and by the pending version afterwards.
Two machines are protected from each other if they share this folder and its server supports locks. With separate
folders, only a fingerprint on a target that is unknown to this machine shows the other's rotation.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from .._state import durable_files, signed_record
from .._state.durable_files import StateError
from .._state.fingerprint_key import state_folder
from .._state.run_memory import end_with_parent
from . import versions
from .versions import Secret

BELOW = "secrets"  # the subfolder of the state folder
WAIT_SECONDS = 60.0  # for another run to release the lock


def list_names() -> list[str]:
    """Return the names of the secrets with stored versions, sorted. Other files, such as copies, are skipped."""
    files = (state_folder() / BELOW).glob("*.json")
    return sorted(file.stem for file in files if re.fullmatch(signed_record.NAME, file.stem))


def read_all_secrets(key: bytes) -> list[Secret]:
    """Return all secrets with versions, sorted by name. Records that cannot be read are skipped.

    key: this machine's secret key, which has signed the records.
    """
    secrets = []
    for name in list_names():
        with suppress(StateError):
            secrets.append(VersionStore(name, key).load())
    return [secret for secret in secrets if secret]


class VersionStore:
    """The stored versions of one secret on this machine. key: the machine's own, which signs the record."""

    def __init__(self, name: str, key: bytes) -> None:
        try:
            signed_record.check_texts({"secret": name}, {"secret": signed_record.NAME}, "a secret")
        except StateError:
            raise StateError(
                "the name of a secret is invalid. Use at most 32 letters, digits, dots, dashes and underscores"
            ) from None
        self.name = name
        self._key = key
        self._file = f"{name}.json"

    def load(self) -> Secret | None:
        """Return the versions; None before the first rotation. Raise StateError."""
        with durable_files.as_state_error(self._file), durable_files.open_folder(BELOW, create=False) as folder:
            return self._read(folder)[0] if folder >= 0 else None

    def read_or_adopt(
        self, kind: str, fingerprint: str = "", targets: tuple[str, ...] = (), sealed: str = ""
    ) -> Secret:
        """Return the versions. If none are stored, record the key that the user stored in the keyring as the first one.

        kind: of the key, such as "personal". fingerprint: of the key, in the records of this machine. targets: the
        files on accounts that contain the key. sealed: the encrypted hash of the key.
        """
        return self._change(lambda stored: stored or versions.adopt(self.name, kind, fingerprint, targets, sealed))

    def write(self, secret: Secret) -> Secret:
        """Replace all stored versions, and return the new ones. Raise StateError."""
        return self._change(lambda _stored: secret)

    def update(self, change: Callable[[Secret], Secret]) -> Secret:
        """Apply a change completely or not at all, and return the changed versions, which are safe on the disk.

        Raise StateError before the first rotation.
        """

        def change_stored(stored: Secret | None) -> Secret:
            """Return the changed versions. Raise StateError if no versions are stored."""
            if stored is None:
                raise StateError(
                    f"no versions of the key '{self.name}' are recorded. Start a rotation of the key first"
                )
            return change(stored)

        return self._change(change_stored)

    def _change(self, change: Callable[[Secret | None], Secret]) -> Secret:
        """Apply `change` to the stored versions under the lock. Write and return the new versions.

        change: gets the stored versions, or None before the first rotation, and returns the new versions.
        """
        holder = f"another run is still changing the versions of '{self.name}'"
        with (
            durable_files.as_state_error(self._file),
            durable_files.open_folder(BELOW) as folder,
            durable_files.hold_lock(folder, f"{self.name}.write.lock", holder, WAIT_SECONDS),
        ):
            stored, seq = self._read(folder)  # seq: the number of the record, one more after each write
            changed = versions.check_secret(change(stored))
            if changed != stored:
                durable_files.replace_file(folder, self._file, versions.serialize(changed, seq + 1, self._key))
                if self._read(folder) != (changed, seq + 1):
                    raise StateError(f"{self._file} does not have the content that was just written. Try again")
        return changed

    def _read(self, folder: int) -> tuple[Secret | None, int]:
        """Return the stored versions, and how often they were written so far; (None, 0) without a file.

        folder: the descriptor of the open folder.
        """
        content = durable_files.read_file(folder, self._file)
        return (None, 0) if content is None else versions.deserialize(content, self.name, self._key)

    @contextmanager
    def lock_rotation(self) -> Iterator[None]:
        """Lock out other rotations of the secret while the block runs. Raise StateError if another is running."""
        end_with_parent()  # otherwise a worker that survives its run would keep the lock
        holder = f"another rotation of '{self.name}' is still running"
        with (
            durable_files.open_folder(BELOW) as folder,
            durable_files.hold_lock(folder, f"{self.name}.rotation.lock", holder, wait_seconds=0.0),
        ):
            yield
