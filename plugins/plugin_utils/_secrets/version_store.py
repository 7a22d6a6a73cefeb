# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keep the versions of a secret (secrets/NAME.json in the state folder), and allow one rotation at a time.

Labels change all at once: a draft, flushed, renamed, the folder flushed, read back. The record is signed, so an edit is
noticed; an older signed record is noticed when the ledger is ahead of it (_rotation/next_step.py). A second rotation is
refused by the lock while the first one's process lives, and by the pending version afterwards. Two machines notice each
other if they share this folder and its server supports locks; with separate state folders only what the targets hold
tells (the plan reads it: a fingerprint that neither knows).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from .._state import durable_files, signed_record
from .._state.durable_files import StateError
from .._state.fingerprint_key import state_folder
from .._state.run_memory import end_with_parent
from . import versions
from .versions import Secret, VersionError

BELOW = "secrets"
WAIT_SECONDS = 60.0


def read_all_secrets(key: bytes) -> list[Secret]:
    """Return the secrets that have labels, by name; unreadable labels are left to those who need them."""
    found = []
    for file in sorted((state_folder() / BELOW).glob("*.json")):
        with suppress(StateError, VersionError):
            found.append(VersionStore(file.stem, key).load())
    return [secret for secret in found if secret]


class VersionStore:
    """The versions of one secret on this machine. The key must be the same one every time."""

    def __init__(self, name: str, key: bytes) -> None:
        try:
            signed_record.check_texts({"secret": name}, {"secret": signed_record.NAME}, "a secret")
        except signed_record.RecordError:
            raise VersionError(
                "the name of a secret is invalid: rename it; expected at most 32 letters, digits, dots, dashes and"
                " underscores"
            ) from None
        self.name = name
        self._key = key
        self._file = f"{name}.json"

    def load(self) -> Secret | None:
        """Return the versions; None before the first rotation. Raises StateError, VersionError."""
        with durable_files.as_state_error(self._file), durable_files.open_folder(BELOW, create=False) as folder:
            return self._read(folder)[0] if folder >= 0 else None

    def read_or_adopt(
        self, kind: str, fingerprint: str = "", targets: tuple[str, ...] = (), sealed: str = ""
    ) -> Secret:
        """Return the versions; before the first rotation, record the key stored by hand as the first version."""
        return self._change(lambda known: known or versions.adopt(self.name, kind, fingerprint, targets, sealed))

    def write(self, secret: Secret) -> Secret:
        """Replace the versions, whatever they were."""
        return self._change(lambda _known: secret)

    def update(self, change: Callable[[Secret], Secret]) -> Secret:
        """Change the versions as a whole or not at all; when this returns, they are on the disk."""

        def change_known(known: Secret | None) -> Secret:
            if known is None:
                raise VersionError(f"'{self.name}' has no versions yet: plan the rotation first, then run again")
            return change(known)

        return self._change(change_known)

    def _change(self, change: Callable[[Secret | None], Secret]) -> Secret:
        what = f"another run is changing the versions of '{self.name}' and has not finished"
        with (
            durable_files.as_state_error(self._file),
            durable_files.open_folder(BELOW) as folder,
            durable_files.hold_lock(folder, f"{self.name}.write.lock", what, WAIT_SECONDS),
        ):
            known, seq = self._read(folder)
            changed = versions.check_secret(change(known))
            if changed != known:
                durable_files.replace_file(folder, self._file, versions.serialize(changed, seq + 1, self._key))
                if self._read(folder) != (changed, seq + 1):
                    raise StateError(f"{self._file} does not have the content that was just written: run again")
        return changed

    def _read(self, folder: int) -> tuple[Secret | None, int]:
        content = durable_files.read_file(folder, self._file)
        return (None, 0) if content is None else versions.deserialize(content, self.name, self._key)

    @contextmanager
    def lock_rotation(self) -> Iterator[None]:
        """Allow one rotation of the secret at a time. An error names the running one; a dead one's lock is free.

        A worker of the run holds the lock, so it has to end with the run's main process.
        """
        end_with_parent()
        what = f"another rotation of '{self.name}' is running: wait until it ends, then run again"
        with (
            durable_files.open_folder(BELOW) as folder,
            durable_files.hold_lock(folder, f"{self.name}.rotation.lock", what, 0.0),
        ):
            yield
