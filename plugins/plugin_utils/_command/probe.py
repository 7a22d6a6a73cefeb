# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Preparation of a probe: an accounts file for an unlisted account, and a minimal profile for a new cluster.

A probe reads a cluster through an account, and compares the cluster with its profile, the file of facts about the
cluster, or writes a new profile. The catalogue contains the profiles of the user and those of hpc-onboard (SHIPPED).
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from pathlib import Path
from typing import Any

from .._accounts import new_profile
from .._accounts.profiles import SHIPPED, Catalogue
from .._accounts.selection import find_unknown_host
from .._init.ssh_world import effective_settings
from .._input.diagnostics import Mistakes, nearest
from .._state.durable_files import StateError, as_state_error
from .._state.fingerprint_key import make_private, state_folder
from . import accounts
from .accounts import CommandError
from .profile import choose_folder

HOST = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?")
GENERAL = re.compile(r"(login|ssh|gate|access|cluster|hpc|node|head|ln)[0-9-]*\Z")
"""Parts of host names that do not name a cluster."""


def prepare(options: argparse.Namespace) -> None:
    """Change the options of the subcommand probe so that they name an accounts file that contains the account.

    Do nothing for accounts in the user's accounts file. For another USER@CLUSTER or USER@HOST, write an accounts file
    to the state folder, where printed commands find it again. For a host without a profile, also write a minimal
    profile; with it, the run can log in and then write a complete profile. Raises CommandError.
    """
    listed_names = _read_listed_names(options)
    terms = ",".join(options.names).split(",")  # one name may be a list, as in -l NAME,NAME
    unlisted = [term for term in terms if "@" in term and find_unknown_host(term, listed_names)]
    if not unlisted:
        return
    if len(terms) > 1:
        raise CommandError(f"{unlisted[0]} is not in the accounts file. Probe this account in a separate run")
    user, _at, cluster_or_host = unlisted[0].rpartition("@")
    try:
        folders = accounts.read_profile_folders(options.inventory)
        cluster = cluster_or_host if cluster_or_host in Catalogue((*folders, SHIPPED)).ids() else ""
    except Mistakes as mistakes:
        raise CommandError(str(mistakes)) from None
    name = cluster or options.given.get("--name") or suggest_name(cluster_or_host)
    file = state_folder() / "probe" / name / "accounts.yml"
    # not as an option: printed commands name the accounts file, whose variables contain the folder
    output = Path(options.given.pop("--output", "") or choose_folder(options.inventory, folders)).absolute()
    try:
        with as_state_error(f"probe/{name}"):
            make_private(file.parent)
            entry = {} if cluster else _write_minimal_profile(cluster_or_host, name, output, file.parent)
            # settings of the probe, as Ansible variables of the account
            entry["vars"] = {"probe_folder": str(output), "probe_new": not cluster}
            document = {
                "plugin": "hpc.onboard.accounts",
                "profiles": [str(folder.absolute()) for folder in (file.parent, *folders)],
                "accounts": {f"{user}@{name}": entry},
            }
            file.write_text(json.dumps(document), encoding="utf-8")
    except StateError as error:
        raise CommandError(str(error)) from None
    options.inventory, options.names = [str(file)], [f"{user}@{name}"]


def suggest_name(host: str) -> str:
    """Return a name for the cluster of a login node.

    >>> [suggest_name(host) for host in ("login2.attic.uni.example", "attic-login1.uni.example", "my-attic")]
    ['attic', 'attic', 'my_attic']
    """
    labels = [re.sub(r"-?(login|ln)[0-9]*$", "", label.lower()) for label in host.split(".")]
    names = [label for label in labels[:-1] or labels if label and not GENERAL.match(label)]  # not the top domain
    name = (names or ["cluster"])[0].replace("-", "_")  # the name is also an inventory group
    return re.sub(r"[^a-z0-9_]", "", name) or "cluster"


def _read_listed_names(options: argparse.Namespace) -> set[str]:
    """Return the accounts and clusters of the accounts file; an empty set without an accounts file.

    options: of the subcommand probe; names are the accounts in the line, inventory the values of the option -i. An
    inventory of several files or a folder is not read here: return all names in the line, as if they were listed.
    Raises CommandError.
    """
    source = accounts.find_source(options.inventory, os.environ)
    file = source.single_file() if source else None
    try:
        return accounts.read_names(file) if file else set(",".join(options.names).split(",") if source else ())
    except Mistakes as mistakes:
        raise CommandError(str(mistakes)) from None


def _write_minimal_profile(host: str, name: str, output: Path, folder: Path) -> dict[str, Any]:
    """Write a profile that contains only the login node, and return the account's entry in the accounts file.

    host, name: of the new cluster. folder: for the minimal profile. output: for the profile that the probe will write.
    Raises CommandError if the host or the name is invalid, or if output already contains a profile of this name.
    """
    # of the user's ssh settings: the first value of each keyword
    settings = {keyword: values[0] for keyword, values in effective_settings(host).items()}
    hostname = settings.get("hostname", host)
    if not HOST.fullmatch(host):
        raise CommandError(f'"{host}" is neither a known cluster nor a valid host name')
    if not new_profile.NAME.fullmatch(name):
        raise CommandError(
            f'"{name}" is not a valid name for the cluster. Choose a name with --name NAME: use lower-case letters,'
            " digits and _, and begin with a letter"
        )
    if "." not in host and hostname == host:  # neither a full host name nor a name in the ssh settings
        advice = nearest(host, Catalogue().ids())
        raise CommandError(f'"{host}" is not a known cluster, and your ssh settings do not contain this host; {advice}')
    if (output / f"{name}.yml").exists():
        raise CommandError(f"{output / name}.yml already exists. Give the new cluster a different name: --name NAME")
    port = {} if settings.get("port", "22") == "22" else {"port": int(settings["port"])}
    profile = {"format": 2, "id": name, "login": {"host": host if "." in host else hostname, **port}, "home": {}}
    (folder / f"{name}.yml").write_text(json.dumps(profile), encoding="utf-8")
    # at a terminal, ssh can ask for a password or code
    auth = {"auth": "ask"} if sys.stdin.isatty() and sys.stdout.isatty() else {}
    # ssh: the host is a name in the user's ssh settings
    return {**auth, **({"ssh": host} if hostname != host else {})}
