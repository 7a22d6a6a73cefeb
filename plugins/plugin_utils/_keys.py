# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keys from the user's keyring: by name, once per run, whatever the number of accounts and tasks.

The first process that needs a key asks the keyring and leaves the answer in memory that all of them
share (_shared.py), and with it what unlocks an encrypted file: a person is asked for a passphrase once.
This module must therefore be imported before the forks, which ansible-core does when it looks up the
action plugin.
"""

from __future__ import annotations

from typing import Any

from ansible_collections.hpc.onboard.plugins.plugin_utils import _descriptor
from ansible_collections.hpc.onboard.plugins.plugin_utils._missing_key import SERVICE, MissingKey
from ansible_collections.hpc.onboard.plugins.plugin_utils._shared import Shared

__all__ = ["SESSION", "MissingKey", "Session"]


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
            raise MissingKey(answer["error"])
        self.source = answer["source"]
        return answer["value"], warnings


def _asked(name: str, known: dict[str, Any]) -> tuple[dict[str, str], list[str]]:
    """One look into the keyring: {value, source} or {error}, and warnings. What serves other keys goes into known."""
    from ansible_collections.hpc.onboard.plugins.plugin_utils._backends import chosen_backend, words

    try:
        backend, warnings = chosen_backend()
        value, told = _from(backend, name, known)
    except MissingKey as error:
        return {"error": _refused(error, known)}, []
    warnings += told
    if not value:
        text = f"no key '{name}' in {words(backend)}: store it with  keyring set {SERVICE} {name}"
        return {"error": text}, warnings
    return {"value": value, "source": words(backend)}, warnings


def _refused(error: MissingKey, known: dict[str, Any]) -> str:
    """What each resource says that lacks the key. Where no key can be had, the way out is shown once for all."""
    if not error.all_keys:
        return str(error)
    known["refusal"] = str(error)
    if error.todo:
        from ansible.utils.display import Display

        Display().error(f"{error}.", wrap_text=False)
        known["refusal"] = f"{error.text}; what to do is said above"
    return str(known["refusal"])


def _from(backend: Any, name: str, known: dict[str, Any]) -> tuple[str | None, list[str]]:
    """The key, and what the backend had to say. Our own backend asks through Ansible and shares what it unlocks."""
    from ansible_collections.hpc.onboard.plugins.plugin_utils._backends import password
    from ansible_collections.hpc.onboard.plugins.plugin_utils._filekeyring import Keyring
    from ansible_collections.hpc.onboard.plugins.plugin_utils._worker_prompt import ThroughAnsible

    if not isinstance(backend, Keyring):
        return password(backend, name), []
    person = ThroughAnsible()
    backend.within(person, known.setdefault("unlocked", {}))
    return password(backend, name), person.told


_descriptor.keep()  # the rest of what serves a passphrase is loaded by the one process that asks
SESSION = Session()
