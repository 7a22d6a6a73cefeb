# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The result of an exported script, which the user ran on an account that programs may not log in to.

The user copies the result to this machine. It contains the answer of the engine, hpc-onboard's program for accounts,
and a signature, the seal. The result is verified before use, because other users may have had access to the script and
to the result.
"""

from __future__ import annotations

import hmac
import json
import os
import re
import shlex
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ...module_utils._core.errors import AccountError, errno_name
from .._delivery import answer as _answer
from .._delivery.payload import FRAME
from .._input.command_line import command_for
from .._state.durable_files import StateError
from .._state.exported_scripts import ExportedScripts
from .._state.state_document import Document, parse_document

if TYPE_CHECKING:
    from .._documents.answer import EngineAnswer

SCHEMA = "hpc.onboard/script-result/1.0"  # as module_utils/_engine/exported_script.py writes it
LARGEST = _answer.LARGEST + 64 * 1024  # bytes: an answer and the other fields
# What the engine does for each part of a script: "reconcile" changes the account, "examine" only compares
WORK = {"onboard": "reconcile", "audit": "examine", "offboard": "reconcile"}
PATTERNS = {  # field of a result -> regular expression of its value
    "script": r"[0-9a-f]{16}",
    "account": r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}@[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}",
    "run": r"[0-9a-f]{16}",
    "when": r"20\d\d-[01]\d-[0-3]\dT[0-2]\d:[0-5]\d:[0-6]\dZ",
    "seal": r"[0-9a-f]{64}",
}
NOT_IMPORTED = "Nothing was imported"


class ScriptResult(NamedTuple):
    """A result. account: USER@CLUSTER. answer: the engine's, not checked yet.

    script: the id of its script. part: "onboard", "audit" or "offboard". run: the id of this result. when: the time of
    the run, in UTC. seal: the signature of sealed_text, which contains all other fields.
    """

    script: str
    account: str
    part: str
    run: str
    when: str
    seal: str
    sealed_text: str
    answer: dict[str, Any]

    def verify(self, account: str, recorded: ExportedScripts, seal_key: bytes) -> EngineAnswer:
        """Return the engine's answer. Raise AccountError if the result is not from this account, intact and new.

        account: the task's account, USER@CLUSTER. recorded: this machine's record of the account's scripts and imported
        results. seal_key: the key of the script that the result names.
        """
        if self.account != account:
            raise AccountError(f"this result is from {self.account}, not from {account}, so nothing was imported")
        if self.script not in recorded["scripts"]:
            command = shlex.join(command_for("export-script", ["-l", account]))
            raise AccountError(
                "the script that wrote this result is too old, or was not exported on this machine, so nothing was"
                f" imported. To write a new script, run: {command}"
            )
        seal = hmac.digest(seal_key, self.sealed_text.encode(), "sha256").hex()
        if not hmac.compare_digest(seal, self.seal):
            raise AccountError(
                "this result was changed after it was written, so nothing was imported. Copy the result again"
            )
        for result in recorded["results"]:
            if result["run"] == self.run:
                raise AccountError(
                    f"this result was already imported on {result['taken'][:10]}; nothing was imported now"
                )
            if result["when"] > self.when:
                raise AccountError(
                    f"a newer result, from {result['when']}, was already imported. This result is from {self.when}, so"
                    " nothing was imported"
                )
        text = json.dumps(self.answer)
        try:  # parse() expects an answer as a session prints it
            output = f"\n{FRAME} {len(text)}\n{text}\n{FRAME}\n"
            return _answer.parse(output, stderr="", code=0, ssh_arguments=account)
        except _answer.NoAnswer as error:
            raise AccountError(f"{error}. {NOT_IMPORTED}") from None


def read_result(path: Path) -> ScriptResult:
    """Return the result in a file, not verified yet. Raise AccountError."""
    advice = "give the path of a result file from a script that `hpc-onboard export-script` wrote"
    try:
        document = parse_document(_read_regular_file(path), SCHEMA, str(path), advice, _check_fields)
    except StateError as error:
        raise AccountError(f"{error}. {NOT_IMPORTED}") from None
    fields = {name: document[name] for name in (*PATTERNS, "part", "answer")}
    unsealed = {name: value for name, value in document.items() if name != "seal"}
    return ScriptResult(**fields, sealed_text=json.dumps(unsealed, sort_keys=True))


def _check_fields(document: Document) -> None:
    """Raise ValueError with the name of a field whose value is invalid, or KeyError for an unknown part."""
    for name, pattern in PATTERNS.items():
        if not isinstance(document[name], str) or not re.fullmatch(pattern, document[name]):
            raise ValueError(name)
    if document["work"] != WORK[document["part"]] or not isinstance(document["answer"], dict):
        raise ValueError("work or answer")


def _read_regular_file(path: Path) -> bytes:
    """Return the content of a file, without following links or waiting at a pipe. Raise AccountError."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if path.is_symlink():
            reason = f"{path} is a symbolic link, so nothing was imported. Give the path of the file itself"
        else:
            reason = f"{path} cannot be read ({errno_name(error)}), so nothing was imported"
        raise AccountError(reason) from None
    with os.fdopen(handle, "rb") as stream:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise AccountError(f"{path} is not a regular file, so nothing was imported")
        content = stream.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise AccountError(f"{path} is larger than {LARGEST >> 20} MiB, so nothing was imported")
    return content
