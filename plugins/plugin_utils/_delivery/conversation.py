# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is said with one account about one plan."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets.backends import MissingKey
from ansible_collections.hpc.onboard.plugins.plugin_utils._state.fingerprint_key import (
    account_key,
    shown_by,
    state_folder,
)
from ansible_collections.hpc.onboard.plugins.plugin_utils._state.run_memory import BOARD
from ansible_collections.hpc.onboard.plugins.plugin_utils._text.sanitise import harmless

if TYPE_CHECKING:
    from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.answer import Answer, Receipt, Rotations
    from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.declaration import PlanEntry
    from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.outcome import Outcome, UnderWay

Message = Mapping[str, Any]  # a plan as it is sent, or parts of it: docs/schemas/plan.schema.json

PLAIN_PATH = re.compile(r"/[A-Za-z0-9_@%+=:,./-]+")  # sftp would run what stands behind a line end


class Session(Protocol):
    """What a conversation needs of the session with an account."""

    name: str
    cluster: str
    sandbox: dict[str, Any] | None

    def key(self, name: str) -> str:
        """The value of a key. Raises MissingKey."""

    def ask(self, document: Message) -> Answer:
        """Send a plan, and give its answer. Raises NoAnswer."""

    def take(self, local: str, remote: str) -> None:
        """Take a file of this machine to the account."""


class Conversation:
    """What is said with one account: the plan once, and then questions for as long as work goes on there."""

    def __init__(self, session: Session, entries: list[PlanEntry], wishes: Message) -> None:
        """wishes: the work, the seconds for one resource, and whether there is a receipt (see _engine/engine.py)."""
        self.receipt: Receipt | None = None
        self.seconds = 0.0  # that the account worked on it
        self._session = session
        self._entries = entries
        self._plan = {
            "schema": "hpc.onboard/plan/1.2",
            "fingerprint_key": account_key(session.name),
            "cluster": session.cluster,
            "sandbox": session.sandbox,
            "keys": {} if session.sandbox else _keys(session, entries),
            **wishes,
        }

    def outcomes(self, wait: int, asks: bool = False) -> list[Outcome]:
        """What came of the plan, when nothing of it is under way any more.

        Nothing is sent for one that is empty, unless one asks what is noted on the account.
        """
        if not (self._entries or asks):
            return []
        outcomes = self._asked(range(len(self._entries)))
        if self._plan["work"] != "reconcile" or not any(outcome["progress"] for outcome in outcomes):
            return outcomes
        from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.job_wait import settled  # few runs wait

        ended = settled(outcomes, wait, self._asked, self._bring, self._show)
        gone = [position for position, one in enumerate(outcomes) if one["progress"] and not one["after"]]
        if gone:
            self._asked(gone)  # so that it is noted no more
        return ended

    def _show(self, progress: UnderWay | None) -> None:
        BOARD.put(self._session.name, progress)

    def _asked(self, positions: Iterable[int], follow: float = 0) -> list[Outcome]:
        document = {**self._plan, "resources": [self._entries[position] for position in positions]}
        if follow:
            document = {**document, "work": "follow", "follow_seconds": follow}
        answer = self._session.ask(document)
        self.receipt = answer["receipt"] or self.receipt
        self.seconds += answer["seconds"]
        return [_explained(outcome) if "rotated" in outcome["evidence"] else outcome for outcome in answer["outcomes"]]

    def _bring(self, position: int, wants: Mapping[str, str]) -> Outcome:
        """Fetch on this machine what the account cannot, take it there, and start the work anew.

        What is taken out is known from what the account has noted, which may name any address.
        """
        options = self._entries[position]["options"]
        if options.get("state") == "absent":
            raise AccountError("no file is brought for what is taken out")
        installer = options.get("installers", {}).values()
        if not any((wants["url"], wants["sha256"]) == (one["url"], one["sha256"]) for one in installer):
            raise AccountError("the account asks for a file that it was not sent for: it was not brought")
        from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.downloads import fetched

        if not PLAIN_PATH.fullmatch(wants["path"]):
            raise AccountError("the account names a path that no file can be taken to: it was not brought")
        step: UnderWay = {"step": "fetching the installer for it", "done": None, "total": None, "unit": "bytes"}
        file = fetched(
            wants["url"], wants["sha256"], lambda done, total: self._show({**step, "done": done, "total": total})
        )
        self._show({"step": "taking the installer there", "done": None, "total": None, "unit": "steps"})
        try:
            self._session.take(str(file), wants["path"])
        except Exception as error:  # Ansible's, which this room does not know, with the account's own words
            raise AccountError(f"the file could not be taken there: {harmless(error, 2000)}") from None
        return self._asked([position])[0]


def _keys(session: Session, entries: Iterable[PlanEntry]) -> dict[str, Rotations]:
    """What is sent of the rotations of the keys in a plan, by name. Raises AccountError."""
    return {name: {**one, "held": _held(session, name)} for name, one in _rotations(entries).items()}


def _held(session: Session, name: str) -> list[str]:
    """The fingerprint of the key that is current here."""
    try:
        return [shown_by(session.name, hashlib.sha256(session.key(name).encode()).digest())]
    except MissingKey:
        return []


def _rotations(entries: Iterable[PlanEntry]) -> dict[str, Rotations]:
    """What this machine knows of the rotations of the keys in a plan, by name. Raises AccountError."""
    users = {one["key"] for one in entries if "key" in one}
    if not (state_folder() / "secrets").is_dir():
        return {user: {"sequence": 0, "known": [], "mark": None} for user in users}
    from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.key_rotations import known  # few rotate

    return {user.partition("@")[0]: known(user) for user in users}


def _explained(outcome: Outcome) -> Outcome:
    from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.key_rotations import explained  # few are behind

    return explained(outcome)
