# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the audit watches of keys on an account: which watches, and which keys are known by their fingerprints."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ...module_utils._formats.key_files import ENROOTS
from .._roles.enroot_credentials import token_folders
from .._roles.table import default_path, key_files
from .._secrets.backends import MissingKey
from .._secrets.versions import Secret
from .._state.fingerprint_key import shown_by

KnownKeys = Mapping[str, tuple[str, str]]
"""By fingerprint: the name of the secret, and which key of it that is, in words."""
Facts = Mapping[str, Any]  # of a cluster or an account, as their schemas describe them
if TYPE_CHECKING:  # few keys were ever rotated
    from .._documents.declaration import PlanEntry
    from .._secrets.key_marks import Marks

CAPABILITY = "watch"
KEYS = key_files()  # before the forks, one for each account


def plan_key_checks(cluster: Facts, account: Facts, declared: Sequence[PlanEntry], known: KnownKeys) -> list[PlanEntry]:
    """The entries {kind, capability, options} of an account's watches for keys.

    cluster: the profile; declared: all that the roles declare; known: by fingerprint.
    """
    kept = _kept(declared)
    own = sorted({path + KEYS[kind].copy for kind, paths in kept.items() for path in paths} | {*_own(kept)})
    areas = _areas(cluster)
    words, secrets = ({mark: one[at] for mark, one in known.items()} for at in (1, 0))
    common = {"own": own, "kept": kept, "known": words, "secrets": secrets, "caches": token_folders(cluster, declared)}
    found = [_plan("scattered_keys", **common, folder=folder) for folder in ("~", *areas)]
    found.append(_plan("open_keys", own=_own(kept), areas=areas))
    found.append(_plan("trusted_files", areas=[{"path": area} for area in areas]))
    enroots = kept.get("enroot_credential") or _read_by_enroot(cluster)
    files = sorted({*enroots, *(f"~/{name}" for name in ENROOTS)})
    found.append(_plan("enroot_lines", files=files, kept=_machines(declared)))
    found.append(
        _plan(
            "unread_keys",
            enroots=enroots,
            apptainers=kept.get("registry_auth", []),
            of_jobs=_in_jobs(cluster, kept),
            home_in_jobs=str((cluster.get("home") or {}).get("on_compute", "")),
        )
    )
    return [*found, *([_plan("shadowed_keys", kept=kept, known=sorted(known))] if kept else [])]


def _plan(kind: str, **options: Any) -> PlanEntry:
    """An entry whose options are complete."""
    return {"kind": kind, "capability": CAPABILITY, "options": options}


def _kept(declared: Sequence[PlanEntry]) -> dict[str, list[str]]:
    """The files in which roles keep keys, by kind."""
    found: dict[str, list[str]] = {}
    for entry in declared:
        options = entry["options"]
        if entry["kind"] in KEYS and options.get("state", "present") == "present":
            path = str(options.get("path") or default_path(entry["kind"]))
            paths = found.setdefault(entry["kind"], [])
            if path not in paths:
                paths.append(path)
    return found


def _own(kept: Mapping[str, list[str]]) -> list[str]:
    return sorted({path for paths in kept.values() for path in paths})


def _machines(declared: Sequence[PlanEntry]) -> dict[str, list[str]]:
    """Of each file of enroot's, the machines whose lines a role keeps."""
    found: dict[str, list[str]] = {}
    for entry in declared:
        if entry["kind"] == "enroot_credential":
            path = str(entry["options"].get("path") or default_path("enroot_credential"))
            found.setdefault(path, []).append(str(entry["options"]["machine"]))
    return found


def _areas(cluster: Facts) -> list[str]:
    """The account's own folders in the storage areas; a variable of the site leads there, too."""
    areas = cluster.get("storage") or []
    return sorted(
        {str(area.get("path") or area["variable"]) for area in areas if area.get("path", area.get("variable"))}
    )


def _read_by_enroot(cluster: Facts) -> list[str]:
    path = (cluster.get("container") or {}).get("credentials")
    return [str(path)] if path else []


def _in_jobs(cluster: Facts, kept: Mapping[str, list[str]]) -> list[str]:
    """The files that jobs read: where the container tool is on login nodes, images are pulled there."""
    by_containers = not (cluster.get("container") or {}).get("on_login")
    read = [kind for kind, key in KEYS.items() if key.in_jobs or (key.by_containers and by_containers)]
    return sorted({path for kind in read for path in kept.get(kind, [])})


# -- known keys ------------------------------------------------------------------------------------

WORDS = {
    "pending": "the new key of '{}' that is being brought out",
    "current": "the key of '{}'",
    "previous": "the key of '{}' that was replaced",
    "retired": "the key of '{}' that was replaced",
    "dead": "the dead key of '{}'",
    "purged": "the dead key of '{}'",
}


def known_keys(secrets: Mapping[str, Secret], marks: Marks, current: Mapping[str, str]) -> KnownKeys:
    """Return every key that this machine knows, by the fingerprint that the account shows of it.

    secrets: those that were ever rotated, with their versions. current: name of a secret -> fingerprint of its value.
    """
    versions = [(name, one) for name, secret in secrets.items() for one in secret.versions]
    found = {mark: (name, WORDS["current"].format(name)) for name, mark in current.items()}
    labelled = {
        marks[name, one.id]: (name, WORDS[one.label].format(name)) for name, one in versions if (name, one.id) in marks
    }
    return {**found, **labelled}


def current_marks(names: Iterable[str], account: str, key: Callable[[str], str]) -> dict[str, str]:
    """Return the fingerprint that the account shows of each secret in the keyring. key: gives the value of a name."""
    found = {}
    for name in sorted(names):
        with suppress(MissingKey):
            found[name] = shown_by(account, hashlib.sha256(key(name).encode()).digest())
    return found
