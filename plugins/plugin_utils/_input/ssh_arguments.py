# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The arguments with which Ansible would call ssh for an account, so that 'ssh -G' tells what it would do with them."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

ARGUMENTS = ("ansible_ssh_common_args", "ansible_ssh_extra_args")
OPTIONS = {"-p": "ansible_port", "-l": "ansible_user", "-i": "ansible_ssh_private_key_file"}
NO_OTHER = ("-o", "ProxyCommand=false")  # where no session is open, ssh fails here, and tries nothing there
SHORTER: dict[str, tuple[str, ...]] = {  # what a person need not type, and what has a shorter form
    **dict.fromkeys(("ServerAliveInterval", "ServerAliveCountMax", "ClearAllForwardings", "ForwardX11"), ()),
    **{"ForwardAgent": (), "GSSAPIAuthentication": (), "GSSAPIDelegateCredentials": ("-K",), "ProxyJump": ("-J",)},
}
SSH_VARIABLES = (*ARGUMENTS, *OPTIONS.values(), "ansible_host")


def ssh_arguments(values: Mapping[str, str], name: str) -> list[str]:
    """The options, and the host to connect to. values: the account's variables; name: its own, where none says a host.

    Raises ValueError for arguments with a quote that nothing closes.
    """
    words = [word for one in ARGUMENTS for word in shlex.split(values.get(one, ""))]
    words += [word for option, one in OPTIONS.items() if values.get(one) for word in (option, values[one])]
    return [*words, values.get("ansible_host") or name]


def read_ssh_config(arguments: Sequence[str]) -> str:
    """Return the text of the settings file that ssh reads with these arguments; empty if it cannot be read."""
    named = arguments[arguments.index("-F") + 1 :][:1] if "-F" in arguments else []
    try:
        return (Path(named[0]) if named else Path("~/.ssh/config").expanduser()).read_text(errors="replace")
    except (OSError, RuntimeError):
        return ""


def mentions_proxy(values: Mapping[str, str]) -> bool:
    """Return True if the way to an account may lead through another host: so say its variables, or the user's settings.

    Of files that those settings include, nothing is read.
    """
    try:
        arguments = ssh_arguments(values, "")
    except ValueError:  # Ansible refuses them, too
        return False
    return "-J" in arguments or "proxy" in f"{' '.join(arguments)} {read_ssh_config(arguments)}".lower()


def login_of(values: Mapping[str, str], name: str) -> tuple[str, str]:
    """Who one is there, and the host to connect to. The user is empty where the person's settings of ssh say it."""
    *words, host = ssh_arguments(values, name)
    user, _at, bare = host.rpartition("@")
    return next((after for word, after in pairwise(words) if word == "-l"), user), bare


def typed_arguments(values: Mapping[str, str], name: str) -> str:
    """Return what a person types behind ssh to get where these variables lead: as short as may be, with USER@HOST."""
    kept: list[str] = []
    for word in ssh_arguments(values, name)[:-1]:
        option, _equals, value = word.partition("=")
        before = kept[-1] if kept else ""
        if before == "-l":
            kept.pop()
        elif before == "-o" and option in SHORTER:
            kept.pop()
            kept += [*SHORTER[option], *([value] if option == "ProxyJump" else [])]
        else:
            kept.append(word)
    return shlex.join([*kept, "@".join(filter(None, login_of(values, name)))])


def scp_arguments(values: Mapping[str, str], name: str) -> str:
    """Return what a user types behind scp, before the colon, to get where these variables lead."""
    words = shlex.split(typed_arguments(values, name))
    return shlex.join("-P" if word == "-p" else word for word in words if word != "-K")  # a ticket need not come along


def parse_settings(output: str) -> dict[str, list[str]]:
    """Return what `ssh -G` says, by setting."""
    found: dict[str, list[str]] = {}
    for line in output.splitlines():
        key, _blank, value = line.partition(" ")
        found.setdefault(key, []).append(value)
    return found
