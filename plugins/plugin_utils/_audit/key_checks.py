# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The audit checks for keys on an account: their plan entries, and the fingerprints of the known keys.

The known keys are those of this machine: in its keyring, or recorded as versions of a secret that was rotated. An
account reports a key only as a fingerprint, which is different on each account. The checks:

* scattered_keys: keys outside key files. open_keys: files with keys that other users can read or replace.
* trusted_files: files that other users can change, but that programs run or trust.
* enroot_lines: lines that enroot ignores or misreads. unread_keys: key files that no program, or no job, reads.
* shadowed_keys: variables that take precedence over a key file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from ...module_utils._formats.key_files import ENROOTS
from .._roles.enroot_credentials import token_folders
from .._roles.table import default_path, key_files
from .._secrets.backends import MissingKey
from .._secrets.versions import Secret
from .._state.fingerprint_key import account_fingerprint
from .place_checks import Facts, make_entry

if TYPE_CHECKING:  # few keys were ever rotated
    from .._documents.declaration import PlanEntry
    from .._secrets.key_marks import Marks

KEYS = key_files()  # resource type -> facts about its key file; computed once, before Ansible forks for each account
LABEL_TEXTS = {  # label of a version of a key -> description of the key
    "pending": "the new key of '{}', whose rotation is not complete",
    "current": "the key of '{}'",
    "previous": "a replaced key of '{}'",
    "retired": "a replaced key of '{}'",
    "dead": "a deactivated key of '{}'",
    "purged": "a deactivated key of '{}'",
}


class KnownKey(NamedTuple):
    """A key of this machine. description: for messages. is_replaced: the key is no longer in use after a rotation."""

    secret: str
    description: str
    is_replaced: bool = False


KnownKeys = Mapping[str, KnownKey]
"""Fingerprint -> the key."""


def plan_key_checks(cluster: Facts, declared: Sequence[PlanEntry], known_keys: KnownKeys) -> list[PlanEntry]:
    """Return the plan entries of an account's audit checks for keys.

    cluster: the profile. declared: the entries of all roles. known_keys: the keys of this machine, for which the checks
    search.
    """
    paths_by_type = _map_key_files(declared)
    key_paths = sorted({path for paths in paths_by_type.values() for path in paths})
    areas = _list_areas(cluster)
    search_options = {
        **_search_options(paths_by_type, known_keys),
        "caches": token_folders(cluster, declared),  # folders with tokens of enroot
    }
    entries = [make_entry("scattered_keys", **search_options, folder=folder, areas=areas) for folder in ("~", *areas)]
    entries.append(make_entry("open_keys", own=key_paths, areas=areas))
    entries.append(make_entry("trusted_files", areas=[{"path": area} for area in areas]))
    enroot_files = paths_by_type.get("enroot_credential") or _list_site_credentials(cluster)
    # ENROOTS: where enroot may read its credentials; kept: file -> machines whose lines a role writes
    searched_files = sorted({*enroot_files, *(f"~/{path}" for path in ENROOTS)})
    entries.append(make_entry("enroot_lines", files=searched_files, kept=_map_machines(declared, "enroot_credential")))
    # enroots, apptainers: files with keys of these tools; machines: of ~/.netrc; of_jobs: files that jobs read;
    # home_in_jobs: how jobs see the home directory, such as "ro", from the profile
    entries.append(
        make_entry(
            "unread_keys",
            enroots=enroot_files,
            apptainers=paths_by_type.get("registry_auth", []),
            machines=_map_machines(declared, "netrc_entry").get("~/.netrc", []),
            of_jobs=_list_files_of_jobs(cluster, paths_by_type),
            home_in_jobs=str((cluster.get("home") or {}).get("on_compute", "")),
        )
    )
    if paths_by_type:
        entries.append(make_entry("shadowed_keys", kept=paths_by_type, known=sorted(known_keys), areas=areas))
    return entries


