# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The encrypted file as a backend of the keyring library, for machines on which no keyring service answers.

It keeps the keys of hpc.onboard and no others, so that no other program that uses the library is ever
asked for the passphrase of this file.
"""

from __future__ import annotations

import os
from collections.abc import MutableMapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .backends import SERVICE
from .file_errors import shown

if TYPE_CHECKING:  # the keyring library loads this file to choose among its backends, and others are chosen mostly
    from .encrypted_file import Store
    from .file_format import Entries
    from .passphrase import Person

try:
    from keyring.backend import KeyringBackend
    from keyring.backends.chainer import ChainerBackend
    from keyring.compat.properties import classproperty
    from keyring.errors import PasswordDeleteError, PasswordSetError
except ImportError:
    KeyringBackend = ChainerBackend = object
    classproperty = property
    PasswordDeleteError = PasswordSetError = Exception

PRIORITY = 0.9  # above a file in the clear (0.5), below every service of a desktop (from 4.8)
RECOMMENDED = 1


def default_path() -> Path:
    """Where the file lies when nobody says otherwise (XDG base directories)."""
    base = os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")
    return Path(base) / "hpc.onboard" / "keyring"


class Keyring(KeyringBackend):  # type: ignore[misc]  # keyring is untyped
    """hpc.onboard's keys in an encrypted file. Of its properties, file and passphrase_file are for users to set."""

    __module__ = "ansible_collections.hpc.onboard.plugins.plugin_utils.keyring_backend"  # as people name it, for good

    file = ""
    passphrase_file = ""

    def __init__(self) -> None:
        super().__init__()
        self._person: Person | None = None
        self._unlocked: MutableMapping[str, str] = {}

    @classproperty  # type: ignore[untyped-decorator]  # keyring is untyped
    def priority(self) -> float:
        """Below 0, which is not chosen, while there is no such file and a better keyring answers."""
        if os.name != "posix" or find_spec("cryptography") is None:
            raise RuntimeError("the Python package 'cryptography' is missing: pip install cryptography")
        return PRIORITY if _path(os.environ.get("KEYRING_PROPERTY_FILE", "")).exists() or not _better() else -1

    @property
    def path(self) -> Path:
        """Where the file lies."""
        return _path(self.file)

    def within(self, person: Person, unlocked: MutableMapping[str, str]) -> None:
        """Ask this person, and share what is unlocked."""
        self._person, self._unlocked = person, unlocked

    def store(self) -> Store:
        """The file as a mapping."""
        from .encrypted_file import Store

        return Store(self.path, self.passphrase_file, self._person, self._unlocked)

    def get_password(self, service: str, username: str) -> str | None:
        """The key, or None in a file that could be read and has none of that name."""
        if service != SERVICE:
            return None
        return self.store().entries().get(service, {}).get(username)

    def set_password(self, service: str, username: str, password: str) -> None:
        """Keep the key, and make the file if there is none."""
        from .file_on_disk import NotWritten

        if service != SERVICE:  # with this error the library goes on to the next backend
            raise NotImplementedError(f"the encrypted file {shown(self.path)} keeps keys of {SERVICE} only")

        def edit(entries: Entries) -> None:
            entries.setdefault(service, {})[username] = password

        try:
            self.store().change(edit)
        except NotWritten as error:
            raise PasswordSetError(f"the encrypted file {shown(self.path)}: {error}") from None

    def delete_password(self, service: str, username: str) -> None:
        """Take the key out."""
        from .file_on_disk import NotWritten

        if service != SERVICE:
            raise NotImplementedError(f"the encrypted file {shown(self.path)} keeps keys of {SERVICE} only")

        def edit(entries: Entries) -> None:
            if username not in entries.get(service, {}):
                raise PasswordDeleteError(f"the encrypted file {shown(self.path)} has no key '{username}'")
            del entries[service][username]

        self.store().entries()  # raises where there is none: nothing is made by taking out
        try:
            self.store().change(edit)
        except NotWritten as error:
            raise PasswordDeleteError(f"the encrypted file {shown(self.path)}: {error}") from None


def _path(file: str) -> Path:
    return Path(file).expanduser() if file else default_path()


def _better() -> bool:
    """Whether a keyring that the library recommends answers here."""
    classes: set[Any] = getattr(KeyringBackend, "_classes", set())
    return any(_priority(one) >= RECOMMENDED for one in classes if not issubclass(one, Keyring | ChainerBackend))


def _priority(backend: Any) -> float:
    try:
        return float(backend.priority)
    except Exception:  # a backend that cannot be used here says so with any exception
        return -1
