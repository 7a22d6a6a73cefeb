# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files of an account that hold a secret, as its roles declare them.

A target is ACCOUNT:KIND, one file. What onboarding writes there and what a rotation replaces is one declaration, so no
file that onboarding writes can be forgotten.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING, NamedTuple

from ...module_utils._core.errors import AccountError
from ...module_utils._formats.key_forms import NGC
from .._roles.collect import DeclaredResources, Value, collect_resources
from .._roles.table import ROLES, default_path, find_options_class, key_files

if TYPE_CHECKING:
    from .._documents.declaration import Note, Options, PlanEntry
    from .._documents.rotation import RegistryQuestion

KEYS = key_files()  # read once, before Ansible forks a process for each account
KEY_ROLES = [name for name, role in ROLES.items() if role.holds_keys]
SERVICES = {kind: key.service for kind, key in KEYS.items()}
NOT_PLACING = ("path", "password", "state")  # of the options; the others tell the places in a file apart


class SecretFile(NamedTuple):
    """A file with the secret: the target's name, its path, and its places as rotated_key takes them."""

    target: str
    path: str
    places: list[dict[str, str]]


def collect_key_entries(without: list[str], value: Value) -> list[PlanEntry]:
    """Return what an account declares that holds a key. Raises AccountError for invalid settings."""
    declared = collect_resources(KEY_ROLES, without, [], value).resources
    return [entry for entry in declared if entry["options"].get("secret")]


def secret_names(declared: Iterable[PlanEntry]) -> set[str]:
    """Return the names of the keys."""
    return {str(entry["options"]["secret"]) for entry in declared}


def find_files(account: str, secret: str, declared: Iterable[PlanEntry]) -> list[SecretFile]:
    """Return the files of an account that hold the secret; a second one of a resource type has a number in its name."""
    found: dict[str, SecretFile] = {}
    for entry in declared:
        options: Options = entry["options"]
        if options.get("secret") != secret:
            continue
        kind, path = entry["kind"], path_of(entry)
        if path not in found:
            alike = sum(file.places[0]["kind"] == kind for file in found.values())
            found[path] = SecretFile(f"{account}:{kind}{alike + 1 if alike else ''}", path, [])
        known = find_options_class(kind)
        names = [name for name in known.OPTIONS if name not in NOT_PLACING] if known else []
        found[path].places.append({"kind": kind, **{name: options[name] for name in names if options.get(name)}})
    return list(found.values())


def without_pending_files(
    account: str, declared: DeclaredResources, pending: Callable[[str], Collection[str]]
) -> DeclaredResources:
    """Return what is declared without the files of open rotations: those belong to the rotation alone.

    pending: returns the targets of a secret's open rotation; none if none is open.
    """
    skipped: dict[int, str] = {}
    for secret in secret_names(entry for entry in declared.resources if entry["options"].get("secret")):
        scope = pending(secret)
        paths = {file.path for file in find_files(account, secret, declared.resources) if file.target in scope}
        for position, entry in enumerate(declared.resources):
            if entry["options"].get("secret") == secret and path_of(entry) in paths:
                skipped[position] = secret
    roles = {(declared.resources[position]["capability"], secret) for position, secret in skipped.items()}
    notes: list[Note] = [
        {"capability": role, "code": "rotation_open", "text": f"unchanged: a rotation of '{secret}' is open"}
        for role, secret in sorted(roles)
    ]
    kept = [entry for position, entry in enumerate(declared.resources) if position not in skipped]
    return declared._replace(resources=kept, notes=[*declared.notes, *notes])


def path_of(entry: PlanEntry) -> str:
    """Return the path of the file that a key's entry is about."""
    return str(entry["options"].get("path") or default_path(entry["kind"]))


def service_of(secret: str, targets: Iterable[str]) -> str:
    """Return the service of a secret by the resource types of its targets. Raises AccountError if they differ."""
    found = sorted({SERVICES.get(_kind_of(target), NGC) for target in targets})
    if len(found) > 1:
        raise AccountError(
            f"the key '{secret}' is used for {' and '.join(found)}: use a different key name for each service"
        )
    return found[0] if found else secret if secret in SERVICES.values() else NGC


def is_tried_on_account(target: str) -> bool:
    """Return True if the account itself tries the key of this target at a registry."""
    return _has_registry(_kind_of(target))


def _kind_of(target: str) -> str:
    return target.rpartition(":")[2].rstrip("0123456789")


def _has_registry(kind: str) -> bool:
    return kind in KEYS and KEYS[kind].by_containers


def rotation_entries(
    files: Iterable[SecretFile], user: str, registry: RegistryQuestion, known: list[str]
) -> list[PlanEntry]:
    """Return the entries of a plan that replace the key in files.

    user: the keyring name of the version; registry: the one to ask there, or empty; known: the fingerprints, as the
    account shows them, of the keys that may be replaced.
    """
    return [
        {
            "kind": "rotated_key",
            "capability": "rotate",
            "options": {
                "path": file.path,
                "places": file.places,
                "registry": dict(registry if _has_registry(file.places[0]["kind"]) else {}),
                "secret": user,
                "known": known,
            },
        }
        for file in files
    ]
