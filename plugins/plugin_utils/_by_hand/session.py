# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""An account that no program enters, as an action works with it: what is sent is kept, and an answer that was brought
back is what it answers.

Its keys are typed there, so none of them is looked at here but to see whether there is one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .._delivery.account_session import AccountSession
from .._delivery.plan import UNKNOWN_KEY
from .._roles.collect import Declared, Tolerated
from .._secrets.backends import MissingKey

if TYPE_CHECKING:
    from .._delivery.conversation import Message
    from .._documents.answer import Answer

NOTHING: Answer = {
    "outcomes": [],
    "error": None,
    "receipt": None,
    "account": {"home": "", "shell": ""},
    "python": "",
    "host": "",
    "seconds": 0.0,
}


class PaperSession(AccountSession):
    """sent: the plan that was to go there last. answer: what it answers; without one, nothing."""

    sent: Message | None = None
    answer: Answer = NOTHING
    _absent: dict[str, MissingKey] = {}

    def collect(self, names: list[str], resources: Sequence[object], tolerated: Tolerated = ()) -> Declared:
        """What is declared; what nobody has asked for and whose key nobody has is found out here."""
        declared = super().collect(names, resources, tolerated)
        unasked = {str(one["options"].get("secret", "")) for one in declared.resources if one.get("is_unasked")}
        self._absent = {}
        for name in unasked - {""}:
            try:
                super().key(name)
            except MissingKey as error:
                if error.absent:
                    self._absent[name] = error
        return declared

    def key(self, name: str) -> str:
        """What stands for a key, which is typed on the account."""
        if name in self._absent:
            raise self._absent[name]
        return UNKNOWN_KEY

    def ask(self, document: Message) -> Answer:
        """Keep what is to be sent, and give what was brought back."""
        self.sent = document
        return self.answer
