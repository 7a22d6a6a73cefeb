# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which scripts this machine wrote for an account that no program may enter, and which results came back.

A result counts only for the plan that its script had, and once; the keys that results showed, as fingerprints, tell a
rotation where the new key is. No key is kept. If the file is lost, write a new script.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from .fingerprint_key import derived, local_key
from .state_document import Document, StateDocument, account_file

if TYPE_CHECKING:
    from .._documents.declaration import PlanEntry

FOLDER = "scripts"
SCHEMA = "hpc.onboard/exported-scripts/1.0"
MOST = 5  # scripts of an account that are remembered, and results
ADVICE = "move it away, then write a new script: hpc-onboard export-script"


class ExportedScript(TypedDict):
    """A script. made: when, in UTC. parts: onboard, audit and offboard, each with the entries of its plan, no keys."""

    made: str
    parts: dict[str, list[PlanEntry]]


class ImportedResult(TypedDict):
    """A result. script: the id of its script. run: its own id. when: it was made; taken: it was imported, in UTC."""

    script: str
    part: str
    run: str
    when: str
    taken: str


class ExportedScripts(TypedDict):
    """All of one account. scripts: by id, oldest first. keys: path on the account -> fingerprints seen there last."""

    schema: str
    scripts: dict[str, ExportedScript]
    results: list[ImportedResult]
    keys: dict[str, list[str]]


def seal_key(account: str, script: str) -> bytes:
    """Return the key that seals the results of one script. It says nothing of any other key."""
    return derived(bytes.fromhex(local_key()), "results of an exported script", f"{account} {script}")


def read_scripts(account: str) -> ExportedScripts:
    """Return what is remembered of the account. Raise StateError."""
    document = _document(account).read()
    if document is None:
        return {"schema": SCHEMA, "scripts": {}, "results": [], "keys": {}}
    scripts: ExportedScripts = document  # type: ignore[assignment]  # _check() has seen it
    return scripts


def add_script(account: str, script_id: str, script: ExportedScript) -> None:
    """Remember a script that is about to be written. Raise StateError."""
    known = read_scripts(account)
    scripts = dict([*known["scripts"].items(), (script_id, script)][-MOST:])
    _document(account).write({**known, "scripts": scripts})


def add_result(account: str, result: ImportedResult, keys: dict[str, list[str]]) -> None:
    """Remember a result that was imported, and the keys that it showed, by path. Raise StateError."""
    known = read_scripts(account)
    results = [*known["results"], result][-MOST:]
    _document(account).write({**known, "results": results, "keys": {**known["keys"], **keys}})


def _document(account: str) -> StateDocument:
    return StateDocument(FOLDER, account_file(account), SCHEMA, ADVICE, _check)


def _check(document: Document) -> None:
    for script in document["scripts"].values():
        str(script["made"]), dict(script["parts"])
    for result in document["results"]:
        str(result["run"]), str(result["when"]), str(result["taken"])
    for fingerprints in document["keys"].values():
        list(fingerprints)
