# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a secret lies: the files of an account that hold it, as its roles declare them.

A target is ACCOUNT:KIND, one file. What onboarding keeps there and what a rotation replaces is one
declaration, so nothing that onboarding writes can be forgotten.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ansible_collections.hpc.onboard.plugins.plugin_utils._declared import Value, collect

HOLDERS = ("enroot_credentials", "registry_auth", "tokens")
PLACE_OPTIONS = ("machine", "registry", "login")


class File(NamedTuple):
    """A file with the secret: the target's name, its path, and its places as rotated_key takes them."""

    target: str
    path: str
    places: list[dict[str, Any]]


def files(account: str, secret: str, without: list[str], value: Value) -> list[File]:
    """The files of an account that hold the secret. Raises AccountError for settings that are wrong."""
    declared = collect(HOLDERS, without, [], value).resources
    found: dict[str, File] = {}
    for entry in declared:
        options: Mapping[str, Any] = entry["options"]
        if options.get("secret") != secret:
            continue
        path = options.get("path") or DEFAULTS[entry["kind"]]
        file = found.setdefault(path, File(f"{account}:{entry['kind']}", path, []))
        own = {name: options[name] for name in PLACE_OPTIONS if options.get(name)}
        file.places.append({"kind": entry["kind"], **own})
    return list(found.values())


DEFAULTS = {"netrc_entry": "~/.netrc", "token_file": "~/.cache/huggingface/token", "ngc_config": "~/.ngc/config"}


def entry(file: File, password: str, registry: Mapping[str, Any]) -> dict[str, Any]:
    """The entry of a plan that replaces the key in the file; registry: who is asked there, or empty."""
    asks = registry if file.places[0]["kind"] in ("enroot_credential", "registry_auth") else {}
    options = {"path": file.path, "places": file.places, "registry": dict(asks), "password": password}
    return {"kind": "rotated_key", "capability": "rotate", "options": options}
