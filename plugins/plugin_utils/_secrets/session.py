# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keys from the user's keyring. Each key is read once in a run, whatever the number of accounts and tasks.

The first process that needs a key reads the keyring and stores the result in memory that all processes share
(run_memory.py), together with the key of an encrypted file: the user enters a passphrase once, also for a command with
two runs (handover.py). So this module must be imported before the forks; ansible-core does so when it finds the action
plugin.
"""

from __future__ import annotations

import os
import re
from typing import Any

from .._state.fingerprint_key import local_key, state_folder
from .._state.run_memory import Shared
from .backends import SERVICE, MissingKey, choose_backend, describe, is_own, read_password

__all__ = ["SESSION", "KeySession", "MissingKey"]

COMMON_KEY = re.compile(r"nvapi-[A-Za-z0-9_-]{64}")  # the form of most keys; only others need the slow key_faults


class KeySession:
    """The keys of one run, shared by its processes. source: description of the keyring that the last key is from.

    The parameter `name` of its methods is the name of a key in the keyring: NAME, or NAME@VERSION (versions.py).
    """

    def __init__(self) -> None:
        self._shared = Shared(size=256 * 1024)
        self.source = ""

    def read_key(self, name: str) -> tuple[str, list[str]]:
        """Return the key, and warnings to show; [] unless this process is the one that reads the keyring.

        Raise MissingKey.
        """
        warnings: list[str] = []
        with self._shared.lock() as memory:
            answers = memory.setdefault("answers", {})  # by the key's name, as _look_up() returns them
            if name not in answers:
                refusal = memory.get("refusal")  # set if no key can be read
                if refusal:
                    answers[name] = {"error": refusal}
                else:
                    answers[name], warnings = _look_up(name, memory)
            answer = answers[name]
        if "error" in answer:
            raise MissingKey(answer["error"], absent=answer.get("absent", False))
        self.source = answer["source"]
        return answer["value"], warnings

    def read_usable_key(self, name: str) -> tuple[str, list[str]]:
        """Return the key and warnings as read_key() does. Raise MissingKey, also for a malformed key."""
        value, warnings = self.read_key(name)
        if not COMMON_KEY.fullmatch(value):
            from .key_faults import find_fault

            if fault := find_fault(value):
                raise MissingKey(
                    f"the key '{name}' in {self.source} is malformed: {fault}. To store the key again, run: keyring "
                    f"set {SERVICE} {name}"
                )
        return value, warnings

    def keep(self, name: str, value: str) -> None:
        """Store a value for this run only, not in the keyring."""
        with self._shared.lock() as memory:
            memory.setdefault("answers", {})[name] = {"value": value, "source": "this run"}

    def find_kept(self, name: str) -> str | None:
        """Return a value that this run has already read or stored; None otherwise."""
        with self._shared.lock() as memory:
            return memory.get("answers", {}).get(name, {}).get("value")  # type: ignore[no-any-return]  # JSON may be anything

    def read_keyring(self, name: str) -> str | None:
        """Return the key from the keyring itself, not from an earlier read; None if the keyring has no such key.

        Raise MissingKey if the keyring fails.
        """
        with self._shared.lock() as memory:
            return _read_key(choose_backend()[0], name, memory)[0]

    def store(self, name: str, value: str | None) -> None:
        """Store a value in the keyring, or remove the key if the value is None. Raise MissingKey if that fails."""
        with self._shared.lock() as memory:
            backend, _warnings = choose_backend()
            old_value = _read_key(backend, name, memory)[0]
            try:
                if value is not None:
                    backend.set_password(SERVICE, name, value)
                elif old_value is not None:
                    backend.delete_password(SERVICE, name)
            except Exception as error:  # a backend may raise any exception, and the message may contain a key
                raise MissingKey(
                    f"the keyring ({describe(backend)}) could not change the key '{name}' ({type(error).__name__}). "
                    "Unlock the keyring, then try again"
                ) from None
            if _read_key(backend, name, memory)[0] != value:
                raise MissingKey(
                    f"the keyring ({describe(backend)}) did not return the value that was stored for "
                    f"'{name}'. Check this keyring, then try again"
                )
            memory.get("answers", {}).pop(name, None)  # the next read_key() reads the new value


def _look_up(name: str, shared: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Read a key from the keyring. Return the answer to remember, and warnings.

    The answer has `value` and `source`; or `error`, with `absent` if the keyring has no such key. shared: data that all
    processes of the run share.
    """
    try:
        backend, warnings = choose_backend()
        value, notes = _read_key(backend, name, shared)
    except MissingKey as error:
        return {"error": _report_refusal(error, shared)}, []
    if not value:
        text = f"the key '{name}' is not in {describe(backend)}. To store the key, run:  keyring set {SERVICE} {name}"
        return {"error": text, "absent": True}, warnings + notes
    return {"value": value, "source": describe(backend)}, warnings + notes


def _report_refusal(error: MissingKey, shared: dict[str, Any]) -> str:
    """Return the error text for each resource that needs the key.

    If no key can be read, show the advice once, and store in `shared` a text for all other keys that refers to it.
    """
    if not error.all_keys:
        return str(error)
    shared["refusal"] = str(error)
    if error.todo:
        from .prompt import show_error  # imported late: imports Ansible's display, which most runs do not need

        show_error(f"{error}.")
        shared["refusal"] = f"{error.text}; see the advice above"
    return str(shared["refusal"])


def _read_key(backend: Any, name: str, shared: dict[str, Any]) -> tuple[str | None, list[str]]:
    """Return the key (None if the backend does not have the key), and notes for the user.

    The encrypted file prompts through Ansible, and stores its key in `shared` for the other processes of the run. Raise
    MissingKey if the backend fails.
    """
    if not is_own(backend):
        return read_password(backend, name), []
    from .prompt import AnsiblePrompter  # imported late: most users have a different backend

    prompter = AnsiblePrompter()
    backend.use_prompter(prompter, shared.setdefault("unlocked", {}))
    return read_password(backend, name), prompter.notes


if "HPC_ONBOARD_PASSPHRASE_FD" in os.environ:  # only then is the import of passphrase.py needed before the forks
    from . import passphrase

    passphrase.keep_descriptor()


def current_keyring_name(name: str) -> str:
    """Return the name in the keyring of the version to install; `name` itself if the key was never rotated.

    name: NAME or NAME@VERSION, which is returned unchanged.
    """
    if "@" in name or not (state_folder() / "secrets" / f"{name}.json").exists():
        return name
    from .version_store import VersionStore  # few keys were ever rotated
    from .versions import keyring_name

    secret = VersionStore(name, bytes.fromhex(local_key())).load()
    return keyring_name(name, secret.current.id) if secret else name


SESSION = KeySession()
