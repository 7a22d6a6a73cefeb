# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Choose the keyring library's backend, name it for users, and read a key from it.

A backend is a store of keys that the library can use: the keyring of a desktop, or hpc-onboard's encrypted file.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

SERVICE = "hpc.onboard"  # the service name of all keys in a keyring
PLAINTEXT = "this keyring stores keys unencrypted in a file"
UNUSABLE = {  # class name of a backend -> why it cannot be used
    "keyring.backends.null.Keyring": "this keyring stores nothing and reports no error",
    "keyring.backends.fail.Keyring": "no keyring service is running on this machine",
    "keyrings.alt.file.PlaintextKeyring": PLAINTEXT,
    "keyrings.alt.Windows.RegistryKeyring": PLAINTEXT,
}
OWN_BACKEND = "ansible_collections.hpc.onboard.plugins.plugin_utils.keyring_backend.Keyring"
TITLES = {  # class name of a backend -> its name for users
    "keyring.backends.SecretService.Keyring": "Secret Service, such as GNOME Keyring",
    "keyring.backends.libsecret.Keyring": "Secret Service, such as GNOME Keyring",
    "keyring.backends.kwallet.DBusKeyring": "KWallet",
    "keyring.backends.kwallet.DBusKeyringKWallet4": "KWallet",
    "keyring.backends.macOS.Keyring": "macOS Keychain",
}
MACOS = "keyring.backends.macOS."  # the module of the Keychain's backend
ALTERNATIVES = (
    "Start your desktop's keyring (GNOME Keyring, KWallet, macOS Keychain), name a backend in PYTHON_KEYRING_BACKEND, "
    f"or run `pip install keyring cryptography` and store the key in an encrypted file with `keyring set {SERVICE} ngc`"
)
UNLOCK = (
    "Unlock the keyring on the desktop. Without a desktop, run `dbus-run-session -- bash`. In that shell, run "
    "`gnome-keyring-daemon --unlock --components=secrets`, type the password of the keyring, then run hpc-onboard again"
)
LOCKED = {  # class name of an exception -> what is wrong with the keyring
    "KeyringLocked": "is locked",
    "InitError": "could not be opened; its daemon may have started before the keyring was unlocked",
}
# Reads the Keychain in a separate program: macOS ends a forked process that uses the Keychain.
READ_PROGRAM = """
import importlib, json, sys
module, _, name = sys.argv[1].rpartition(".")
try:
    result = {"value": getattr(importlib.import_module(module), name)().get_password(*sys.argv[2:])}
except Exception as error:
    result = {"error": type(error).__name__}
json.dump(result, sys.stdout)
"""


class MissingKey(Exception):
    """A key cannot be read. text: the reason. todo: what to do.

    all_keys: no other key can be read either; `todo` is then shown only once in a run. absent: the keyring has no such
    key; if False, the keyring failed, and may have the key.
    """

    def __init__(self, text: str, todo: str = "", all_keys: bool = False, absent: bool = False) -> None:
        super().__init__(f"{text}. {todo}" if todo else text)
        self.text, self.todo, self.all_keys, self.absent = text, todo, all_keys, absent


def class_name(backend: Any) -> str:
    """Return the backend's full class name, as used in PYTHON_KEYRING_BACKEND."""
    return f"{type(backend).__module__}.{type(backend).__qualname__}"


def is_own(backend: Any) -> bool:
    """Return True for hpc-onboard's own backend, the encrypted file."""
    return class_name(backend) == OWN_BACKEND


def describe(backend: Any) -> str:
    """Return the backend's usual name, or its class name if the backend is not well known."""
    if is_own(backend):
        from .file_errors import display_path  # imported late: imports the keyring library, which most runs do not need

        return f"encrypted file {display_path(backend.path)}"
    return TITLES.get(class_name(backend), class_name(backend))


