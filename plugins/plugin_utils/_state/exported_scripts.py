# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The scripts that this machine exported for accounts without automated login, and the imported results.

The user runs a script on such an account, and imports its result. The parts of a script are plans: lists of resources
to create or check. A result is accepted once, and only for the plan in its script. The fingerprints of keys in results
show a rotation where the new key is. Keys themselves are not stored. If the file is lost, write a new script.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from .fingerprint_key import derive_key, local_key
from .state_document import Document, StateDocument, account_file

if TYPE_CHECKING:
    from .._documents.declaration import PlanEntry

FOLDER = "scripts"
SCHEMA = "hpc.onboard/exported-scripts/1.0"
MOST = 5  # the number of scripts, and of results, that are kept for an account
ADVICE = "rename or move the file, then write a new script with `hpc-onboard export-script`"


class ExportedScript(TypedDict):
    """A script. made: the time of its export, in UTC. parts: "onboard", "audit" or "offboard" -> entries of that plan.

    The entries contain no keys.
    """

    made: str
    parts: dict[str, list[PlanEntry]]


class ImportedResult(TypedDict):
    """The result of one part of a script. script: the id of the script. part: see ExportedScript. run: the result's id.

    when, taken: the times of the run and of the import, in UTC.
    """

    script: str
    part: str
    run: str
    when: str
    taken: str


class ExportedScripts(TypedDict):
    """The document of an account. scripts: by id, oldest first. results: oldest first.

    keys: path of a file on the account -> fingerprints of the keys in the file, from the latest result.
    """

    schema: str
    scripts: dict[str, ExportedScript]
    results: list[ImportedResult]
    keys: dict[str, list[str]]


def seal_key(account: str, script_id: str) -> bytes:
    """Return the seal key of a script, with which the script signs its results. It reveals no other key."""
    return derive_key(bytes.fromhex(local_key()), "results of an exported script", f"{account} {script_id}")


def read_scripts(account: str) -> ExportedScripts:
    """Return the scripts and results of the account; empty ones if none was exported. Raise StateError."""
    document = _document(account).read()
    if document is None:
        return {"schema": SCHEMA, "scripts": {}, "results": [], "keys": {}}
    scripts: ExportedScripts = document  # type: ignore[assignment]  # checked by _check()
    return scripts


def add_script(account: str, script_id: str, script: ExportedScript) -> None:
    """Record a script that is about to be written, and drop the oldest one beyond MOST. Raise StateError."""
    stored = read_scripts(account)
    scripts = dict([*stored["scripts"].items(), (script_id, script)][-MOST:])
    _document(account).write({**stored, "scripts": scripts})


def add_result(account: str, result: ImportedResult, keys: dict[str, list[str]]) -> None:
    """Record an imported result. keys: path on the account -> fingerprints in the result. Raise StateError."""
    stored = read_scripts(account)
    results = [*stored["results"], result][-MOST:]
    _document(account).write({**stored, "results": results, "keys": {**stored["keys"], **keys}})


def _document(account: str) -> StateDocument:
    """Return the document of an account; the file may be missing."""
    return StateDocument(FOLDER, account_file(account), SCHEMA, ADVICE, _check)


def _check(document: Document) -> None:
    """Raise ValueError, KeyError, TypeError or AttributeError unless all fields that are read later are usable.

    The look-ups and conversions raise these exceptions; their results are not needed.
    """
    for script in document["scripts"].values():
        str(script["made"]), dict(script["parts"])
    for result in document["results"]:
        str(result["run"]), str(result["when"]), str(result["taken"])
    for fingerprints in document["keys"].values():
        list(fingerprints)
