"""Read an accounts file: check it, find the profile of every account, and make Ansible's host out of it.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import os
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._input.collection import Roles
from .._input.diagnostics import Lines, Mistake, Mistakes, nearest
from .._input.json_schema import Checker, Schema, is_template, mapping
from .._roles.parts.site import site_settings
from .._roles.table import prepare
from .profiles import PATTERNS, SHIPPED, Catalogue, Profile, mentions, render, schema

KEEPALIVE = "-o ServerAliveInterval=15 -o ServerAliveCountMax=4"
ALONE = "-o ClearAllForwardings=yes -o ForwardX11=no -o ForwardAgent=no"  # a login node gets no way to the next one
DELEGATE = "-o GSSAPIAuthentication=yes -o GSSAPIDelegateCredentials=yes"  # for homes that only a ticket opens
USUAL_VARS = {  # whoever says no more of Ansible's need not wait for the list of all
    *("ansible_host", "ansible_port", "ansible_user", "ansible_connection", "ansible_python_interpreter"),
    *("ansible_ssh_common_args", "ansible_ssh_extra_args", "ansible_ssh_private_key_file"),
}
# Roles whose settings name files of this machine, beside the accounts file.
READING_FILES = ("conda", "job_scripts", "own_files", "path_scripts", "python_envs")
USER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")


Entry = dict[str, Any]  # what the file says of an account


@dataclass(frozen=True)
class Account:
    """One account, checked: what the file says of it, and the cluster's profile rendered for it."""

    name: str
    user: str
    project: str | None
    entry: Entry
    cluster: Profile
    sandbox: bool


