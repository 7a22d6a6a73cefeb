# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Make Ansible's host out of an account: its groups, and the variables that roles and connections read."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._input.json_schema import as_mapping, is_template
from .._roles.site import site_settings
from .._roles.table import prepare_roles
from .accounts_file import AccountsFile, ResolvedAccount
from .profiles import Profile

KEEPALIVE = "-o ServerAliveInterval=15 -o ServerAliveCountMax=4"
ALONE = "-o ClearAllForwardings=yes -o ForwardX11=no -o ForwardAgent=no"  # a login node gets no way to the next one
DELEGATE = "-o GSSAPIAuthentication=yes -o GSSAPIDelegateCredentials=yes"  # for homes that only a ticket opens
# Roles whose settings name files of this machine, beside the accounts file.
READING_FILES = ("conda", "job_scripts", "own_files", "path_scripts", "python_envs")
VARIABLE = re.compile(r"\$(\w+)")


@dataclass(frozen=True)
class InventoryHost:
    """What goes into the inventory for one account."""

    name: str
    groups: list[str]
    variables: dict[str, Any]


def build_hosts(file: AccountsFile) -> list[InventoryHost]:
    """Return one host for each account of the file. Raises Mistakes with all that is wrong in it."""
    hosts = [build_host(account, file) for account in file.accounts()]
    prepare_roles(host.variables for host in hosts)  # once for all accounts: each is a process of its own later
    return hosts


def build_host(account: ResolvedAccount, file: AccountsFile) -> InventoryHost:
    """Return the host of one account. The account's own vars come last and win."""
    folder = file.lines.file.parent
    slurm_account = str(as_mapping(account.entry.get("scheduler")).get("account") or "")
    variables = {
        "cluster": account.cluster,
        "account": {
            **account_variable(account),
            **({"sandbox": describe_sandbox(account, folder)} if account.sandbox else {}),
        },
        **connection_variables(account),
        **site_settings(account.cluster, account.project or "", slurm_account),
        **{f"{role}_files_from": str(folder) for role in READING_FILES},
        **role_settings(account, file),
        **own_variables(account),
    }
    return InventoryHost(account.name, inventory_groups(account.cluster), variables)


def own_variables(account: ResolvedAccount) -> dict[str, Any]:
    """Return the account's own vars, without the options of ssh that ssh_options has joined to its own."""
    own = dict(account.entry.get("vars") or {})
    if not is_template(own.get("ansible_ssh_extra_args")):
        own.pop("ansible_ssh_extra_args", None)
    return own


def inventory_groups(cluster: Profile) -> list[str]:
    """Return the inventory groups of an account on this cluster."""
    container = cluster["container"]
    runtimes = [container["runtime"], *container.get("further", [])]
    names = ["accounts", cluster["id"], cluster.get("family"), *(name for name in runtimes if name != "none")]
    return [name.replace("-", "_") for name in names if name]  # Ansible warns of a group podman-hpc


def account_variable(account: ResolvedAccount) -> dict[str, Any]:
    """Return the variable account: its names, and the roles that it excludes."""
    return {
        "name": account.name,
        "user": account.user,
        "cluster": account.cluster["id"],
        **({"project": account.project} if account.project else {}),
        "without": [str(role) for role in account.entry.get("without") or ()],
        **{word: list(account.entry[word]) for word in ("keep", "replace") if account.entry.get(word)},
        **({"auth": str(account.entry["auth"])} if account.entry.get("auth") else {}),
    }


def connection_variables(account: ResolvedAccount) -> dict[str, Any]:
    """Return the variables by which Ansible reaches the account."""
    login = account.cluster["login"]
    own = account.entry.get("ssh")  # a name of the user's ssh settings, which say the rest
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


def ssh_options(account: ResolvedAccount) -> str:
    """Return the options of ssh that every account has. The account's own ones come first: ssh takes the first."""
    own = str((account.entry.get("vars") or {}).get("ansible_ssh_extra_args") or "")
    alone = ALONE.replace("ForwardAgent=no", "ForwardAgent=yes") if account.entry.get("forward_agent") else ALONE
    ticket = DELEGATE if (account.cluster.get("auth") or {}).get("delegate") else ""
    return " ".join(filter(None, (own, KEEPALIVE, alone, ticket)))


def role_settings(account: ResolvedAccount, file: AccountsFile) -> dict[str, Any]:
    """Return the account's settings of roles, as the variables that the roles read."""
    own = {
        f"{role}_{key}": value
        for role in file.roles.names() & account.entry.keys()
        for key, value in (account.entry[role] or {}).items()
    }
    links = as_mapping(account.entry.get("links"))
    return {**own, "storage_links_own": {**links, **as_mapping(own.get("storage_links_own"))}} if links else own


def describe_sandbox(account: ResolvedAccount, folder: Path) -> dict[str, Any]:
    """Return where an account's sandbox is and what the site would have made there. folder: of the accounts file."""
    environment = account.cluster.get("sandbox_environment", {})
    return {
        "root": str(folder / ".sandbox" / account.name),
        "home": account.cluster["home"].get("path", f"/home/{account.user}"),
        "environment": environment,
        "folders": site_folders(account.cluster["storage"], environment),
    }


def site_folders(areas: list[dict[str, Any]], environment: dict[str, str]) -> list[str]:
    """Return the folders that the site itself has made: the roots of areas, or areas that accounts cannot make."""
    paths = [str(area["root"] if area.get("create") else area.get("path", "")) for area in areas]
    plain = [
        VARIABLE.sub(lambda name: environment.get(name[1], name[0]), path) for path in paths if not is_template(path)
    ]
    return sorted({path for path in plain if path.startswith("/") and ".." not in path.split("/")})
