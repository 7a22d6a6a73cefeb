# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keys from the user's keyring: by name, once per run, whatever the number of accounts and tasks.

The first process that needs a key asks the keyring and leaves the answer in memory that all of them
share (_shared.py). This module must therefore be imported before the forks, which ansible-core does
when it looks up the action plugin.
"""

from __future__ import annotations

import os
from typing import Any

from ansible_collections.hpc.onboard.plugins.plugin_utils._shared import Shared

SERVICE = "hpc.onboard"

PLAINTEXT = "it keeps keys unencrypted in a file"
REFUSED = {
    "keyring.backends.null.Keyring": "it stores nothing and says nothing",
    "keyring.backends.fail.Keyring": "no keyring service answers here",
    "keyrings.alt.file.PlaintextKeyring": PLAINTEXT,
    "keyrings.alt.Windows.RegistryKeyring": PLAINTEXT,
}
WAYS_OUT = (
    "start your desktop's keyring (GNOME Keyring, KWallet, macOS Keychain), or name a backend in PYTHON_KEYRING_BACKEND"
)


class MissingKey(Exception):
    """No value for the key, with what to do about it."""


class Session:
    """The keys of one run, shared by its processes: the first one that needs a key asks the keyring."""

    def __init__(self) -> None:
        self._shared = Shared(256 * 1024)

    def value(self, name: str) -> tuple[str, list[str]]:
        """The key of that name and the warnings to show (once). Raises MissingKey."""
        warnings: list[str] = []
        with self._shared.held() as known:
            if name not in known:
                known[name], warnings = _asked(name)
            answer = known[name]
        if "error" in answer:
            raise MissingKey(answer["error"])
        return answer["value"], warnings


def _asked(name: str) -> tuple[dict[str, str], list[str]]:
    """One look into the keyring: {value} or {error}, and warnings."""
    try:
        backend, warnings = chosen_backend()
        value = _password(backend, name)
    except MissingKey as error:
        return {"error": str(error)}, []
    if not value:
        text = f"no key '{name}' in {described(backend)}: store it with  keyring set {SERVICE} {name}"
        return {"error": text}, warnings
    return {"value": value}, warnings


def _password(backend: Any, name: str) -> str | None:
    try:
        return backend.get_password(SERVICE, name)  # type: ignore[no-any-return]
    except Exception as error:  # a backend raises what it likes, and its words may hold anything
        kind = type(error).__name__
        raise MissingKey(
            f"the keyring {described(backend)} did not give the key '{name}' ({kind}): unlock it, then run again;"
            f" 'keyring get {SERVICE} {name}' shows whether it answers"
        ) from None


def described(backend: Any) -> str:
    """The backend's full class name: what one would put into PYTHON_KEYRING_BACKEND."""
    return f"{type(backend).__module__}.{type(backend).__qualname__}"


def chosen_backend() -> tuple[Any, list[str]]:
    """The one backend that is used, by name, and the warnings that go with it. Raises MissingKey.

    keyring's chainer is resolved to its first backend that may be used: 'set' on the command line
    writes to the first one too.
    """
    named = os.environ.get("PYTHON_KEYRING_BACKEND")
    try:
        import keyring
        from keyring.backends import chainer

        current = keyring.get_keyring()
    except ImportError as error:
        if named and (error.name or "") != "keyring":
            raise MissingKey(
                f"PYTHON_KEYRING_BACKEND names {named}, which cannot be loaded: install it, or unset the variable"
            ) from None
        raise MissingKey("the Python package 'keyring' is missing: pip install keyring") from None
    except Exception as error:
        raise MissingKey(f"keyring cannot start ({type(error).__name__}): {WAYS_OUT}") from None
    links = list(current.backends) if isinstance(current, chainer.ChainerBackend) else [current]
    reasons = []
    for backend in links:
        why = REFUSED.get(described(backend))
        if not why:
            return backend, []
        if why == PLAINTEXT and named == described(backend):
            return backend, [f"the keyring {named} is used because PYTHON_KEYRING_BACKEND names it: {why}"]
        reasons.append(f"{described(backend)} ({why})")
    raise MissingKey(f"no keyring that can be trusted with a key, only {', '.join(reasons) or 'none'}: {WAYS_OUT}")


SESSION = Session()
