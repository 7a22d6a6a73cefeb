# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keys from the user's keyring: by name, once per run, whatever the number of accounts and tasks.

The first process that needs a key asks the keyring and leaves the answer in memory that all of them
share (run_memory.py), and with it what unlocks an encrypted file: a person is asked for a passphrase once.
This module must therefore be imported before the forks, which ansible-core does when it looks up the
action plugin.
"""

from __future__ import annotations

import os
import re
from typing import Any

from .._state.fingerprint_key import local_key, state_folder
from .._state.run_memory import Shared
from .backends import SERVICE, MissingKey, chosen_backend, is_ours, password, words

__all__ = ["SESSION", "MissingKey", "Session"]

USUAL = re.compile(r"nvapi-[A-Za-z0-9_-]{64}")  # most keys are so; what looks at others is loaded for them alone


class Session:
    """The keys of one run, shared by its processes. source: the keyring that gave this process a key, in words."""

    def __init__(self) -> None:
        self._shared = Shared(256 * 1024)
        self.source = ""

    def value(self, name: str) -> tuple[str, list[str]]:
        """The key of that name and the warnings to show (once). Raises MissingKey."""
        warnings: list[str] = []
        with self._shared.held() as known:
            answers = known.setdefault("answers", {})
            if name not in answers:
                refusal = known.get("refusal")
                answers[name], warnings = ({"error": refusal}, []) if refusal else _asked(name, known)
            answer = answers[name]
        if "error" in answer:
            raise MissingKey(answer["error"], absent=answer.get("absent", False))
        self.source = answer["source"]
        return answer["value"], warnings

    def sound(self, name: str) -> tuple[str, list[str]]:
        """The same of a key that some reader could use; a malformed one is as good as none. Raises MissingKey."""
        value, warnings = self.value(name)
        if not USUAL.fullmatch(value):
            from .key_faults import refuse_malformed

            refuse_malformed(name, value, self.source)
        return value, warnings

    def keep(self, name: str, value: str) -> None:
        """Have a value at hand for this run alone; the keyring is not told."""
        with self._shared.held() as known:
            known.setdefault("answers", {})[name] = {"value": value, "source": "this run"}

    def kept(self, name: str) -> str | None:
        """A value that is at hand, without asking the keyring."""
        with self._shared.held() as known:
            return known.get("answers", {}).get(name, {}).get("value")  # type: ignore[no-any-return]  # JSON may be anything

    def stored(self, name: str) -> str | None:
        """What the keyring itself has now. Raises MissingKey when it does not answer."""
        with self._shared.held() as known:
            return _from(chosen_backend()[0], name, known)[0]

    def store(self, name: str, value: str | None) -> None:
        """Put a value into the keyring, or take it out (None), and read back that it is so. Raises MissingKey."""
        with self._shared.held() as known:
            backend, _warnings = chosen_backend()
            there = _from(backend, name, known)[0]
            try:
                if value is not None:
                    backend.set_password(SERVICE, name, value)
                elif there is not None:
                    backend.delete_password(SERVICE, name)
            except Exception as error:  # a backend raises what it likes, and its words may hold anything
                kind = type(error).__name__
                raise MissingKey(f"the keyring {words(backend)} did not keep '{name}' ({kind}): unlock it") from None
            if _from(backend, name, known)[0] != value:
                raise MissingKey(f"the keyring {words(backend)} does not give back what it was given for '{name}'")
            known.get("answers", {}).pop(name, None)


def _asked(name: str, known: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """One look into the keyring: {value, source} or {error, absent?}; warnings. What serves others goes into known."""
    try:
        backend, warnings = chosen_backend()
        value, told = _from(backend, name, known)
    except MissingKey as error:
        return {"error": _refused(error, known)}, []
    warnings += told
    if not value:
        text = f"no key '{name}' in {words(backend)}: store it with  keyring set {SERVICE} {name}"
        return {"error": text, "absent": True}, warnings
    return {"value": value, "source": words(backend)}, warnings


def _refused(error: MissingKey, known: dict[str, Any]) -> str:
    """What each resource says that lacks the key. Where no key can be had, the way out is shown once for all."""
    if not error.all_keys:
        return str(error)
    known["refusal"] = str(error)
    if error.todo:
        from .prompt import show_error

        show_error(f"{error}.")
        known["refusal"] = f"{error.text}; what to do is said above"
    return str(known["refusal"])


def _from(backend: Any, name: str, known: dict[str, Any]) -> tuple[str | None, list[str]]:
    """The key, and what the backend had to say. Our own backend asks through Ansible and shares what it unlocks."""
    if not is_ours(backend):
        return password(backend, name), []
    from .prompt import ThroughAnsible  # others are usual

    person = ThroughAnsible()
    backend.within(person, known.setdefault("unlocked", {}))
    return password(backend, name), person.told


if "HPC_ONBOARD_PASSPHRASE_FD" in os.environ:  # few name one; what else serves a passphrase is loaded by who asks
    from . import passphrase_fd

    passphrase_fd.keep()


def current_version(name: str) -> str:
    """The keyring username of the version of a key to install: the plain name where it was never rotated."""
    if "@" in name or not (state_folder() / "secrets" / f"{name}.json").exists():
        return name
    from .version_store import current  # few keys were ever rotated

    return current(name, bytes.fromhex(local_key()))


SESSION = Session()