@dataclass(frozen=True)
class AccountsFile:
    """A loaded accounts file: its lines for messages, and the document with Ansible's tags on its values."""

    lines: Lines
    document: Any
    roles: Roles
    shipped: Path = SHIPPED

    def accounts(self) -> list[Account]:
        """All accounts. Whatever is wrong, here or in a profile that is used, is raised as one Mistakes."""
        if not self.document:
            raise Mistakes([Mistake(self.lines.file, 0, 'is empty; it needs "plugin" and "accounts".')])
        found = self._against_schema()
        accounts: list[Account] = []
        if not self._well_shaped():
            raise Mistakes(found)
        catalogue, shared = self.catalogue(found), mapping(self.document.get("defaults"))
        for name, entry in self.document["accounts"].items():
            try:
                accounts.append(self._account(str(name), mapping(entry), shared, catalogue))
            except Mistakes as mistakes:
                found += mistakes.found
        if shared:
            from .entry_checks import wrong_defaults

            clusters = None if found else [one.cluster for one in accounts]
            found += wrong_defaults(self.lines, shared, self.roles, clusters)
        if found:
            raise Mistakes(found)
        return accounts

    def _well_shaped(self) -> bool:
        """Whether the accounts can be looked at one by one."""
        return isinstance(self.document, dict) and isinstance(self.document.get("accounts"), dict)

    def _against_schema(self) -> list[Mistake]:
        """Mistakes that the schema finds, the roles' own settings included."""
        entries = [*self.document["accounts"].values(), self.document.get("defaults")] if self._well_shaped() else ()
        used = {str(key) for entry in entries for key in mapping(entry)}
        checker = Checker(accounts_schema(self.roles, used), templates=True)
        violations = checker.violations(self.document)
        return [self.lines.mistake(each.place, each.text, each.at_key) for each in violations]

    def catalogue(self, found: list[Mistake]) -> Catalogue:
        """The profiles in the file's own folders and those that ship; a missing folder is added to the mistakes."""
        listed = self.document.get("profiles")
        folders = []
        for index, name in enumerate(listed if isinstance(listed, list) else ()):
            folder = self.lines.file.parent / os.path.expanduser(str(name))
            if os.path.isdir(folder):  # of a name that no folder can have, Path would raise
                folders.append(folder)
            else:
                text = f'there is no folder "{name}" beside this file; make it or take it out.'
                found.append(self.lines.mistake(("profiles", index), text))
        return Catalogue((*folders, self.shipped))

    def _account(self, name: str, own: Entry, shared: Entry, catalogue: Catalogue) -> Account:
        """One account with its profile, the defaults in what it does not say; its mistakes are raised."""
        user, at, cluster = name.rpartition("@")
        if not at or not USER.fullmatch(user):
            from .entry_checks import name_advice

            raise Mistakes([self._at(name, name_advice(name, catalogue))])
        profile = catalogue.profile(cluster)
        if profile is None:
            advice = f'unknown cluster "{cluster}"; {nearest(cluster, catalogue.ids())}'
            text = f"{advice} A cluster of your own is a file {cluster}.yml in a folder under profiles:."
            raise Mistakes([self._at(name, text)])
        entry = own
        if shared:
            from .defaults import together

            entry = together(shared, own, profile)
        account = self._rendered(name, user, entry, profile)
        lacking = mentions({part: account.cluster.get(part) for part in PATTERNS}, "project")
        if not lacking and is_plain(own, profile):
            return account
        from .entry_checks import known_keys, wrong_entry

        found = [*wrong_entry(self.lines, name, own, profile, self.roles)]
        # With an unknown key here, the project may be what is misspelt.
        if lacking and own.keys() | shared.keys() <= known_keys(self.roles):
            text = f'"{name}" needs "project: NAME"; on {cluster} it is part of {lacking}.'
            found.append(self._at(name, text))
        if found:
            raise Mistakes(found)
        return account

    def _rendered(self, name: str, user: str, entry: Entry, profile: Profile) -> Account:
        """One account with the profile's {user} and {project} filled in."""
        project = str(entry["project"]) if entry.get("project") else None
        names = {"user": user, **({"project": project} if project else {})}
        cluster = render(profile, names, mapping(entry.get("storage")))
        if entry.get("steps"):
            from .defaults import with_own_steps

            cluster = {
                **cluster,
                "human_steps": with_own_steps(cluster.get("human_steps", ()), mapping(entry["steps"])),
            }
        sandbox = entry.get("sandbox", self.document.get("sandbox", False))
        return Account(name, user, project, entry, cluster, bool(sandbox))

    def _at(self, name: str, text: str) -> Mistake:
        """A mistake in the name of an account."""
        return self.lines.mistake(("accounts", name), text, at_key=True)


def accounts_schema(roles: Roles, used: set[str]) -> Schema:
    """The schema that ships, with the settings of those roles that the file uses."""
    shipped = schema("accounts")
    account = shipped["$defs"]["account"]
    settings = {role: roles.settings(role) if role in used else {} for role in roles.names()}
    properties = {**settings, **account["properties"]}
    entry = {**account, "properties": properties, "additionalProperties": False}
    # Names are left to the code, which can say more about them.
    accounts = {**shipped["properties"]["accounts"], "propertyNames": {}}
    return {
        **shipped,
        "properties": {**shipped["properties"], "accounts": accounts},
        "$defs": {**shipped["$defs"], "account": entry},
    }


def is_plain(entry: Entry, profile: Profile) -> bool:
    """Whether an entry says usual words alone, of which nothing more can be wrong than its schema says."""
    variables = {word for word in map(str, mapping(entry.get("vars"))) if word.startswith("ansible_")}
    areas = {area["name"] for area in profile["storage"]}
    says_more = entry.keys() & {"without", "jump_user", "steps"}
    return not says_more and variables <= USUAL_VARS and mapping(entry.get("storage")).keys() <= areas


@dataclass(frozen=True)
class Host:
    """What goes into the inventory for one account."""

    name: str
    groups: list[str]
    variables: dict[str, Any]


def hosts(file: AccountsFile) -> list[Host]:
    """One host for each account of the file. All mistakes are raised as one Mistakes."""
    made = [host(account, file) for account in file.accounts()]
    prepare(one.variables for one in made)  # here, once for all accounts, each of which is a process of its own
    return made