def _search_options(paths_by_type: dict[str, list[str]], known_keys: KnownKeys) -> dict[str, Any]:
    """Return the options of the search for keys.

    own: files that may contain keys. kept: the key files by resource type, the parameter paths_by_type. known:
    fingerprint -> description of a key. secrets: fingerprint -> name of the secret. replaced: the fingerprints of the
    keys that no file should contain any longer.
    """
    # "copy": the ending of the copy that a program keeps of its file; empty without such a copy
    copy_paths = {path + KEYS[kind].copy for kind, paths in paths_by_type.items() for path in paths}
    return {
        "own": sorted({*copy_paths, *(path for paths in paths_by_type.values() for path in paths)}),
        "kept": paths_by_type,
        "known": {fingerprint: key.description for fingerprint, key in known_keys.items()},
        "secrets": {fingerprint: key.secret for fingerprint, key in known_keys.items()},
        "replaced": sorted(fingerprint for fingerprint, key in known_keys.items() if key.is_replaced),
    }


def _map_key_files(declared: Sequence[PlanEntry]) -> dict[str, list[str]]:
    """Return resource type -> paths of the files in which roles keep keys."""
    paths_by_type: dict[str, list[str]] = {}
    for entry in declared:
        options = entry["options"]
        if entry["kind"] in KEYS and options.get("state", "present") == "present":
            path = str(options.get("path") or default_path(entry["kind"]))
            paths = paths_by_type.setdefault(entry["kind"], [])
            if path not in paths:
                paths.append(path)
    return paths_by_type


def _map_machines(declared: Sequence[PlanEntry], kind: str) -> dict[str, list[str]]:
    """Return path -> machines whose entries a role maintains, for the files of a resource type (kind)."""
    machines_by_path: dict[str, list[str]] = {}
    for entry in declared:
        if entry["kind"] == kind:
            path = str(entry["options"].get("path") or default_path(kind))
            machines_by_path.setdefault(path, []).append(str(entry["options"]["machine"]))
    return machines_by_path


def _list_areas(cluster: Facts) -> list[str]:
    """Return the account's folders in the storage areas, as paths or as variables of the site."""
    names = [area.get("path") or area.get("variable") for area in cluster.get("storage") or []]
    return sorted({str(name) for name in names if name})


def _list_site_credentials(cluster: Facts) -> list[str]:
    """Return the path of enroot's credentials file that the site sets, if any."""
    path = (cluster.get("container") or {}).get("credentials")
    return [str(path)] if path else []


def _list_files_of_jobs(cluster: Facts, paths_by_type: Mapping[str, list[str]]) -> list[str]:
    """Return the key files that jobs read. Jobs pull images only if login nodes have no container tool.

    paths_by_type: resource type -> paths of the key files.
    """
    jobs_pull_images = not (cluster.get("container") or {}).get("on_login")
    types_in_jobs = [kind for kind, key in KEYS.items() if key.in_jobs or (key.by_containers and jobs_pull_images)]
    return sorted({path for kind in types_in_jobs for path in paths_by_type.get(kind, [])})


def describe_known_keys(rotated: Mapping[str, Secret], marks: Marks, current: Mapping[str, str]) -> KnownKeys:
    """Return a description of each key of this machine, by the fingerprint that the account reports for it.

    rotated: the secrets with several versions. marks: (secret, version) -> fingerprint. current: name of a secret ->
    fingerprint of its value in the keyring.
    """
    known = {mark: KnownKey(name, LABEL_TEXTS["current"].format(name)) for name, mark in current.items()}
    for name, secret in rotated.items():
        for version in secret.versions:
            if (name, version.id) in marks:  # a key of the keyring, too, is described by its label
                mark = marks[name, version.id]
                is_replaced = version.label not in ("pending", "current") and mark not in current.values()
                known[mark] = KnownKey(name, LABEL_TEXTS[version.label].format(name), is_replaced)
    return known


def fingerprint_current_keys(names: Iterable[str], account: str, read_key: Callable[[str], str]) -> dict[str, str]:
    """Return name -> fingerprint that the account reports, for each of these secrets that is in the keyring.

    names: of the secrets. account: its name. read_key: returns the value of a secret, or raises MissingKey.
    """
    fingerprints = {}
    for name in sorted(names):
        with suppress(MissingKey):  # a secret that is not in the keyring is skipped
            fingerprints[name] = account_fingerprint(account, hashlib.sha256(read_key(name).encode()).digest())
    return fingerprints
