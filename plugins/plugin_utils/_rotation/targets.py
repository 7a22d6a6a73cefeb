# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a secret lies: the files of an account that hold it, as its roles declare them.

A target is ACCOUNT:KIND, one file. What onboarding keeps there and what a rotation replaces is one
declaration, so nothing that onboarding writes can be forgotten.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING, NamedTuple

from ...module_utils._core.errors import AccountError
from ...module_utils._formats.key_forms import NGC
from .._roles.collect import Declared, Value, collect
from .._roles.table import ROLES, keys, options_of, usual_path

if TYPE_CHECKING:
    from .._documents.declaration import Note, Options, PlanEntry
    from .._documents.rotation import RegistryQuestion

KEYS = keys()  # before the forks, one for each account
HOLDERS = [name for name, capability in ROLES.items() if capability.holds_keys]
NOT_PLACING = ("path", "password", "state")  # of the options; the others tell one place in a file from another


class File(NamedTuple):
    """A file with the secret: the target's name, its path, and its places as rotated_key takes them."""

    target: str
    path: str
    places: list[dict[str, str]]


def holders(without: list[str], value: Value) -> list[PlanEntry]:
    """What an account declares that holds a key. Raises AccountError for settings that are wrong."""
    declared = collect(HOLDERS, without, [], value).resources
    return [entry for entry in declared if entry["options"].get("secret")]


def secrets(declared: Iterable[PlanEntry]) -> set[str]:
    """The names of the keys."""
    return {str(entry["options"]["secret"]) for entry in declared}


def files(account: str, secret: str, declared: Iterable[PlanEntry]) -> list[File]:
    """The files of an account that hold the secret; a second one of a kind is named for its number."""
    found: dict[str, File] = {}
    for entry in declared:
        options: Options = entry["options"]
        if options.get("secret") != secret:
            continue
        kind, path = entry["kind"], path_of(entry)
        if path not in found:
            alike = sum(file.places[0]["kind"] == kind for file in found.values())
            found[path] = File(f"{account}:{kind}{alike + 1 if alike else ''}", path, [])
        found[path].places.append({"kind": kind, **_place(kind, options)})
    return list(found.values())


def _place(kind: str, options: Options) -> dict[str, str]:
    """What tells a place in a file of this kind from the others there."""
    asked = options_of(kind)
    names = [name for name in asked.OPTIONS if name not in NOT_PLACING] if asked else []
    return {name: options[name] for name in names if options.get(name)}


def left_alone(account: str, declared: Declared, pending: Callable[[str], Collection[str]]) -> Declared:
    """What is declared without the files of rotations that are open: one that goes on alone says what they hold.

    pending: gives the targets of a secret's open rotation; none where none is open.
    """
    left: dict[int, str] = {}
    for secret in secrets(entry for entry in declared.resources if entry["options"].get("secret")):
        scope = pending(secret)
        mine = {file.path for file in files(account, secret, declared.resources) if file.target in scope}
        for position, entry in enumerate(declared.resources):
            if entry["options"].get("secret") == secret and path_of(entry) in mine:
                left[position] = secret
    capabilities = {(declared.resources[position]["capability"], secret) for position, secret in left.items()}
    notes: list[Note] = [
        {"capability": name, "code": "rotation_open", "text": f"left alone: a rotation of '{secret}' is open"}
        for name, secret in sorted(capabilities)
    ]
    kept = [entry for position, entry in enumerate(declared.resources) if position not in left]
    return declared._replace(resources=kept, notes=[*declared.notes, *notes])


def path_of(entry: PlanEntry) -> str:
    """Where the file of an entry that holds a key lies."""
    return str(entry["options"].get("path") or usual_path(entry["kind"]))


def service(secret: str, targets: Iterable[str]) -> str:
    """Whose key it is, as the kinds of its files say. Raises AccountError where they do not agree."""
    known = {kind: key.service for kind, key in KEYS.items()}
    found = sorted({known.get(_kind(target), NGC) for target in targets})
    if len(found) > 1:
        raise AccountError(
            f"the key '{secret}' is kept for {' and '.join(found)}: give each service a key of its own name"
        )
    return found[0] if found else secret if secret in known.values() else NGC


def is_asked_there(target: str) -> bool:
    """Whether the account tries the key itself."""
    return _asked_there(_kind(target))


def _kind(target: str) -> str:
    return target.rpartition(":")[2].rstrip("0123456789")


def _asked_there(kind: str) -> bool:
    """Whether a registry can be asked with what stands in a file of this kind."""
    return kind in KEYS and KEYS[kind].by_containers


def entries(files: Iterable[File], user: str, registry: RegistryQuestion, known: list[str]) -> list[PlanEntry]:
    """The entries of a plan that replace the key in files.

    user: the keyring username of the version; registry: who is asked there, or empty; known: the fingerprints that the
    account shows of the keys that may be replaced.
    """
    return [
        {
            "kind": "rotated_key",
            "capability": "rotate",
            "options": {
                "path": file.path,
                "places": file.places,
                "registry": dict(registry if _asked_there(file.places[0]["kind"]) else {}),
                "secret": user,
                "known": known,
            },
        }
        for file in files
    ]
