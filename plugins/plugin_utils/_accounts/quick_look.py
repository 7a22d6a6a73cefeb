# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an accounts file and its profiles say of little more than names, for whoever has no time to check them.

A run checks every word before it is used, which takes a third of a second for a handful of clusters. Status, completion
and the list of a person's steps need names and a few texts, and are wanted at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from .._input.collection import COLLECTION
from .._input.diagnostics import Mistake, Mistakes, check_bounds, describe_yaml_error, read_text
from .._input.yaml_loader import Loader

SHIPPED = COLLECTION / "inventory" / "clusters"


class AccountSummary(NamedTuple):
    """An account by its name. groups: the words by which -l finds it, but for container runtimes."""

    name: str
    cluster: str
    sandbox: bool
    groups: tuple[str, ...]
    steps: tuple[Mapping[str, Any], ...]


def list_accounts(file: Path) -> list[AccountSummary]:
    """The accounts of a file, in its order. Raises Mistakes where it is no accounts file."""
    document = _load_document(file)
    entries = document.get("accounts")
    if not isinstance(entries, dict):
        raise Mistakes([Mistake(file, 0, 'is not an accounts file: "accounts" is missing.')])
    listed = document.get("profiles")
    own = [file.parent / Path(str(name)).expanduser() for name in (listed if isinstance(listed, list) else ())]
    sites: dict[str, dict[str, Any]] = {}
    found = []
    for name, entry in entries.items():
        cluster = str(name).rpartition("@")[2]
        if cluster not in sites:
            sites[cluster] = read_site(cluster, (*own, SHIPPED))
        said = entry if isinstance(entry, dict) else {}
        family = sites[cluster].get("family")
        groups = tuple(str(one).replace("-", "_") for one in (cluster, family) if one)
        sandbox = bool(said.get("sandbox", document.get("sandbox", False)))
        found.append(
            AccountSummary(str(name), cluster, sandbox, groups, tuple(_merge_own_steps(sites[cluster], document, said)))
        )
    return found


def _merge_own_steps(profile: Mapping[str, Any], document: Mapping[str, Any], entry: Mapping[str, Any]) -> list[Any]:
    """The human steps of a site, with the words that the file has for an account there."""
    listed = profile.get("human_steps", [])
    shared = document.get("defaults")
    said: list[Any] = [one.get("steps") for one in (shared, entry) if isinstance(one, dict)]
    every = [pair for steps in said if isinstance(steps, dict) for pair in steps.items()]
    own = {str(name): step for name, step in every if isinstance(step, dict)}
    if not own:
        return list(listed)
    from .defaults import merge_steps  # few have any

    return [step for step in merge_steps(listed, own) if "text" in step]


def read_site(cluster: str, folders: Sequence[Path]) -> dict[str, Any]:
    """The family and the human steps of a cluster, its family's included; empty where its profile cannot be read."""
    try:
        own = _load_document(
            next(folder / f"{cluster}.yml" for folder in folders if (folder / f"{cluster}.yml").is_file())
        )
        if "extends" not in own:
            return _pick_steps(own)
        name = f"{own['extends']}.yml"
        places = [folder / "families" / name for folder in folders]
        base = _load_document(next(place for place in places if place.is_file()))
    except (StopIteration, Mistakes):
        return {}
    from .families import merge_family, remove_fact  # few have one

    family = _pick_steps(base)
    for word in own.get("without", ()):
        if str(word).startswith("human_steps."):
            family = remove_fact(family, str(word))
    found: dict[str, Any] = merge_family(family, _pick_steps(own))
    return found


def _pick_steps(profile: Mapping[str, Any]) -> dict[str, Any]:
    return {part: profile[part] for part in ("family", "human_steps") if profile.get(part)}


def _load_document(file: Path) -> dict[str, Any]:
    text = read_text(file)
    check_bounds(file, text)
    try:
        found = yaml.load(text, TolerantLoader)
    except yaml.YAMLError as error:
        raise Mistakes([describe_yaml_error(file, text, error)]) from None
    if not isinstance(found, dict):
        raise Mistakes([Mistake(file, 1, "is invalid; expected a mapping of names to values.")])
    return found


class TolerantLoader(Loader):
    """A loader that reads over tags, Ansible's own ones say: what they hold is not needed here."""


TolerantLoader.add_multi_constructor("!", lambda _loader, _tag, _node: None)
