# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which backend of the keyring library is used, what it is called, how one key is read from it, or why it cannot be.

What is told when a key cannot be had, or lies in an encrypted file of ours, is loaded when that is so.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

SERVICE = "hpc.onboard"  # the name under which keys lie in a keyring
PLAINTEXT = "it keeps keys unencrypted in a file"
REFUSED = {
    "keyring.backends.null.Keyring": "it stores nothing and says nothing",
    "keyring.backends.fail.Keyring": "no keyring service answers here",
    "keyrings.alt.file.PlaintextKeyring": PLAINTEXT,
    "keyrings.alt.Windows.RegistryKeyring": PLAINTEXT,
}
OUR_NAME = "ansible_collections.hpc.onboard.plugins.plugin_utils.keyring_backend.Keyring"
WORDS = {
    "keyring.backends.SecretService.Keyring": "Secret Service, such as GNOME Keyring",
    "keyring.backends.libsecret.Keyring": "Secret Service, such as GNOME Keyring",
    "keyring.backends.kwallet.DBusKeyring": "KWallet",
    "keyring.backends.kwallet.DBusKeyringKWallet4": "KWallet",
    "keyring.backends.macOS.Keyring": "macOS Keychain",
}
MACOS = "keyring.backends.macOS."
WAYS_OUT = (
    "Start your desktop's keyring (GNOME Keyring, KWallet, macOS Keychain), name a backend in PYTHON_KEYRING_BACKEND,"
    f" or  pip install hpc-onboard  and use its encrypted file:  keyring set {SERVICE} ngc"
)
UNLOCK = (
    "Unlock it on the desktop. Without a desktop, begin a session with  dbus-run-session -- bash  and there, before"
    " anything else,  gnome-keyring-daemon --unlock --components=secrets  with its password on standard input"
)
LOCKED = {
    "KeyringLocked": "is locked",
    "InitError": "could not be opened; its daemon may have been started before it was unlocked",
}
# What asks the Keychain in a program of its own: macOS ends a forked process that calls it.
ASKER = """
import importlib, json, sys
module, _, name = sys.argv[1].rpartition(".")
try:
    said = {"value": getattr(importlib.import_module(module), name)().get_password(*sys.argv[2:])}
except Exception as error:
    said = {"error": type(error).__name__}
json.dump(said, sys.stdout)
"""


class MissingKey(Exception):
    """No value for the key: why, and what to do about it.

    all_keys: no other key can be had from there either. Then todo, where it takes a paragraph, is said once in a run.
    absent: the keyring has answered that it holds no such key; otherwise it may hold one, and did not give it.
    """

    def __init__(self, text: str, todo: str = "", all_keys: bool = False, absent: bool = False) -> None:
        super().__init__(f"{text}. {todo}" if todo else text)
        self.text, self.todo, self.all_keys, self.absent = text, todo, all_keys, absent


def described(backend: Any) -> str:
    """The backend's full class name: what one would put into PYTHON_KEYRING_BACKEND."""
    return f"{type(backend).__module__}.{type(backend).__qualname__}"


def is_ours(backend: Any) -> bool:
    """Whether it is our own, the encrypted file."""
    return described(backend) == OUR_NAME


def words(backend: Any) -> str:
    """The backend as people know it; by its class name where nobody knows it by another."""
    if is_ours(backend):
        from .file_errors import shown  # others are usual

        return f"encrypted file {shown(backend.path)}"
    return WORDS.get(described(backend), described(backend))


def password(backend: Any, name: str) -> str | None:
    """The key of that name, None where the backend has none. Raises MissingKey when the backend fails."""
    try:
        if sys.platform == "darwin" and described(backend).startswith(MACOS):
            return _asked_afresh(backend, name)
        return backend.get_password(SERVICE, name)  # type: ignore[no-any-return]  # keyring is untyped
    except MissingKey:
        raise
    except Exception as error:  # a backend raises what it likes, and its words may hold anything
        raise _failed_of_ours(error) or _failed(backend, name, type(error).__name__) from None


def _failed_of_ours(error: Exception) -> MissingKey | None:
    """Why the encrypted file did not give a key, if this is an error of it: its words are our own."""
    from .file_errors import StoreError, StoreMissing
    from .passphrase import WAYS

    if not isinstance(error, StoreError):
        return None
    alone = isinstance(error, StoreMissing) and "PYTHON_KEYRING_BACKEND" not in os.environ
    said = f"no keyring service answers here, but {error}" if alone else str(error)
    text = said.removesuffix(f". {WAYS}")
    return MissingKey(text, WAYS if text != said else "", all_keys=True)


def _failed(backend: Any, name: str, kind: str) -> MissingKey:
    if kind in LOCKED:
        return MissingKey(f"the keyring {words(backend)} {LOCKED[kind]}", UNLOCK, all_keys=True)
    return MissingKey(
        f"the keyring {words(backend)} did not give the key '{name}' ({kind}): unlock it, then run again;"
        f" 'keyring get {SERVICE} {name}' shows whether it answers"
    )


def _asked_afresh(backend: Any, name: str) -> str | None:
    """The key, by a fresh program that hands it over on a pipe."""
    order = [sys.executable, "-c", ASKER, described(backend), SERVICE, name]
    run = subprocess.run(order, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    try:
        said = json.loads(run.stdout)
    except ValueError:
        said = {"error": f"its program ended with {run.returncode}"}
    if "error" in said:
        raise _failed(backend, name, said["error"])
    value: str | None = said["value"]
    return value


def chosen_backend() -> tuple[Any, list[str]]:
    """The one backend that is used, by name, and the warnings that go with it. Raises MissingKey.

    keyring's chainer is resolved to its first backend that may be used: 'set' on the command line
    writes to the first one too.
    """
    named = os.environ.get("PYTHON_KEYRING_BACKEND")
    reasons = []
    for backend in _links():
        why = REFUSED.get(described(backend))
        if not why:
            return backend, []
        if why == PLAINTEXT and named == described(backend):
            return backend, [f"the keyring {named} is used because PYTHON_KEYRING_BACKEND names it: {why}"]
        reasons.append(f"{described(backend)} ({why})")
    found = ", ".join(reasons) or "none"
    raise MissingKey(f"no keyring that can be trusted with a key, only {found}", WAYS_OUT, all_keys=True)


def _links() -> list[Any]:
    """The backends that the library would ask, in its order."""
    try:
        import keyring
        from keyring.backends import chainer

        current = keyring.get_keyring()
    except Exception as error:
        raise _cannot_start(error) from None
    return list(current.backends) if isinstance(current, chainer.ChainerBackend) else [current]


def _cannot_start(error: Exception) -> MissingKey:
    from . import named_backend  # most keyrings start

    if isinstance(error, ImportError) and error.name == "keyring":
        return MissingKey("the Python package 'keyring' is missing: pip install keyring", all_keys=True)
    why = named_backend.why_not(error)
    if why:
        return MissingKey(why, all_keys=True)
    return MissingKey(f"keyring cannot start ({type(error).__name__})", WAYS_OUT, all_keys=True)
