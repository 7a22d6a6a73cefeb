# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Before a probe starts: an accounts file for the account if none has it, and a bare profile for a new cluster."""

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
from .._init.ssh_world import effective_settings
from .._input.diagnostics import Mistakes, nearest
from .._state.fingerprint_key import make_private, state_folder
from . import accounts
from .accounts import CommandError
from .profile import choose_folder

HOST = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?")
GENERAL = re.compile(r"(login|ssh|gate|access|cluster|hpc|node|head|ln)[0-9-]*\Z")
"""Words in names of hosts that do not name a cluster."""


def prepare(options: argparse.Namespace) -> None:
    """Complete the options of the subcommand probe. Raises CommandError.

    An account of the accounts file is probed as it is. Another one, USER@CLUSTER or USER@HOST, gets an accounts file of
    its own in the state folder, so that a printed command works again. Of a host that no profile has, the run writes
    the first profile.
    """
    known = _read_known(options)
    strange = [name for name in options.names if "@" in name and "*" not in name and name not in known]
    if not strange:
        return
    if len(options.names) > 1:
        raise CommandError(f"{strange[0]} is not in the accounts file: probe this account in a run of its own")
    user, _at, place = strange[0].rpartition("@")
    try:
        folders = accounts.read_profile_folders(options.inventory)
        cluster = place if place in Catalogue((*folders, SHIPPED)).ids() else ""
    except Mistakes as mistakes:
        raise CommandError(str(mistakes)) from None
    name = cluster or options.given.get("--name") or suggest_name(place)
    file = state_folder() / "probe" / name / "accounts.yml"
    make_private(file.parent)
    output = Path(options.given.pop("--output", "") or choose_folder(options.inventory, folders)).absolute()
    entry = {} if cluster else _describe_new(place, name, output, file.parent)
    entry["vars"] = {"probe_folder": str(output), "probe_new": not cluster}
    document = {
        "plugin": "hpc.onboard.accounts",
        "profiles": [str(one.absolute()) for one in (file.parent, *folders)],
        "accounts": {f"{user}@{name}": entry},
    }
    file.write_text(json.dumps(document), encoding="utf-8")
    options.inventory, options.names = [str(file)], [f"{user}@{name}"]


def suggest_name(host: str) -> str:
    """Return a name for the cluster of a login node.

    >>> [suggest_name(one) for one in ("login2.attic.uni.example", "attic-login1.uni.example", "attic")]
    ['attic', 'attic', 'attic']
    """
    labels = [re.sub(r"-?(login|ln)[0-9]*$", "", label.lower()) for label in host.split(".")]
    named = [label for label in labels[:-1] or labels if label and not GENERAL.match(label)]
    return re.sub(r"[^a-z0-9_-]", "", (named or ["cluster"])[0]) or "cluster"


def _read_known(options: argparse.Namespace) -> set[str]:
    source = accounts.find(options.inventory, os.environ)
    file = source.file() if source else None
    try:
        return accounts.read_names(file) if file else set(options.names if source else ())
    except Mistakes as mistakes:
        raise CommandError(str(mistakes)) from None


def _describe_new(host: str, name: str, output: Path, folder: Path) -> dict[str, Any]:
    """Write a profile that says only how the cluster is reached; return the settings of the account.

    output: the folder that the first profile will be in. Raises CommandError if the cluster cannot be probed so.
    """
    known = {word: values[0] for word, values in effective_settings(host).items()}
    real = known.get("hostname", host)
    if not HOST.fullmatch(host):
        raise CommandError(f'"{host}" is not a known cluster and not a valid host name')
    if not new_profile.NAME.fullmatch(name):
        raise CommandError(
            f'"{name}" is invalid; a cluster name has lower-case letters, digits, _ and -, a letter first'
        )
    if "." not in host and real == host:
        advice = nearest(host, Catalogue().ids())
        raise CommandError(
            f'"{host}" is not a known cluster, and your ssh settings have no host of this name; {advice}'
        )
    if (output / f"{name}.yml").exists():
        raise CommandError(f"{output / name}.yml already exists. Name the new cluster: --name NAME")
    port = {} if known.get("port", "22") == "22" else {"port": int(known["port"])}
    profile = {"format": 2, "id": name, "login": {"host": host if "." in host else real, **port}, "home": {}}
    (folder / f"{name}.yml").write_text(json.dumps(profile), encoding="utf-8")
    asks = {"auth": "ask"} if sys.stdin.isatty() and sys.stdout.isatty() else {}
    return {**asks, **({"ssh": host} if real != host else {})}
