# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keys from the user's keyring: by name, once per run, whatever the number of accounts and tasks.

The first process that needs a key asks the keyring and keeps the answer in memory that all processes share
(run_memory.py), with what unlocks an encrypted file: a passphrase is asked for once, also by a command with two runs
(handover.py). So this module must be imported before the forks; ansible-core does it as it looks up the action plugin.
"""

from __future__ import annotations

import os
import re
from typing import Any

from .._state.fingerprint_key import local_key, state_folder
from .._state.run_memory import Shared
from .backends import SERVICE, MissingKey, choose_backend, describe, is_own, read_password

__all__ = ["SESSION", "KeySession", "MissingKey"]

USUAL = re.compile(r"nvapi-[A-Za-z0-9_-]{64}")  # most keys have this form; key_faults is imported for the others alone


class KeySession:
    """The keys of one run, shared by its processes. source: the keyring that gave this process a key, in words."""

    def __init__(self) -> None:
        self._shared = Shared(256 * 1024)
        self.source = ""

    def value(self, name: str) -> tuple[str, list[str]]:
        """Return the key and the warnings to show (once). Raises MissingKey."""
        warnings: list[str] = []
        with self._shared.lock() as known:
            answers = known.setdefault("answers", {})
            if name not in answers:
                refusal = known.get("refusal")
                answers[name], warnings = ({"error": refusal}, []) if refusal else _look_up(name, known)
            answer = answers[name]
        if "error" in answer:
            raise MissingKey(answer["error"], absent=answer.get("absent", False))
        self.source = answer["source"]
        return answer["value"], warnings

    def usable_value(self, name: str) -> tuple[str, list[str]]:
        """Return the same for a key that some program can use. Raises MissingKey, also for a malformed key."""
        value, warnings = self.value(name)
        if not USUAL.fullmatch(value):
            from .key_faults import refuse_malformed

            refuse_malformed(name, value, self.source)
        return value, warnings

    def keep(self, name: str, value: str) -> None:
        """Keep a value for this run alone, outside the keyring."""
        with self._shared.lock() as known:
            known.setdefault("answers", {})[name] = {"value": value, "source": "this run"}

    def get_kept(self, name: str) -> str | None:
        """Return a value that this run has, without asking the keyring."""
        with self._shared.lock() as known:
            return known.get("answers", {}).get(name, {}).get("value")  # type: ignore[no-any-return]  # JSON may be anything

    def stored(self, name: str) -> str | None:
        """Return what the keyring itself has now. Raises MissingKey if it does not answer."""
        with self._shared.lock() as known:
            return _read_key(choose_backend()[0], name, known)[0]

    def store(self, name: str, value: str | None) -> None:
        """Put a value into the keyring, or remove it (None), and read it back. Raises MissingKey."""
        with self._shared.lock() as known:
            backend, _warnings = choose_backend()
            before = _read_key(backend, name, known)[0]
            try:
                if value is not None:
                    backend.set_password(SERVICE, name, value)
                elif before is not None:
                    backend.delete_password(SERVICE, name)
            except Exception as error:  # a backend raises what it likes, and its message may hold anything
                raise MissingKey(
                    f"the keyring {describe(backend)} did not store '{name}' ({type(error).__name__}): unlock the "
                    f"keyring, then run again"
                ) from None
            if _read_key(backend, name, known)[0] != value:
                raise MissingKey(
                    f"the keyring {describe(backend)} did not return the value that was stored for "
                    f"'{name}': check that keyring, then run again"
                )
            known.get("answers", {}).pop(name, None)


def _look_up(name: str, shared: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return {value, source} or {error, absent?}, and warnings. What serves other processes goes into shared."""
    try:
        backend, warnings = choose_backend()
        value, notes = _read_key(backend, name, shared)
    except MissingKey as error:
        return {"error": _report_refusal(error, shared)}, []
    if not value:
        text = f"the key '{name}' is not in {describe(backend)}. Store it with:  keyring set {SERVICE} {name}"
        return {"error": text, "absent": True}, warnings + notes
    return {"value": value, "source": describe(backend)}, warnings + notes


def _report_refusal(error: MissingKey, shared: dict[str, Any]) -> str:
    """Return what each resource says that lacks the key. If no key can be read, the fix is shown once for all."""
    if not error.all_keys:
        return str(error)
    shared["refusal"] = str(error)
    if error.todo:
        from .prompt import show_error  # imports Ansible's display, which most runs do not need here

        show_error(f"{error}.")
        shared["refusal"] = f"{error.text}; see the advice above"
    return str(shared["refusal"])


def _read_key(backend: Any, name: str, shared: dict[str, Any]) -> tuple[str | None, list[str]]:
    """Return the key and notes for the user. The encrypted file asks through Ansible and shares what it unlocks."""
    if not is_own(backend):
        return read_password(backend, name), []
    from .prompt import AnsiblePrompter  # most users have another backend

    prompter = AnsiblePrompter()
    backend.use_prompter(prompter, shared.setdefault("unlocked", {}))
    return read_password(backend, name), prompter.notes


if "HPC_ONBOARD_PASSPHRASE_FD" in os.environ:
    from . import passphrase

    passphrase.keep_descriptor()


def current_keyring_name(name: str) -> str:
    """Return the keyring name of the version to install; the plain name if the key was never rotated."""
    if "@" in name or not (state_folder() / "secrets" / f"{name}.json").exists():
        return name
    from .version_store import VersionStore  # few keys were ever rotated
    from .versions import keyring_name

    secret = VersionStore(name, bytes.fromhex(local_key())).load()
    return keyring_name(name, secret.current.id) if secret else name


SESSION = KeySession()
