# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The targets of a rotation: the files of an account that contain a secret, as its roles declare them.

A target is one file, named ACCOUNT:RESOURCE_TYPE. A role declares resources as entries of a plan: "kind" is the type of
the resource, "options" are its settings, and "capability" is the role. Onboarding and rotations use the same
declarations, so a rotation finds every file that onboarding writes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from ...module_utils._core.errors import AccountError
from ...module_utils._formats.key_forms import NGC
from .._roles.collect import collect_resources
from .._roles.table import ROLES, default_path, find_options_class, key_files

if TYPE_CHECKING:
    from .._documents.declaration import Options, PlanEntry
    from .._documents.rotation import RegistryQuestion
    from .._input.extra_vars import ReadVariable

KEYS = key_files()  # by resource type; read once, before Ansible forks a process for each account
KEY_ROLES = [name for name, role in ROLES.items() if role.holds_keys]
SERVICES = {kind: key.service for kind, key in KEYS.items()}  # resource type -> service of its key
NOT_IDENTIFYING = ("path", "password", "state")  # options; the others identify a place in a file


class SecretFile(NamedTuple):
    """A file with a secret (a key): name of the target, path, and the places of the key in the file.

    places: for each place its resource type ("kind"), and the options that identify it, such as machine and login. The
    type of the first place names the target.
    """

    target: str
    path: str
    places: list[dict[str, str]]


def collect_key_entries(without: list[str], read_variable: ReadVariable) -> list[PlanEntry]:
    """Return the entries of an account's resources that contain a key. Raise AccountError for invalid settings.

    without: roles that the accounts file excludes. read_variable: returns Ansible's variable of a name.
    """
    declared = collect_resources(KEY_ROLES, without, resources=[], read_variable=read_variable).resources
    return [entry for entry in declared if entry["options"].get("secret")]


def secret_names(declared: Iterable[PlanEntry]) -> set[str]:
    """Return the names of the keys in entries that all have a key."""
    return {str(entry["options"]["secret"]) for entry in declared}


def find_files(account: str, secret: str, declared: Iterable[PlanEntry]) -> list[SecretFile]:
    """Return the files of an account that contain the secret. Targets of the same resource type are numbered from 2.

    declared: entries of the account's resources.
    """
    files: dict[str, SecretFile] = {}  # by path
    for entry in declared:
        options: Options = entry["options"]
        if options.get("secret") != secret:
            continue
        kind, path = entry["kind"], path_of(entry)
        if path not in files:
            same_type_count = sum(file.places[0]["kind"] == kind for file in files.values())
            number = same_type_count + 1 if same_type_count else ""
            files[path] = SecretFile(f"{account}:{kind}{number}", path, [])
        options_class = find_options_class(kind)
        identifying = [name for name in options_class.OPTIONS if name not in NOT_IDENTIFYING] if options_class else []
        files[path].places.append({"kind": kind, **{name: options[name] for name in identifying if options.get(name)}})
    return list(files.values())


def path_of(entry: PlanEntry) -> str:
    """Return the path of the file in the entry of a key."""
    return str(entry["options"].get("path") or default_path(entry["kind"]))


def service_of(secret: str, targets: Iterable[str]) -> str:
    """Return the service of a secret: the service of its targets. Without targets: the service of that name, else NGC.

    A target of an unknown type counts as NGC. Raise AccountError for several services.
    """
    services = sorted({SERVICES.get(_resource_type_of(target), NGC) for target in targets})
    if len(services) > 1:
        raise AccountError(
            f"the key '{secret}' is used for {' and '.join(services)}. Use a different key name for each service"
        )
    if services:
        return services[0]
    return secret if secret in SERVICES.values() else NGC


def is_tested_on_account(target: str) -> bool:
    """Return True if the account itself tests the key of this target at a registry."""
    return _has_registry(_resource_type_of(target))


def _resource_type_of(target: str) -> str:
    """Return the resource type in the name of a target."""
    return target.rpartition(":")[2].rstrip("0123456789")  # without the number of a second file


def _has_registry(kind: str) -> bool:
    """Return True if containers read the files of this resource type, so that a registry can test their key."""
    return kind in KEYS and KEYS[kind].by_containers


def rotation_entries(
    files: Iterable[SecretFile], keyring_name: str, registry: RegistryQuestion, known: list[str]
) -> list[PlanEntry]:
    """Return the plan entries that replace the key in files.

    keyring_name: of the new key. registry: to test the new key with, or empty; only for files that containers read.
    known: fingerprints of the keys that may be replaced, as this account reports them.
    """
    return [
        {
            "kind": "rotated_key",
            "capability": "rotate",
            "options": {
                "path": file.path,
                "places": file.places,
                "registry": dict(registry if _has_registry(file.places[0]["kind"]) else {}),
                "secret": keyring_name,
                "known": known,
            },
        }
        for file in files
    ]
