"""Make Ansible's host out of an account: its groups and variables.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.accounts_file import Account, AccountsFile
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.profiles import Profile
from ansible_collections.hpc.onboard.plugins.plugin_utils._capabilities.declare import site_settings
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.json_schema import is_template

KEEPALIVE = "-o ServerAliveInterval=15 -o ServerAliveCountMax=4"
VARIABLE = re.compile(r"\$(\w+)")


@dataclass(frozen=True)
class Host:
    """What goes into the inventory for one account."""

    name: str
    groups: list[str]
    variables: dict[str, Any]


def hosts(file: AccountsFile) -> list[Host]:
    """One host for each account of the file. All mistakes are raised as one Mistakes."""
    return [host(account, file) for account in file.accounts()]


def host(account: Account, file: AccountsFile) -> Host:
    """The host of one account. The account's own vars come last and win."""
    variables = {
        "cluster": account.cluster,
        "account": {**identity(account), **pretended(account, file)},
        **connection(account),
        **site_settings(account.cluster),
        **settings(account, file),
        "conda_files_from": str(file.lines.file.parent),
        **(account.entry.get("vars") or {}),
    }
    return Host(account.name, groups(account.cluster), variables)


def groups(cluster: Profile) -> list[str]:
    """The inventory groups of an account on this cluster."""
    runtime = cluster["container"]["runtime"]
    names = ["accounts", cluster["id"], cluster.get("family"), None if runtime == "none" else runtime]
    return [name for name in names if name]


def identity(account: Account) -> dict[str, Any]:
    """Who the account is, and which roles it does not want."""
    return {
        "name": account.name,
        "user": account.user,
        "cluster": account.cluster["id"],
        **({"project": account.project} if account.project else {}),
        "without": [str(role) for role in account.entry.get("without") or ()],
    }


def connection(account: Account) -> dict[str, Any]:
    """How Ansible reaches the account."""
    login = account.cluster["login"]
    arguments, jump = KEEPALIVE, login.get("jump")
    if jump:
        user = str(account.entry.get("jump_user") or jump.get("user") or account.user)
        arguments += f" -o ProxyJump={user}@{jump['host']}"
    return {
        "ansible_user": account.user,
        "ansible_host": login["host"],
        **({"ansible_port": login["port"]} if "port" in login else {}),
        "ansible_ssh_common_args": arguments,
        **({"ansible_connection": "local"} if account.sandbox else {}),
    }


def settings(account: Account, file: AccountsFile) -> dict[str, Any]:
    """The account's settings of roles, as the variables that the roles read."""
    return {
        f"{role}_{key}": value
        for role in file.roles.names() & account.entry.keys()
        for key, value in (account.entry[role] or {}).items()
    }


def pretended(account: Account, file: AccountsFile) -> dict[str, Any]:
    """The sandbox, if the account has one: its root on this machine, and what the site would have made."""
    if not account.sandbox:
        return {}
    environment = account.cluster.get("sandbox_environment", {})
    sandbox = {
        "root": str(file.lines.file.parent / ".sandbox" / account.name),
        "home": account.cluster["home"].get("path", f"/home/{account.user}"),
        "environment": environment,
        "folders": site_folders(account.cluster["storage"], environment),
    }
    return {"sandbox": sandbox}


def site_folders(areas: list[dict[str, Any]], environment: dict[str, str]) -> list[str]:
    """Folders that the site itself has made: the roots of areas, or the areas that accounts cannot make."""
    wanted = [area["root"] if area.get("create") else area.get("path", "") for area in areas]
    plain = [resolved(str(path), environment) for path in wanted if not is_template(path)]
    return sorted({path for path in plain if path.startswith("/") and ".." not in path.split("/")})


def resolved(path: str, environment: dict[str, str]) -> str:
    """A path with the site's variables put in; one that is not known stays."""
    return VARIABLE.sub(lambda name: environment.get(name[1], name[0]), path)
