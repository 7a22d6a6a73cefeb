"""Read an accounts file: one pass checks it, resolves every account, and collects every mistake in one list.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._input.diagnostics import Mistake, MistakeList, Mistakes, Place, YamlText
from .._input.json_schema import Checker, Schema, as_mapping
from .._input.role_specs import RoleSpecs
from .account_checks import check_defaults, check_entry, check_for_cluster, find_cluster
from .defaults import Entry, merge_defaults, merge_steps
from .profiles import PATTERNS, SHIPPED, Catalogue, Profile, find_placeholder, render, schema


@dataclass(frozen=True)
class ResolvedAccount:
    """One account: its entry with the defaults, and its cluster's profile rendered for it."""

    name: str
    user: str
    project: str | None
    entry: Entry
    cluster: Profile
    sandbox: bool


@dataclass(frozen=True)
class AccountsFile:
    """A loaded accounts file: its lines for messages, and the document with Ansible's tags on its values."""

    lines: YamlText
    document: Any
    roles: RoleSpecs
    shipped: Path = SHIPPED

    @classmethod
    def parse(cls, file: Path, text: str) -> AccountsFile:
        """Return the file with this text, unchecked. Raises Mistakes for invalid YAML and for repeated keys."""
        lines = YamlText(file, text)
        if repeated := lines.duplicates():
            raise Mistakes(repeated)
        return cls(lines, lines.document(), RoleSpecs())

    def accounts(self) -> list[ResolvedAccount]:
        """Return all accounts. Raises Mistakes with everything that is wrong in the file and the profiles it uses."""
        if not self.document:
            raise Mistakes([Mistake(self.lines.file, 0, 'is empty; add "plugin" and "accounts".')])
        mistakes = MistakeList(self.lines)
        entries, written = (as_mapping(as_mapping(self.document).get(part)) for part in ("accounts", "defaults"))
        sound = self._check_schema(mistakes, [*entries.values(), written])
        if not entries:
            mistakes.raise_any()
        catalogue = self.catalogue(mistakes)
        shared = as_mapping(sound.get("defaults"))
        check_entry(mistakes, ("defaults",), shared, self.roles)
        accounts: list[ResolvedAccount] = []
        for name, entry in entries.items():
            place: Place = ("accounts", str(name))
            profile = find_cluster(mistakes, str(name), catalogue)
            if profile is None:
                continue
            own = as_mapping(sound["accounts"].get(name))
            check_entry(mistakes, place, own, self.roles)
            check_for_cluster(mistakes, place, own, profile)
            account = self._resolve(str(name), merge_defaults(shared, own, profile), profile)
            accounts.append(account)
            lacking = find_placeholder({part: account.cluster.get(part) for part in PATTERNS}, "project")
            # A key that is wrong may be the one that was meant to be the project.
            wrong_keys = (as_mapping(entry).keys() - own.keys()) | (written.keys() - shared.keys())
            if lacking and not self._may_be_project(wrong_keys):
                text = f'"{name}" needs "project: NAME"; on {profile["id"]} the project is part of {lacking}.'
                mistakes.add(place, text, at_key=True)
        if len(accounts) == len(entries):  # else a default may count for the account that is not known
            check_defaults(mistakes, shared, [one.cluster for one in accounts])
        mistakes.raise_any()
        return accounts

    def _check_schema(self, mistakes: MistakeList, entries: Iterable[Any]) -> dict[str, Any]:
        """Check the form of all values; return the document without the wrong ones, so that the rest can be checked."""
        used = {str(key) for entry in entries for key in as_mapping(entry)}
        violations = list(Checker(accounts_schema(self.roles, used), templates=True).violations(self.document))
        for each in violations:
            mistakes.add(each.place, each.text, each.at_key)
        return as_mapping(_without(self.document, [each.place for each in violations if each.place]))

    def _may_be_project(self, wrong: Iterable[str]) -> bool:
        """Return True if one of these keys of an entry is unknown, or is the project with a wrong value."""
        known = {*schema("accounts")["$defs"]["account"]["properties"], *self.roles.names()} - {"project"}
        return not known.issuperset(wrong)

    def catalogue(self, mistakes: MistakeList) -> Catalogue:
        """Return the profiles in the file's own folders and those that ship; a missing folder is a mistake."""
        listed = self.document.get("profiles")
        folders = []
        for index, name in enumerate(listed if isinstance(listed, list) else ()):
            folder = self.lines.file.parent / os.path.expanduser(str(name))
            if os.path.isdir(folder):  # of a name that no folder can have, Path would raise
                folders.append(folder)
            else:
                text = f'the folder "{name}" does not exist next to this file; create it or remove this line.'
                mistakes.add(("profiles", index), text)
        return Catalogue((*folders, self.shipped))

    def _resolve(self, name: str, entry: Entry, profile: Profile) -> ResolvedAccount:
        """Return one account with {user} and {project} filled into its profile."""
        user = name.rpartition("@")[0]
        project = str(entry["project"]) if entry.get("project") else None
        names = {"user": user, **({"project": project} if project else {})}
        cluster = render(profile, names, as_mapping(entry.get("storage")))
        if entry.get("steps"):
            steps = merge_steps(cluster.get("human_steps", ()), as_mapping(entry["steps"]))
            cluster = {**cluster, "human_steps": steps}
        sandbox = entry.get("sandbox", self.document.get("sandbox", False))
        return ResolvedAccount(name, user, project, entry, cluster, bool(sandbox))


def _without(node: Any, places: Sequence[Place]) -> Any:
    """Return a document without what is at these places; in a list, None takes the place of an item."""
    wrong = {place[0] for place in places if len(place) == 1}
    if not places:
        return node
    if isinstance(node, list):
        items = enumerate(node)
        return [None if at in wrong else _without(item, _below(places, at)) for at, item in items]
    return {key: _without(item, _below(places, key)) for key, item in as_mapping(node).items() if key not in wrong}


def _below(places: Sequence[Place], step: str | int) -> list[Place]:
    return [place[1:] for place in places if place[0] == step and len(place) > 1]


def accounts_schema(roles: RoleSpecs, used: set[str]) -> Schema:
    """Return the schema that ships, with the settings of those roles that the file uses."""
    shipped = schema("accounts")
    account = shipped["$defs"]["account"]
    settings = {role: roles.settings(role) if role in used else {} for role in roles.names()}
    properties = {**settings, **account["properties"]}
    entry = {**account, "properties": properties, "additionalProperties": False}
    # Names are left to find_cluster, which can say more about them.
    accounts = {**shipped["properties"]["accounts"], "propertyNames": {}}
    return {
        **shipped,
        "properties": {**shipped["properties"], "accounts": accounts},
        "$defs": {**shipped["$defs"], "account": entry},
    }
