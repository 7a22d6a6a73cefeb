# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The encrypted file as a backend of the keyring library, for machines without a keyring service.

It stores only keys of hpc.onboard, so that other programs with the same library never prompt for its passphrase. The
passphrase gives the key of the file. A held key is one that `hpc-onboard keyring unlock` keeps for some hours; a shared
key is one that another process of the command has found.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._unlocked.handover import UnlockedKeys
from .backends import SERVICE
from .file_errors import NotWritten, display_path

if TYPE_CHECKING:  # imported late: the library imports this file even if it then chooses a different backend
    from .encrypted_file import Store
    from .file_format import Entries
    from .passphrase import Prompter

try:
    from keyring.backend import KeyringBackend
    from keyring.backends.chainer import ChainerBackend
    from keyring.compat.properties import classproperty
    from keyring.errors import PasswordDeleteError, PasswordSetError
except ImportError:
    KeyringBackend = ChainerBackend = object
    classproperty = property
    PasswordDeleteError = PasswordSetError = Exception

PRIORITY = 0.9  # above an unencrypted file (0.5), below the keyring services of desktops (4.8 or more)
RECOMMENDED = 1  # lowest priority of a backend that the library recommends


class Keyring(KeyringBackend):  # type: ignore[misc]  # keyring is untyped
    """The backend. The library sets `file` and `passphrase_file` from KEYRING_PROPERTY_FILE and similar variables.

    The library calls get_password, set_password and delete_password. service: SERVICE for the keys of hpc-onboard.
    username: the name of the key. password: the key.
    """

    __module__ = (
        "ansible_collections.hpc.onboard.plugins.plugin_utils.keyring_backend"  # the name in the user's settings
    )

    file = ""
    passphrase_file = ""

    def __init__(self) -> None:
        super().__init__()
        self._prompter: Prompter | None = None
        self._unlocked = UnlockedKeys(keys={})

    @classproperty  # type: ignore[untyped-decorator]  # keyring is untyped
    def priority(self) -> float:
        """Return the backend's priority; -1, to be avoided, if the file is missing and a better keyring is available.

        Raise RuntimeError if this machine cannot use the backend, as the library requires.
        """
        if os.name != "posix" or find_spec("cryptography") is None:
            raise RuntimeError("the Python package 'cryptography' is missing. Run: pip install cryptography")
        exists = _file_path(os.environ.get("KEYRING_PROPERTY_FILE", "")).exists()
        return PRIORITY if exists or not _has_better_backend() else -1

    @property
    def path(self) -> Path:
        """Return the path of the file."""
        return _file_path(self.file)

    def use_prompter(self, prompter: Prompter, unlocked: dict[str, str]) -> None:
        """Prompt for the passphrase with this prompter. unlocked: keys that the processes of a run share."""
        self._prompter, self._unlocked = prompter, UnlockedKeys(unlocked)

    def store(self) -> Store:
        """Return the encrypted file as a store that a shared key, a held key or the passphrase opens."""
        from .._unlocked import held_key
        from .encrypted_file import Store  # imported late: imports cryptography, which takes time

        # the module held_key has the functions of a KeyHolder
        return Store(self.path, self.passphrase_file, self._prompter, self._unlocked, holder=held_key)

    def locked_store(self) -> Store:
        """Return the encrypted file as a store that only the passphrase opens, not a shared or held key."""
        from .encrypted_file import Store

        return Store(self.path, self.passphrase_file)

    def get_password(self, service: str, username: str) -> str | None:
        """Return the key; None if the file does not contain it. Raise StoreError if the file cannot be read."""
        if service != SERVICE:
            return None
        return self.store().entries().get(service, {}).get(username)

    def set_password(self, service: str, username: str, password: str) -> None:
        """Store the key. Create the file if it does not exist."""

        def edit(entries: Entries) -> None:
            """Add the key to the entries, or replace it."""
            entries.setdefault(service, {})[username] = password

        self._change(service, edit, PasswordSetError)

    def delete_password(self, service: str, username: str) -> None:
        """Remove the key. Raise StoreMissing if the file does not exist."""

        def edit(entries: Entries) -> None:
            """Remove the key from the entries. Raise PasswordDeleteError if it is missing."""
            if username not in entries.get(service, {}):
                raise PasswordDeleteError(f"the encrypted file {display_path(self.path)} has no key '{username}'")
            del entries[service][username]

        if service == SERVICE:
            self.store().entries()  # raises StoreMissing, where _change() would create the file
        self._change(service, edit, PasswordDeleteError)

    def _change(self, service: str, edit: Callable[[Entries], None], error_class: type[Exception]) -> None:
        """Edit the entries of the file. Raise error_class, by which the library reports a failure, or StoreError."""
        if service != SERVICE:  # the library then tries the next backend
            raise NotImplementedError(
                f"the encrypted file {display_path(self.path)} stores only keys of the service {SERVICE}"
            )
        try:
            self.store().change(edit)
        except NotWritten as error:
            raise error_class(f"the encrypted file {display_path(self.path)}: {error}") from None


def _file_path(file: str) -> Path:
    """Return the path of the encrypted file. file: the path that the user has set; empty for the XDG data folder."""
    if file:
        return Path(os.path.expanduser(file))
    base = os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")
    return Path(base) / "hpc.onboard" / "keyring"


def _has_better_backend() -> bool:
    """Return True if a keyring that the library recommends is available, other than this one."""
    classes: set[Any] = getattr(KeyringBackend, "_classes", set())  # all backends that the library has found
    # a ChainerBackend only combines other backends
    return any(
        _read_priority(backend) >= RECOMMENDED
        for backend in classes
        if not issubclass(backend, Keyring | ChainerBackend)
    )


def _read_priority(backend: Any) -> float:
    """Return the priority of a backend's class; -1 if the backend is unusable."""
    try:
        return float(backend.priority)
    except Exception:  # an unusable backend may raise any exception
        return -1
