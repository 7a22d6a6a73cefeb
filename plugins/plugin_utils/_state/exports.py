# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What this machine remembers of the files that were written for an account which no program enters.

For each file what it asks for, so that an answer is taken to mean what was asked; which answers were brought back; and
which keys they showed there, as fingerprints. No key is in it, and what is lost costs a file written anew.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, TypedDict

from . import durable_files
from .fingerprint_key import derived, local_key

if TYPE_CHECKING:
    from .._documents.declaration import PlanEntry

FOLDER = "exports"
SCHEMA = "hpc.onboard/exports/1.0"
MOST = 5  # files of an account that are remembered, and answers
NOW_WHAT = "move it away, then write a new file: hpc-onboard export-script"


class Written(TypedDict):
    """A file that was written. parts: by what can be done with it, the entries of the plan, without keys."""

    made: str
    parts: dict[str, list[PlanEntry]]


class Brought(TypedDict):
    """An answer that was brought back: of which file and part, its own id, and when it was given there."""

    export: str
    part: str
    run: str
    when: str
    taken: str


class Exports(TypedDict):
    """What is remembered of one account. written: by the file's id, oldest first. keys: path -> fingerprints there."""

    schema: str
    written: dict[str, Written]
    brought: list[Brought]
    keys: dict[str, list[str]]


def seal_key(account: str, export: str) -> bytes:
    """The key that answers of one file are sealed with: it says nothing of any other, and signs nothing here."""
    return derived(bytes.fromhex(local_key()), "answers of an export", f"{account} {export}")


def known(account: str) -> Exports:
    """What is remembered of the account. Raises StateError where it is damaged or a newer version wrote it."""
    name = _file(account)
    with durable_files.told(f"{FOLDER}/{name}"), durable_files.folder(FOLDER, make=False) as at:
        content = durable_files.read(at, name) if at >= 0 else None
    if content is None:
        return {"schema": SCHEMA, "written": {}, "brought": [], "keys": {}}
    try:
        found: Any = json.loads(content)
        whole: Exports = {
            "schema": found["schema"],
            "written": {key: {"made": one["made"], "parts": one["parts"]} for key, one in found["written"].items()},
            "brought": list(found["brought"]),
            "keys": {path: list(shown) for path, shown in found["keys"].items()},
        }
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise durable_files.StateError(f"{FOLDER}/{name}, below the state folder, is damaged: {NOW_WHAT}") from None
    from ...module_utils._core.document_version import refusal

    why = refusal(whole["schema"], SCHEMA, f"{FOLDER}/{name}", NOW_WHAT)
    if why:
        raise durable_files.StateError(why)
    return whole


def add_written(account: str, export: str, written: Written) -> None:
    """Remember a file that is about to be written. Raises StateError."""
    whole = known(account)
    _keep(account, {**whole, "written": dict([*whole["written"].items(), (export, written)][-MOST:])})


def add_brought(account: str, brought: Brought, keys: dict[str, list[str]]) -> None:
    """Remember an answer that was taken, and the keys that it showed, by the files they lie in. Raises StateError."""
    whole = known(account)
    _keep(account, {**whole, "brought": [*whole["brought"], brought][-MOST:], "keys": {**whole["keys"], **keys}})


def _keep(account: str, whole: Exports) -> None:
    name = _file(account)
    text = json.dumps(whole, indent=1, sort_keys=False)
    with durable_files.told(f"{FOLDER}/{name}"), durable_files.folder(FOLDER) as at:
        durable_files.replace(at, name, text.encode() + b"\n")


def _file(account: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.@+-]", lambda found: f"%{ord(found[0]):04x}", account) + ".json"
