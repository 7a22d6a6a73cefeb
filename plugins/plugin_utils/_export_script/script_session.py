# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The session of an account that forbids automation: it keeps the message to send, and returns an imported result.

The user copies an exported script to the account and runs it there, then copies its result back. The user enters the
keys on the account, so this machine only checks whether each key exists.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from .._delivery.account_session import AccountSession
from .._delivery.connection import AccountConnection, Action, Variables
from .._delivery.plan import UNKNOWN_KEY
from .._roles.collect import DeclaredResources, Tolerated
from .._secrets.backends import MissingKey

if TYPE_CHECKING:
    from .._delivery.connection import Message
    from .._documents.answer import EngineAnswer

EMPTY_ANSWER: EngineAnswer = {  # until a result is imported
    "outcomes": [],
    "error": None,
    "receipt": None,
    "engine": None,
    "account": {"home": "", "shell": ""},
    "python": "",
    "host": "",
    "seconds": 0.0,
}


class ScriptConnection(AccountConnection):
    """A connection through files.

    sent: the last plan, which the script will contain. answer: the engine's answer in an imported result.
    """

    sent: Message | None = None
    answer: EngineAnswer = EMPTY_ANSWER

    def send_plan(self, plan: Message) -> EngineAnswer:
        """Keep the plan instead of sending it. Return the answer of the imported result, or an empty one."""
        self.sent = plan
        return self.answer


class ScriptSession(AccountSession):
    """The session of an account through a script and its result, which the user copies."""

    def __init__(self, action: Action, variables: Variables | None, places: Mapping[str, str]) -> None:
        """action: Ansible's action plugin that runs the task. variables: Ansible's, of the task.

        places: import paths of the resource types that may be sent, by name.
        """
        super().__init__(action, variables, places)
        self.connection: ScriptConnection = ScriptConnection(action, self.connection.host_variables, self.name, places)
        self._missing_keys: dict[str, MissingKey] = {}  # missing keys that only the site's profile requests, by name

    def collect(self, names: list[str], resources: Sequence[object], tolerated: Tolerated = ()) -> DeclaredResources:
        """Return what the roles of these names declare, and these resources of the task, as AccountSession does.

        Remember the missing keys of resources that only the site's profile requests, not the user: the field
        "is_unasked" of such a resource is set. tolerated: types of errors that only drop the role in which they occur.
        """
        declared = super().collect(names, resources, tolerated)
        optional_keys = {
            str(entry["options"].get("secret", "")) for entry in declared.resources if entry.get("is_unasked")
        }
        for name in optional_keys - {""}:
            try:
                super().key(name)
            except MissingKey as error:
                if error.absent:  # otherwise, the keyring failed, and may have the key
                    self._missing_keys[name] = error
        return declared

    def key(self, name: str) -> str:
        """Return a placeholder for a key, whose value the user enters when the script runs.

        Raise MissingKey for a missing key that only the site's profile requests, so that its resources are skipped.
        """
        if name in self._missing_keys:
            raise self._missing_keys[name]
        return UNKNOWN_KEY
