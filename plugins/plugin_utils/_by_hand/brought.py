# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""An answer that a person brings back from an account which no program enters: checked before it is used.

It was made by a program that lies in reach of others, and came by ways that nobody knows.
"""

from __future__ import annotations

import hmac
import json
import os
import re
import shlex
import stat
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ...module_utils._core.document_version import refusal
from ...module_utils._core.errors import AccountError, errno_name
from .._delivery import answer as _answer
from .._delivery.payload import FRAME
from .._input.command_line import command
from .._state.exports import Exports

if TYPE_CHECKING:
    from .._documents.answer import Answer

SCHEMA = "hpc.onboard/brought/1.0"  # as module_utils/_engine/by_hand.py writes it
LARGEST = _answer.LARGEST + 64 * 1024
PARTS = {"onboard": ("reconcile",), "audit": ("examine",), "offboard": ("reconcile",)}
FORMS = {
    "export": r"[0-9a-f]{16}",
    "account": r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}@[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}",
    "run": r"[0-9a-f]{16}",
    "when": r"20\d\d-[01]\d-[0-3]\dT[0-2]\d:[0-5]\d:[0-6]\dZ",
    "seal": r"[0-9a-f]{64}",
}
NOTHING = "nothing was taken from it"
Seal = Callable[[str, str], bytes]


class Brought(NamedTuple):
    """What was brought. text: that the seal is over."""

    export: str
    account: str
    part: str
    run: str
    when: str
    seal: str
    text: str
    answer: dict[str, Any]

    def checked(self, account: str, known: Exports, seal: Seal) -> Answer:
        """The answer, typed and harmless. Raises AccountError where it is not for this account, or is known already.

        known: what is remembered of the account. seal: gives the key that answers of a file are sealed with.
        """
        if self.account != account:
            raise AccountError(f"this answer is of {self.account}, not of {account}: {NOTHING}")
        if self.export not in known["written"]:
            raise AccountError(
                f"this answer is to a file that was not written here, or long ago: {NOTHING}. Write a new one:"
                f" {shlex.join(command('export-script', ['-l', account]))}"
            )
        wanted = hmac.digest(seal(account, self.export), self.text.encode(), "sha256").hex()
        if not hmac.compare_digest(wanted, self.seal):
            raise AccountError(f"this answer was changed since it was written: {NOTHING}. Bring it anew")
        for one in known["brought"]:
            if one["run"] == self.run:
                raise AccountError(f"this answer was brought back before, on {one['taken'][:10]}: {NOTHING}")
            if one["when"] > self.when:
                raise AccountError(
                    f"this answer of {self.when} is older than one that was brought back before, of {one['when']}:"
                    f" {NOTHING}"
                )
        text = json.dumps(self.answer)
        try:
            return _answer.parse(f"\n{FRAME} {len(text)}\n{text}\n{FRAME}\n", "", 0, account)
        except _answer.NoAnswer as error:
            raise AccountError(f"{error}: {NOTHING}") from None


def read(path: Path) -> Brought:
    """What a file holds. Raises AccountError."""
    content = _content(path)
    try:
        document: dict[str, Any] = json.loads(content)
        why = refusal(document["schema"], SCHEMA, str(path), "run the file there again")
        if why:
            raise AccountError(f"{why}: {NOTHING}")
        seal = document.pop("seal")
        words = {name: _word(name, {**document, "seal": seal}[name]) for name in FORMS}
        if document["work"] not in PARTS[document["part"]] or not isinstance(document["answer"], dict):
            raise ValueError
        return Brought(
            **words, part=document["part"], text=json.dumps(document, sort_keys=True), answer=document["answer"]
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise AccountError(f"{path} is no answer of a file that hpc-onboard export-script wrote: {NOTHING}") from None


def _word(name: str, value: object) -> str:
    if not isinstance(value, str) or not re.fullmatch(FORMS[name], value):
        raise ValueError(name)
    return value


def _content(path: Path) -> bytes:
    """What a plain file holds, at most so much."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        link = " (it is a link: name the file itself)" if path.is_symlink() else ""
        raise AccountError(f"{path}: {errno_name(error)}{link}: {NOTHING}") from None
    with os.fdopen(handle, "rb") as stream:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise AccountError(f"{path} is not a plain file: {NOTHING}")
        content = stream.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise AccountError(f"{path} is larger than any answer: {NOTHING}")
    return content