def host(account: Account, file: AccountsFile) -> Host:
    """The host of one account. The account's own vars come last and win."""
    sandbox: dict[str, Any] = {}
    if account.sandbox:
        from .sandbox import pretended  # real ones go without

        sandbox = {"sandbox": pretended(account.name, account.user, account.cluster, file.lines.file.parent)}
    variables = {
        "cluster": account.cluster,
        "account": {**identity(account), **sandbox},
        **connection(account),
        **site_settings(account.cluster, account.project or "", chosen_account(account.entry)),
        **{f"{role}_files_from": str(file.lines.file.parent) for role in READING_FILES},
        **settings(account, file),
        **own_variables(account),
    }
    return Host(account.name, groups(account.cluster), variables)


def chosen_account(entry: Entry) -> str:
    """The Slurm account that the person has chosen for jobs, or empty."""
    return str(mapping(entry.get("scheduler")).get("account") or "")


def own_variables(account: Account) -> dict[str, Any]:
    """The account's own vars, but for options of ssh that are written out, which ours are joined to (ssh_options)."""
    own = dict(account.entry.get("vars") or {})
    if not is_template(own.get("ansible_ssh_extra_args")):
        own.pop("ansible_ssh_extra_args", None)
    return own


def groups(cluster: Profile) -> list[str]:
    """The inventory groups of an account on this cluster."""
    container = cluster["container"]
    runtimes = [container["runtime"], *container.get("further", [])]
    names = ["accounts", cluster["id"], cluster.get("family"), *(name for name in runtimes if name != "none")]
    return [name.replace("-", "_") for name in names if name]  # Ansible warns of a group podman-hpc


def identity(account: Account) -> dict[str, Any]:
    """Who the account is, and which roles it does not want."""
    return {
        "name": account.name,
        "user": account.user,
        "cluster": account.cluster["id"],
        **({"project": account.project} if account.project else {}),
        "without": [str(role) for role in account.entry.get("without") or ()],
        **({"auth": str(account.entry["auth"])} if account.entry.get("auth") else {}),
    }


def connection(account: Account) -> dict[str, Any]:
    """How Ansible reaches the account."""
    login = account.cluster["login"]
    own = account.entry.get("ssh")  # the person's own settings of ssh say the rest
    jump = None if own else login.get("jump")
    user = str(account.entry.get("jump_user") or (jump or {}).get("user") or account.user)
    return {
        "ansible_user": account.user,
        "ansible_host": own or login["host"],
        **({"ansible_port": login["port"]} if "port" in login and not own else {}),
        "ansible_ssh_common_args": shlex.join(["-o", f"ProxyJump={user}@{jump['host']}"]) if jump else "",
        "ansible_ssh_extra_args": ssh_options(account),
        **({"ansible_connection": "local"} if account.sandbox else {}),
    }


def ssh_options(account: Account) -> str:
    """Options of ssh that every account has; what the account's own vars say of an option comes first, and wins."""
    own = str((account.entry.get("vars") or {}).get("ansible_ssh_extra_args") or "")
    alone = ALONE.replace("ForwardAgent=no", "ForwardAgent=yes") if account.entry.get("forward_agent") else ALONE
    ticket = DELEGATE if (account.cluster.get("auth") or {}).get("delegate") else ""
    return " ".join(filter(None, (own, KEEPALIVE, alone, ticket)))


def settings(account: Account, file: AccountsFile) -> dict[str, Any]:
    """The account's settings of roles, as the variables that the roles read."""
    own = {
        f"{role}_{key}": value
        for role in file.roles.names() & account.entry.keys()
        for key, value in (account.entry[role] or {}).items()
    }
    links = mapping(account.entry.get("links"))
    return {**own, "storage_links_own": {**links, **mapping(own.get("storage_links_own"))}} if links else own
