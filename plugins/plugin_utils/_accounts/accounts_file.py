"""Read an accounts file: check it, resolve its accounts, and collect all mistakes in one list.

An entry is the settings of one account, or the defaults of all accounts. A place is the path of a value in the file, a
tuple of keys and indexes; with at_key, the mistake is at the key, not at its value.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._input.diagnostics import Mistake, MistakeList, Mistakes, Place, YamlText, display_path
from .._input.json_schema import Checker, Schema, as_mapping, remove_places
from .._input.role_specs import role_names, role_schema
from .._input.yaml_loader import TolerantLoader
from .account_checks import check_defaults, check_entry, check_for_cluster, find_profile
from .defaults import Entry, merge_defaults, merge_steps
from .profiles import RENDERED_PARTS, SHIPPED, Catalogue, Profile, find_placeholder, render, schema


@dataclass(frozen=True)
class ResolvedAccount:
    """One account. entry: its settings, with the defaults. cluster: the profile, with the account's names and paths.

    sandbox: True if a folder on this machine replaces the cluster.
    """

    name: str
    user: str
    project: str | None
    entry: Entry
    cluster: Profile
    sandbox: bool


@dataclass(frozen=True)
class AccountsFile:
    """An accounts file: its lines, for messages; its document, which may contain Ansible's templates."""

    lines: YamlText
    document: Any

    @classmethod
    def parse(cls, file: Path, text: str) -> AccountsFile:
        """Return the file with this text, unchecked. Raises Mistakes for invalid YAML and for repeated keys."""
        lines = YamlText(file, text)
        if repeated := lines.duplicates():
            raise Mistakes(repeated)
        return cls(lines, lines.document(TolerantLoader))

    def accounts(self) -> list[ResolvedAccount]:
        """Return all accounts. Raises Mistakes with all mistakes in the file and in the profiles that it uses."""
        if not self.document:
            raise Mistakes([Mistake(self.lines.file, line=0, text='the file is empty; add "plugin" and "accounts".')])
        mistakes = MistakeList(self.lines)
        entries, defaults = (as_mapping(as_mapping(self.document).get(part)) for part in ("accounts", "defaults"))
        valid_document = self._check_schema(mistakes, [*entries.values(), defaults])
        if not entries:
            mistakes.raise_any()  # "accounts" is missing or invalid, so that nothing else can be checked
        catalogue = self.catalogue(mistakes)
        valid_defaults = as_mapping(valid_document.get("defaults"))
        check_entry(mistakes, ("defaults",), valid_defaults)
        accounts: list[ResolvedAccount] = []
        for name, entry in entries.items():
            place: Place = ("accounts", str(name))
            profile = find_profile(mistakes, str(name), catalogue)
            if profile is None:
                continue
            valid_entry = as_mapping(valid_document["accounts"].get(name))
            check_entry(mistakes, place, valid_entry)
            check_for_cluster(mistakes, place, valid_entry, profile)
            account = self._resolve(str(name), merge_defaults(valid_defaults, valid_entry, profile), profile)
            accounts.append(account)
            # An invalid key may be a misspelt "project", which is already reported.
            invalid_keys = (as_mapping(entry).keys() - valid_entry.keys()) | (defaults.keys() - valid_defaults.keys())
            if not _may_mean_project(invalid_keys):
                _check_project(mistakes, account)
        if len(accounts) == len(entries):  # otherwise a default may apply to an account with an unknown cluster
            check_defaults(mistakes, valid_defaults, [account.cluster for account in accounts])
        mistakes.raise_any()
        return accounts

    def _check_schema(self, mistakes: MistakeList, entries: Iterable[Any]) -> dict[str, Any]:
        """Add the violations of the schema to mistakes. Return the valid rest of the document, for other checks.

        entries: of all accounts, and the defaults.
        """
        used_keys = {str(key) for entry in entries for key in as_mapping(entry)}
        violations = list(Checker(accounts_schema(used_keys), _may_be_template).violations(self.document))
        for each in violations:
            mistakes.add(each.place, each.text, each.at_key)
        return as_mapping(remove_places(self.document, [each.place for each in violations if each.place]))

    def catalogue(self, mistakes: MistakeList) -> Catalogue:
        """Return the profiles in the folders that the file lists, and the shipped ones.

        Add a mistake to mistakes for each missing folder.
        """
        listed = self.document.get("profiles")
        folders = []
        for index, name in enumerate(listed if isinstance(listed, list) else ()):
            folder = self.lines.file.parent / os.path.expanduser(str(name))
            if os.path.isdir(folder):  # Path.is_dir raises for an impossible name
                folders.append(folder)
            else:
                text = f'the folder "{display_path(folder)}" does not exist; create it or remove this line.'
                mistakes.add(("profiles", index), text)
        return Catalogue((*folders, SHIPPED))

    def _resolve(self, name: str, entry: Entry, profile: Profile) -> ResolvedAccount:
        """Return an account, with its user, project and paths filled into the profile.

        name: USER@CLUSTER. entry: the account's settings, with the defaults. profile: of the cluster.
        """
        user = name.rpartition("@")[0]
        project = str(entry["project"]) if entry.get("project") else None
        names = {"user": user, **({"project": project} if project else {})}
        cluster = render(profile, names, as_mapping(entry.get("storage")))
        if entry.get("steps"):
            steps = merge_steps(cluster.get("human_steps", ()), as_mapping(entry["steps"]))
            cluster = {**cluster, "human_steps": steps}
        sandbox = entry.get("sandbox", self.document.get("sandbox", False))
        return ResolvedAccount(name, user, project, entry, cluster, bool(sandbox))


def _may_mean_project(invalid_keys: Iterable[str]) -> bool:
    """Return True if one of these keys is unknown, or is "project" with an invalid value."""
    valid_keys = {*schema("accounts")["$defs"]["account"]["properties"], *role_names()} - {"project"}
    return not valid_keys.issuperset(invalid_keys)


def _may_be_template(place: Place) -> bool:
    """Return True for the values in a setting of an entry. Ansible evaluates a template after all others are read."""
    return len(place) > (3 if place[:1] == ("accounts",) else 2)  # accounts, NAME, SETTING; defaults, SETTING


def _check_project(mistakes: MistakeList, account: ResolvedAccount) -> None:
    """Add a mistake if an account has no project, but a path of its cluster contains {project}."""
    # With a project, the name of the project has replaced {project}.
    path = find_placeholder({part: account.cluster.get(part) for part in RENDERED_PARTS}, "project")
    if path:
        text = (
            f'"{account.name}" needs a project; add "project: NAME". On {account.cluster["id"]}, the project is part '
            f"of the path {path}."
        )
        mistakes.add(("accounts", account.name), text, at_key=True)


def accounts_schema(used_keys: set[str]) -> Schema:
    """Return the schema of the accounts file with the settings of roles.

    used_keys: the keys of all entries. Only the specs of roles among these keys are read, which saves time.
    """
    shipped = schema("accounts")
    account = shipped["$defs"]["account"]
    settings = {role: role_schema(role) if role in used_keys else {} for role in role_names()}
    properties = {**settings, **account["properties"]}
    entry = {**account, "properties": properties, "additionalProperties": False}
    # find_profile checks the names of accounts, with better messages.
    accounts = {**shipped["properties"]["accounts"], "propertyNames": {}}
    return {
        **shipped,
        "properties": {**shipped["properties"], "accounts": accounts},
        "$defs": {**shipped["$defs"], "account": entry},
    }
