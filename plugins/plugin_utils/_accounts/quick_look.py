# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read the names and manual steps of an accounts file and its profiles, without checking them.

A run checks both in full, which takes a third of a second for a few clusters. The subcommands status and done and the
shell completion need only names and a few texts, and must answer at once.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from .._input.collection import COLLECTION
from .._input.diagnostics import Mistake, Mistakes, load_document
from .._input.json_schema import as_mapping
from .facts import strip_sources

SHIPPED = COLLECTION / "inventory" / "clusters"


class AccountSummary(NamedTuple):
    """The names and manual steps of an account. groups: its inventory groups, without those of container runtimes."""

    name: str
    cluster: str
    sandbox: bool
    groups: tuple[str, ...]
    steps: tuple[Mapping[str, Any], ...]


def list_accounts(file: Path) -> list[AccountSummary]:
    """Return the accounts of a file, in its order. Raises Mistakes if the file is not an accounts file."""
    document = _load_mapping(file)
    entries = document.get("accounts")
    if not isinstance(entries, dict):
        raise Mistakes([Mistake(file, line=0, text='this is not an accounts file: "accounts" is missing.')])
    profile_folders = document.get("profiles")
    own_folders = [
        file.parent / os.path.expanduser(str(name))  # Path.expanduser raises for an unknown user
        for name in (profile_folders if isinstance(profile_folders, list) else ())
    ]
    defaults = as_mapping(document.get("defaults"))
    sandbox_default = defaults.get("sandbox", document.get("sandbox", False))
    sites: dict[str, dict[str, Any]] = {}  # by cluster: the result of read_site
    accounts = []
    for name, entry in entries.items():
        cluster = str(name).rpartition("@")[2]
        if cluster not in sites:
            sites[cluster] = read_site(cluster, (*own_folders, SHIPPED))
        settings = as_mapping(entry)
        family = sites[cluster].get("family")
        groups = tuple(str(group).replace("-", "_") for group in (cluster, family) if group)
        sandbox = bool(settings.get("sandbox", sandbox_default))
        steps = tuple(_list_steps(sites[cluster], defaults, settings))
        accounts.append(AccountSummary(str(name), cluster, sandbox, groups, steps))
    return accounts


def _list_steps(site: Mapping[str, Any], defaults: Mapping[str, Any], entry: Mapping[str, Any]) -> list[Any]:
    """Return the manual steps of an account: those of the site, changed and extended by the accounts file.

    site: the result of read_site. defaults, entry: the defaults and the account's entry in the accounts file.
    """
    merged = {**as_mapping(defaults.get("steps")), **as_mapping(entry.get("steps"))}
    settings = {str(name): step for name, step in merged.items() if isinstance(step, dict)}
    steps = site.get("human_steps", [])
    if settings:
        from .defaults import merge_steps  # imported late: few accounts have steps of their own

        steps = merge_steps(steps, settings)
    # A step without a text is a default for a step of another site, or invalid.
    return [step for step in steps if "text" in step]


def read_site(cluster: str, folders: Sequence[Path]) -> dict[str, Any]:
    """Return the fields family and human_steps of a cluster's profile; {} without a valid profile.

    The steps are merged with those of the family. folders: in which the profile is searched for, in this order.
    """
    try:
        own = _load_mapping(
            # Path.is_file raises for a name that is too long
            next(folder / f"{cluster}.yml" for folder in folders if os.path.isfile(folder / f"{cluster}.yml"))
        )
        if "extends" not in own:
            return _pick_family_and_steps(own)
        name = f"{own['extends']}.yml"
        paths = [folder / "families" / name for folder in folders]
        base = _load_mapping(next(path for path in paths if os.path.isfile(path)))
    except (StopIteration, Mistakes):  # StopIteration: no folder has the file
        return {}
    from .families import list_fact_names, merge_family, remove_fact  # imported late: few profiles have a family

    family = _pick_family_and_steps(base)
    without = own.get("without")
    for name in without if isinstance(without, list) else ():
        if name in set(list_fact_names(family)):
            family = remove_fact(family, name)
    merged: dict[str, Any] = merge_family(family, _pick_family_and_steps(own))
    return merged


def _pick_family_and_steps(profile: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields family and human_steps of a profile, if they are set. Invalid steps are skipped."""
    steps = strip_sources(profile.get("human_steps"))
    valid_steps = [step for step in steps if "id" in as_mapping(step)] if isinstance(steps, list) else []
    fields = {"family": strip_sources(profile.get("family")), "human_steps": valid_steps}
    return {name: value for name, value in fields.items() if value}


def _load_mapping(file: Path) -> dict[str, Any]:
    """Return the mapping in a YAML file. Raises Mistakes if the file is unreadable or is not a mapping."""
    document = load_document(file)
    if not isinstance(document, dict):
        raise Mistakes([Mistake(file, line=1, text="this file is invalid; expected a mapping (key: value).")])
    return document
