# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The engine that each account keeps, so that sessions need not send it (module_utils/_engine/kept_engine.py).

This is a cache of what an account said: a file that is damaged, of another format or about other sources counts as
missing. Then the next run that may change the account asks it to keep the engine again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .durable_files import StateError
from .state_document import Document, StateDocument, account_file

if TYPE_CHECKING:
    from .._documents.answer import EngineAnswer

FOLDER = "engines"
SCHEMA = "hpc.onboard/kept-engine/1.0"
DIGEST = re.compile(r"[0-9a-f]{64}")


class KnownEngine:
    """The known engine of one account. sources: the digest of the engine's sources on this machine.

    digests: of the file, by the version of Python; {} if the account does not keep one. is_due: whether the account is
    to be asked to keep one: it was not asked yet, or did not find it.
    """

    def __init__(self, account: str, sources: str) -> None:
        self._kept = StateDocument(FOLDER, account_file(account), SCHEMA, "", _check)
        self._sources = sources
        self._files: dict[str, str] = {}
        self.is_due = True
        try:
            found = self._kept.read()
        except StateError:
            return
        if found and found["sources"] == sources:
            self._files, self.is_due = dict(found["files"]), bool(found["missed"])

    @property
    def digests(self) -> Mapping[str, str]:
        """Return the digests of the files that the account has, as far as is known."""
        return {} if self.is_due else self._files

    def settle_wish(self, plan: Mapping[str, Any]) -> dict[str, Any]:
        """Return the plan without its wish to keep the engine if that is so already, or any if nothing may change."""
        has_wish = plan["work"] == "reconcile" and (self.is_due or plan.get("engine") == "drop")
        return {name: value for name, value in plan.items() if has_wish or name != "engine"}

    def note_gone(self) -> None:
        """Note that the account did not find its file, has another version of Python today, or removed the file."""
        self.is_due = True
        self._write()

    def note_answer(self, plan: Mapping[str, Any], answer: EngineAnswer) -> None:
        """Note what became of the file in a session with this plan."""
        wish = self.settle_wish(plan).get("engine")
        if wish == "drop" and not self.is_due:
            self.note_gone()
        elif wish == "keep":
            file = answer["engine"]
            self._files = {**self._files, file["python"]: file["digest"]} if file else {}
            self.is_due = False
            self._write()

    def _write(self) -> None:
        record = {"schema": SCHEMA, "sources": self._sources, "files": self._files, "missed": self.is_due}
        try:
            self._kept.write(record)
        except StateError:
            return  # the next session sends the engine


def _check(document: Document) -> None:
    files: dict[str, Any] = document["files"]
    if not all(DIGEST.fullmatch(digest) for digest in files.values()):
        raise ValueError
    str(document["sources"]), bool(document["missed"])
