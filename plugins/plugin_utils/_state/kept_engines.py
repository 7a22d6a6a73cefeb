# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""This machine's record of the engine that each account has stored (module_utils/_engine/kept_engine.py).

The engine is the Python program that an account runs for each plan. A session need not send an engine that the account
has stored. This record is a cache: a file that is damaged, of another version or about other sources counts as missing.
Then the next run that may change the account requests the account to store the engine again.
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
    """The engine that one account stores, as far as this machine knows.

    is_due: True if the account may have no usable engine, so that the next plan shall request the account to store it.
    """

    def __init__(self, account: str, sources: str) -> None:
        """sources: the digest of the engine's sources on this machine."""
        self._record = StateDocument(FOLDER, account_file(account), SCHEMA, advice="", check=_check)
        self._sources = sources
        self._files: dict[str, str] = {}  # version of Python -> digest of the stored file
        self.is_due = True
        try:
            record = self._record.read()
        except StateError:
            return  # counts as missing
        if record and record["sources"] == sources:  # an engine of other sources is not used
            self._files, self.is_due = dict(record["files"]), bool(record["missed"])  # "missed": is_due at the last run

    @property
    def digests(self) -> Mapping[str, str]:
        """Return the digest of the stored engine by version of Python; {} if the account may have no engine."""
        return {} if self.is_due else self._files

    def drop_needless_request(self, plan: Mapping[str, Any]) -> dict[str, Any]:
        """Return the plan without its field `engine` if the field's request is needless.

        The field requests the account to store the engine ("keep"), or to remove the stored engine ("drop").
        """
        may_change = plan["work"] == "reconcile"  # other plans only preview or examine
        # "keep" is needless if the account has the engine
        if may_change and (self.is_due or plan.get("engine") == "drop"):
            return dict(plan)
        return {name: value for name, value in plan.items() if name != "engine"}

    def note_gone(self) -> None:
        """Record that the account has no usable engine: missing, removed, broken, or for another Python version."""
        self.is_due = True
        self._write()

    def note_answer(self, plan: Mapping[str, Any], answer: EngineAnswer) -> None:
        """Record which engine the account stores after a session. plan, answer: of this session.

        A plan requests the account to keep the engine that it got, or to drop the stored engine.
        """
        request = self.drop_needless_request(plan).get("engine")
        if request == "drop" and not self.is_due:
            self.note_gone()
        elif request == "keep":
            file = answer["engine"]  # None if the account could not store the engine: do not request it again
            self._files = {**self._files, file["python"]: file["digest"]} if file else {}
            self.is_due = False
            self._write()

    def _write(self) -> None:
        """Store the record of the account's engine, if possible."""
        record = {"schema": SCHEMA, "sources": self._sources, "files": self._files, "missed": self.is_due}
        try:
            self._record.write(record)
        except StateError:
            return  # harmless: the next session sends the engine


def _check(document: Document) -> None:
    """Raise ValueError, KeyError, TypeError or AttributeError unless all fields are usable.

    The look-ups and conversions raise these exceptions; their results are not needed.
    """
    files: dict[str, Any] = document["files"]
    if not all(DIGEST.fullmatch(digest) for digest in files.values()):
        raise ValueError
    str(document["sources"]), bool(document["missed"])
