# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the versions of a secret are kept (secrets/NAME.json in the state folder), and one rotation at a time.

Labels move all at once: a draft, flushed, renamed, the folder flushed, read back. The record is signed,
so an edit shows; that an older signed one was put back shows where the ledger knows better
(disagreement in _rotation/next_step.py). A second rotation is refused by the lock while the first one's process lives,
and by the pending version afterwards. Two machines see each other as far as they share this folder and
its server passes locks on; with state folders of their own they cannot, and only what the targets
hold then tells (plan reads it: a fingerprint that is neither's).
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


def current(name: str, key: bytes) -> str:
    """The keyring username of the version to install: the plain name where no rotation ever was."""
    secret = Sidecar(name, key).secret()
    return versions.username(name, secret.current.id) if secret else name


def known_secrets(key: bytes) -> list[Secret]:
    """Return the secrets that labels know of, by name; those whose labels cannot be read are left to who needs them."""
    found = []
    for file in sorted((state_folder() / BELOW).glob("*.json")):
        with suppress(StateError, VersionError):
            found.append(Sidecar(file.stem, key).secret())
    return [one for one in found if one]


class Sidecar:
    """The versions of one secret on this machine. The key must be the same one every time."""

    def __init__(self, name: str, key: bytes) -> None:
        try:
            signed_record.check_texts({"secret": name}, {"secret": signed_record.NAME}, "a secret")
        except signed_record.RecordError:
            raise VersionError(
                "the name of a secret has letters, digits, dot, dash and underscore, 32 at most: rename it"
            ) from None
        self.name = name
        self._key = key
        self._file = f"{name}.json"

    def secret(self) -> Secret | None:
        """What is known of the versions; None before the first rotation. Raises StateError, VersionError."""
        with durable_files.as_state_error(self._file), durable_files.open_folder(BELOW, create=False) as at:
            return self._read(at)[0] if at >= 0 else None

    def adopt(self, kind: str, fingerprint: str = "", targets: tuple[str, ...] = (), sealed: str = "") -> Secret:
        """The versions; where nothing is known yet, the value stored by hand becomes the first one."""

        def adopted(known: Secret | None) -> Secret:
            return known or versions.adopt(self.name, kind, fingerprint, targets, sealed)

        return self._change(adopted)

    def put(self, secret: Secret) -> Secret:
        """Have these versions, whatever was known."""
        return self._change(lambda _known: secret)

    def move(self, change: Callable[[Secret], Secret]) -> Secret:
        """Change the versions as a whole or not at all; what is there when this returns is on the disk."""

        def changed(known: Secret | None) -> Secret:
            if known is None:
                raise VersionError(f"no version of '{self.name}' is known yet: begin with a plan, then run again")
            return change(known)

        return self._change(changed)

    def _change(self, change: Callable[[Secret | None], Secret]) -> Secret:
        what = f"another run changes the versions of '{self.name}' and does not end"
        with (
            durable_files.as_state_error(self._file),
            durable_files.open_folder(BELOW) as at,
            durable_files.hold_lock(at, f"{self.name}.write.lock", what, WAIT_SECONDS),
        ):
            known, seq = self._read(at)
            wanted = versions.checked(change(known))
            if wanted != known:
                durable_files.replace_file(at, self._file, versions.text(wanted, seq + 1, self._key))
                if self._read(at) != (wanted, seq + 1):
                    raise StateError(f"{self._file} does not say what was just written: run again")
        return wanted

    def _read(self, at: int) -> tuple[Secret | None, int]:
        content = durable_files.read_file(at, self._file)
        return (None, 0) if content is None else versions.parsed(content, self.name, self._key)

    @contextmanager
    def rotating(self) -> Iterator[None]:
        """One rotation of the secret at a time. The one at work is named; a dead one's lock is free.

        The lock is held by a worker of the run, which therefore ends with the run's main process.
        """
        end_with_parent()
        what = f"another rotation of '{self.name}' is at work"
        with (
            durable_files.open_folder(BELOW) as at,
            durable_files.hold_lock(at, f"{self.name}.rotation.lock", what, 0.0),
        ):
            yield
