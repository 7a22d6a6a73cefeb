# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""JSON documents in the state folder: read and checked as a whole, written as a whole.

The field `schema` is hpc.onboard/NAME/VERSION. A document of another version raises StateError with the next step; it
is neither treated as empty nor replaced.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ...module_utils._core.document_version import refusal
from .durable_files import StateError, as_state_error, open_folder, read_file, replace_file

Document = dict[str, Any]
NOT_VALID = (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError)
"""Exceptions of parsing and checking a document that is not valid."""


class DamagedDocument(StateError):
    """A document that is not valid JSON, lacks fields, or has another schema."""


def account_file(account: str, is_sandbox: bool = False) -> str:
    """Return the name of the state file about an account, or about a sandbox of the account's name.

    A sandbox is a folder on this machine that simulates an account.
    """
    name = re.sub(r"[^A-Za-z0-9_.@+-]", lambda match: f"%{ord(match[0]):04x}", account)  # as %0020 for a space
    return f"{name}{'.sandbox' if is_sandbox else ''}.json"


def check_document(document: Any, schema: str, name: str, advice: str, check: Callable[[Document], object]) -> Document:
    """Return the document if it has that schema. Raise DamagedDocument, or StateError for another version.

    name: what errors call the document. advice: what to do about a damaged document. check: raises one of NOT_VALID for
    unusable fields.
    """
    try:
        actual = document["schema"]
        if actual == schema:
            check(document)
            return dict(document)
        # otherwise, the file contains another kind of document
        is_other_version = actual.rpartition("/")[0] == schema.rpartition("/")[0]
        reason = refusal(actual, schema, name, advice) if is_other_version else None
    except NOT_VALID:
        reason = None
    if reason:
        raise StateError(reason)
    raise DamagedDocument(f"{name} is damaged: {advice}")


def parse_document(
    content: bytes, schema: str, name: str, advice: str, check: Callable[[Document], object]
) -> Document:
    """Return the document in the content of a file. Other parameters and errors: see check_document()."""
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        document = None  # which check_document() reports as damaged
    return check_document(document, schema, name, advice, check)


def parse_lines(content: bytes | None, schema: str, check: Callable[[Document], object]) -> tuple[list[Document], bool]:
    """Return the valid documents of a JSON Lines file (one per line), and True if a line is damaged, as by a crash.

    content: of the file; None if the file is missing. schema, check: see check_document(). Raise StateError for a line
    of another version.
    """
    documents: list[Document] = []
    lines = (content or b"").splitlines()
    for line in lines:
        try:
            documents.append(parse_document(line, schema, name="a line", advice="", check=check))
        except DamagedDocument:
            continue
    return documents, len(documents) < len(lines)


def dump_lines(documents: list[Any]) -> bytes:
    """Return the content of a JSON Lines file with these documents."""
    return b"".join(json.dumps(document, sort_keys=True).encode() + b"\n" for document in documents)


class StateDocument(NamedTuple):
    """A document in the state folder, or in a folder below it.

    folder: below the state folder, or empty. name: of the file. schema, advice, check: see check_document().
    """

    folder: str
    name: str
    schema: str
    advice: str
    check: Callable[[Document], object]

    @property
    def path(self) -> str:
        """Return the path below the state folder."""
        return f"{self.folder}/{self.name}" if self.folder else self.name

    def read(self) -> Document | None:
        """Return the document; None if the file is missing. Raise StateError."""
        with as_state_error(self.path), open_folder(self.folder, create=False) as folder:
            return self.read_in(folder) if folder >= 0 else None

    def read_in(self, folder: int) -> Document | None:
        """Return the document; None if the file is missing. For callers that hold a lock in the folder.

        folder: the descriptor of the open folder.
        """
        content = read_file(folder, self.name)
        return None if content is None else parse_document(content, self.schema, self.path, self.advice, self.check)

    def write(self, document: Mapping[str, Any]) -> None:
        """Replace the whole document. Raise StateError."""
        with as_state_error(self.path), open_folder(self.folder) as folder:
            self.write_in(folder, document)

    def write_in(self, folder: int, document: Mapping[str, Any]) -> None:
        """Replace the whole document. folder: see read_in()."""
        replace_file(folder, self.name, json.dumps(document, indent=1).encode() + b"\n")
