# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Build the inventory host of an account: its groups, and the variables that roles and connections read.

An account with a sandbox uses a folder on this machine in place of the cluster, without ssh.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._input.json_schema import as_mapping, is_template
from .._input.role_specs import role_names
from .._roles.site import site_settings
from .._roles.table import prepare_roles
from .accounts_file import AccountsFile, ResolvedAccount
from .profiles import Profile

KEEPALIVE = "-o ServerAliveInterval=15 -o ServerAliveCountMax=4"
# Forwarding would let programs on a login node use your keys, display and tunnels.
NO_FORWARDING = "-o ClearAllForwardings=yes -o ForwardX11=no -o ForwardAgent=no"
DELEGATE = "-o GSSAPIAuthentication=yes -o GSSAPIDelegateCredentials=yes"  # for homes that only a ticket opens
# Roles with settings that name files on this machine, relative to the folder of the accounts file.
READING_FILES = ("conda", "job_scripts", "own_files", "path_scripts", "python_envs")
VARIABLE = re.compile(r"\$(\w+)")


@dataclass(frozen=True)
class InventoryHost:
    """The inventory host of one account."""

    name: str
    groups: list[str]
    variables: dict[str, Any]


def build_hosts(file: AccountsFile) -> list[InventoryHost]:
    """Return one host for each account of the file. Raises Mistakes with all mistakes in the file."""
    hosts = [build_host(account, file) for account in file.accounts()]
    prepare_roles(host.variables for host in hosts)  # once for all, because each account later runs in its own process
    return hosts


def build_host(account: ResolvedAccount, file: AccountsFile) -> InventoryHost:
    """Return the host of one account in the accounts file. The account's own vars override all other variables."""
    folder = file.lines.file.parent
    slurm_account = str(as_mapping(account.entry.get("scheduler")).get("account") or "")
    variables = {
        "cluster": account.cluster,
        "account": {
            **account_variable(account),
            **({"sandbox": describe_sandbox(account, folder)} if account.sandbox else {}),
        },
        **connection_variables(account),
        **site_settings(account.cluster, project=account.project or "", account=slurm_account),
        **{f"{role}_files_from": str(folder) for role in READING_FILES},
        **role_settings(account),
        **own_variables(account),
    }
    return InventoryHost(account.name, inventory_groups(account.cluster), variables)


def own_variables(account: ResolvedAccount) -> dict[str, Any]:
    """Return the account's own vars, without the ssh options that ssh_options() includes in its result."""
    variables = dict(account.entry.get("vars") or {})
    # ssh_options() cannot extend a template, which Ansible evaluates later: the template replaces all options.
    if not is_template(variables.get("ansible_ssh_extra_args")):
        variables.pop("ansible_ssh_extra_args", None)
    return variables


def inventory_groups(cluster: Profile) -> list[str]:
    """Return the inventory groups of an account on this cluster."""
    container = cluster["container"]
    runtimes = [container["runtime"], *container.get("further", [])]
    names = ["accounts", cluster["id"], cluster.get("family"), *(name for name in runtimes if name != "none")]
    return [name.replace("-", "_") for name in names if name]  # Ansible warns about hyphens in group names


def account_variable(account: ResolvedAccount) -> dict[str, Any]:
    """Return the value of the variable account: names, excluded roles, and some of the account's settings.

    keep, replace: the names of existing resources that hpc-onboard must keep or may replace. auth: the login method.
    """
    return {
        "name": account.name,
        "user": account.user,
        "cluster": account.cluster["id"],
        **({"project": account.project} if account.project else {}),
        "without": [str(role) for role in account.entry.get("without") or ()],
        **{key: list(account.entry[key]) for key in ("keep", "replace") if account.entry.get(key)},
        **({"auth": str(account.entry["auth"])} if account.entry.get("auth") else {}),
    }


def connection_variables(account: ResolvedAccount) -> dict[str, Any]:
    """Return the variables with which Ansible connects to the account."""
    login = account.cluster["login"]
    ssh_name = account.entry.get("ssh")  # a name in ~/.ssh/config, which then defines host, port and jump host
    jump = None if ssh_name else login.get("jump")
    jump_user = str(account.entry.get("jump_user") or (jump or {}).get("user") or account.user)
    return {
        "ansible_user": account.user,
        "ansible_host": ssh_name or login["host"],
        **({"ansible_port": login["port"]} if "port" in login and not ssh_name else {}),
        "ansible_ssh_common_args": shlex.join(["-o", f"ProxyJump={jump_user}@{jump['host']}"]) if jump else "",
        "ansible_ssh_extra_args": ssh_options(account),
        **({"ansible_connection": "local"} if account.sandbox else {}),
    }


def ssh_options(account: ResolvedAccount) -> str:
    """Return the ssh options of an account. Those of the user come first: ssh uses the first of equal options."""
    own_options = str((account.entry.get("vars") or {}).get("ansible_ssh_extra_args") or "")
    forwarding = NO_FORWARDING
    if account.entry.get("forward_agent"):
        forwarding = NO_FORWARDING.replace("ForwardAgent=no", "ForwardAgent=yes")
    delegation = DELEGATE if (account.cluster.get("auth") or {}).get("delegate") else ""
    return " ".join(filter(None, (own_options, KEEPALIVE, forwarding, delegation)))


def role_settings(account: ResolvedAccount) -> dict[str, Any]:
    """Return the account's settings for roles as variables, such as conda_distribution."""
    variables = {
        f"{role}_{key}": value
        for role in role_names() & account.entry.keys()
        for key, value in (account.entry[role] or {}).items()
    }
    if account.entry.get("conda"):  # who sets a distribution or a channel wants conda
        variables.setdefault("conda_wanted", True)
    links = as_mapping(account.entry.get("links"))  # the short form of storage_links: {own: ...}
    if links:
        variables["storage_links_own"] = {**links, **as_mapping(variables.get("storage_links_own"))}
    return variables


def describe_sandbox(account: ResolvedAccount, folder: Path) -> dict[str, Any]:
    """Return the sandbox of an account: its path, home, environment variables, and the folders that the site creates.

    folder: the folder of the accounts file.
    """
    environment = account.cluster.get("sandbox_environment", {})
    return {
        "root": str(folder / ".sandbox" / account.name),
        "home": account.cluster["home"].get("path", f"/home/{account.user}"),
        "environment": environment,
        "folders": site_folders(account.cluster["storage"], environment),
    }


def site_folders(areas: list[dict[str, Any]], environment: dict[str, str]) -> list[str]:
    """Return the folders that the site creates: the roots of areas, and the areas that accounts cannot create.

    environment: the values of variables in paths.
    """
    paths = [str(area["root"] if area.get("create") else area.get("path", "")) for area in areas]
    resolved = [
        VARIABLE.sub(lambda match: environment.get(match[1], match[0]), path) for path in paths if not is_template(path)
    ]
    # The sandbox contains each path below its own folder, which neither a relative path nor .. must leave.
    return sorted({path for path in resolved if path.startswith("/") and ".." not in path.split("/")})
