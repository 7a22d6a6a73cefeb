# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The ssh arguments that Ansible uses for an account, for 'ssh -G' and for commands that the user types."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

ARGUMENTS = ("ansible_ssh_common_args", "ansible_ssh_extra_args")
OPTIONS = {"-p": "ansible_port", "-l": "ansible_user", "-i": "ansible_ssh_private_key_file"}
ONLY_OPEN_SESSION = ("-o", "ProxyCommand=false")  # makes ssh fail at once unless a session is open already
TYPED_FORMS: dict[str, tuple[str, ...]] = {  # -o option -> its short option, or () if a typed command omits it
    **dict.fromkeys(("ServerAliveInterval", "ServerAliveCountMax", "ClearAllForwardings", "ForwardX11"), ()),
    **{"ForwardAgent": (), "GSSAPIAuthentication": (), "GSSAPIDelegateCredentials": ("-K",), "ProxyJump": ("-J",)},
}
SSH_VARIABLES = (*ARGUMENTS, *OPTIONS.values(), "ansible_host")


def ssh_arguments(values: Mapping[str, str], name: str) -> list[str]:
    """Return ssh's options, followed by the host. Raise ValueError for an unclosed quote in the account's variables.

    values: of SSH_VARIABLES, by variable. name: of the account, used as the host if the variables contain no host.
    """
    words = [word for variable in ARGUMENTS for word in shlex.split(values.get(variable, ""))]
    words += [word for option, key in OPTIONS.items() if values.get(key) for word in (option, values[key])]
    return [*words, values.get("ansible_host") or name]


def read_ssh_config(arguments: Sequence[str]) -> str:
    """Return the text of the ssh_config file that ssh uses with these arguments; empty if it cannot be read."""
    files = arguments[arguments.index("-F") + 1 :][:1] if "-F" in arguments else []
    try:
        return (Path(files[0]) if files else Path("~/.ssh/config").expanduser()).read_text(errors="replace")
    except (OSError, RuntimeError):  # RuntimeError: the user has no home
        return ""


def variables_mention_proxy(values: Mapping[str, str]) -> bool:
    """Return True if the account's variables or the user's ssh_config mention a proxy or jump host."""
    try:
        return arguments_mention_proxy(ssh_arguments(values, name=""))
    except ValueError:  # an unclosed quote, which Ansible refuses, too
        return False


def arguments_mention_proxy(arguments: Sequence[str]) -> bool:
    """Return True if arguments of ssh or the user's ssh_config mention a proxy or jump host.

    Files that ssh_config includes are not read.
    """
    return (
        any(word.startswith("-J") for word in arguments)
        or "proxy" in f"{' '.join(arguments)} {read_ssh_config(arguments)}".lower()
    )


def find_login(values: Mapping[str, str], name: str) -> tuple[str, str]:
    """Return user name and host of an account. The user name is empty if only the user's ssh_config may set it.

    values, name: see ssh_arguments.
    """
    *words, destination = ssh_arguments(values, name)
    destination_user, _at, host = destination.rpartition("@")
    user = next((following for word, following in pairwise(words) if word == "-l"), destination_user)
    return user, host  # ssh prefers -l to USER@HOST


def typed_arguments(values: Mapping[str, str], name: str) -> str:
    """Return the arguments, as short as possible, for an ssh command that a user types to connect to the account.

    values, name: see ssh_arguments.
    """
    typed_words: list[str] = []
    for word in ssh_arguments(values, name)[:-1]:
        option, _equals, value = word.partition("=")
        previous_word = typed_words[-1] if typed_words else ""
        if previous_word == "-l":
            typed_words.pop()  # the user is in USER@HOST
        elif previous_word == "-o" and option in TYPED_FORMS:
            typed_words.pop()  # the short option, if any, replaces -o OPTION=VALUE; only -J has a value
            typed_words += [*TYPED_FORMS[option], *([value] if option == "ProxyJump" else [])]
        else:
            typed_words.append(word)
    return shlex.join([*typed_words, "@".join(filter(None, find_login(values, name)))])


def scp_arguments(values: Mapping[str, str], name: str) -> str:
    """Return the arguments of scp before the colon, for a user who copies files from or to the account.

    values, name: see ssh_arguments.
    """
    words = shlex.split(typed_arguments(values, name))
    # scp names the port by -P, and has no option such as -K, which forwards a ticket
    return shlex.join("-P" if word == "-p" else word for word in words if word != "-K")


def parse_settings(output: str) -> dict[str, list[str]]:
    """Return the output of `ssh -G` as setting -> values."""
    settings: dict[str, list[str]] = {}
    for line in output.splitlines():
        key, _blank, value = line.partition(" ")
        settings.setdefault(key, []).append(value)
    return settings