def read_password(backend: Any, name: str) -> str | None:
    """Return the key of this name; None if the backend does not have it. Raise MissingKey if the backend fails."""
    try:
        if sys.platform == "darwin" and class_name(backend).startswith(MACOS):
            return _read_in_program(backend, name)
        return backend.get_password(SERVICE, name)  # type: ignore[no-any-return]  # keyring is untyped
    except MissingKey:
        raise
    except Exception as error:  # a backend may raise any exception, and the message may contain a key
        raise _explain_store_error(error) or _explain_failure(backend, name, type(error).__name__) from None


def _explain_store_error(error: Exception) -> MissingKey | None:
    """Return the MissingKey for an error of the encrypted file, whose messages can be shown; None for another error."""
    from .file_errors import StoreError, StoreMissing
    from .passphrase import SOURCES

    if not isinstance(error, StoreError):
        return None
    # without this variable, the library chose the encrypted file only because no keyring service is running
    is_default = isinstance(error, StoreMissing) and "PYTHON_KEYRING_BACKEND" not in os.environ
    message = f"no keyring service is running on this machine, and {error}" if is_default else str(error)
    text = message.removesuffix(f". {SOURCES}")  # advice that is valid for all keys, and is shown only once
    return MissingKey(text, todo=SOURCES if text != message else "", all_keys=True)


def _explain_failure(backend: Any, name: str, error: str) -> MissingKey:
    """Return the MissingKey for a backend that failed. name: of the key. error: the class name of the exception."""
    if error in LOCKED:
        return MissingKey(f"the keyring ({describe(backend)}) {LOCKED[error]}", todo=UNLOCK, all_keys=True)
    return MissingKey(
        f"the keyring ({describe(backend)}) did not return the key '{name}' ({error}). Unlock the keyring, then "
        f"try again. To test the keyring, run: keyring get {SERVICE} {name}"
    )


def _read_in_program(backend: Any, name: str) -> str | None:
    """Return the key, which a separate program reads; None if the backend does not have it. Raise MissingKey."""
    command = [sys.executable, "-c", READ_PROGRAM, class_name(backend), SERVICE, name]
    program = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    try:
        result = json.loads(program.stdout)
    except ValueError:
        result = {"error": f"the program that read the key ended with exit code {program.returncode}"}
    if "error" in result:
        raise _explain_failure(backend, name, result["error"])
    value: str | None = result["value"]
    return value


def choose_backend() -> tuple[Any, list[str]]:
    """Return the first usable backend, and warnings about the backend. Raise MissingKey if no backend is usable.

    The order is that of the library, in which `keyring set` chooses a backend, too.
    """
    configured = os.environ.get("PYTHON_KEYRING_BACKEND")
    reasons = []
    for backend in _list_backends():
        name = class_name(backend)
        reason = UNUSABLE.get(name)
        if not reason:
            return backend, []
        if reason == PLAINTEXT and configured == name:  # the user's explicit choice
            return backend, [f"PYTHON_KEYRING_BACKEND selects the keyring {name}, but {reason}"]
        reasons.append(f"{name} ({reason})")
    unusable = ", ".join(reasons) or "none"
    raise MissingKey(f"no safe keyring was found. Available keyrings: {unusable}", ALTERNATIVES, all_keys=True)


def _list_backends() -> list[Any]:
    """Return the backends that the library would use, in the order of the library. Raise MissingKey."""
    try:
        import keyring  # imported late: takes time, and most runs do not need the library
        from keyring.backends import chainer

        current = keyring.get_keyring()
    except Exception as error:
        raise _explain_no_start(error) from None
    is_chain = isinstance(current, chainer.ChainerBackend)  # a backend that tries several others
    return list(current.backends) if is_chain else [current]


def _explain_no_start(error: Exception) -> MissingKey:
    """Return the MissingKey for a keyring library that is missing or cannot start."""
    if isinstance(error, ImportError) and error.name == "keyring":
        return MissingKey("the Python package 'keyring' is missing. Run: pip install keyring", all_keys=True)
    from .named_backend import explain_named_backend  # imported late: most keyrings start

    reason = explain_named_backend(error)
    if reason:
        return MissingKey(reason, all_keys=True)
    return MissingKey(f"the keyring library cannot start ({type(error).__name__})", ALTERNATIVES, all_keys=True)
