# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The programs that make a new certificate or ticket. A profile names only the program; its arguments are set here.

Sources: github.com/eth-cscs/cscs-key; smallstep.com/docs/step-cli/reference/ssh/login (the user and the provisioner are
in step's own defaults.json); kinit(1) of MIT Kerberos; docs.nersc.gov, sshproxy.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from typing import Any

Facts = Mapping[str, Any]

CERTIFICATE = "-cert.pub"  # the end of a certificate's file name, after the name of its key
USUAL_KEY = "~/.ssh/cscs-key"  # the key that cscs-key signs if the command names none
SOURCES = {  # program -> where to install it from
    "cscs-key": "https://github.com/eth-cscs/cscs-key/releases (or 'brew install eth-cscs/tap/cscs-key')",
    "step": "https://smallstep.com/docs/step-cli/installation",
    "kinit": "your system's packages (krb5-user or krb5-workstation)",
    "sshproxy.sh": "https://docs.nersc.gov/connect/mfa/#sshproxy",
}


def renewal_command(cluster: Facts, user: str, place: str) -> list[str]:
    """Return the command that makes a new credential for an account; [] if its profile names no program.

    cluster: the profile. user: the user name on the cluster. place: the path of the old certificate; another text if
    the old credential is not in a file.
    """
    auth = cluster.get("auth") or {}
    make_command = RENEWERS.get(str(auth.get("renewer", "")))
    return make_command(auth, user, place) if make_command else []


def user_of(variables: Facts) -> str:
    """Return the user name of an account on its cluster. variables: Ansible's."""
    return str((variables.get("account") or {}).get("user") or variables.get("ansible_user") or "")


def has_program(command: list[str]) -> bool:
    """Return True if the program of the command is on the PATH."""
    return shutil.which(command[0]) is not None


def explain_missing_program(command: list[str]) -> str:
    """Return a sentence, without its full stop, on where to install the program of the command from."""
    return f"{command[0]} is not on your PATH; install it from {SOURCES[command[0]]}"


def _make_cscs_key_command(_auth: Facts, _user: str, place: str) -> list[str]:
    """Return the command that signs the key of the old certificate, or the program's usual key.

    place: of the old certificate. All functions in RENEWERS have three parameters; the other two are not used here.
    """
    key = place.removesuffix(CERTIFICATE)
    has_own_file = place.endswith(CERTIFICATE) and key != os.path.expanduser(USUAL_KEY)
    return ["cscs-key", "sign", *(["-f", key] if has_own_file else [])]


def _make_kinit_command(auth: Facts, user: str, _place: str) -> list[str]:
    """Return the command that gets a ticket for the user, in the realm that the profile names.

    auth: the profile's part about the login. _place: not used, because kinit chooses the place.
    """
    forwardable = ["-f"] if auth.get("delegate") else []  # so that the ticket is also valid on the cluster
    return ["kinit", *forwardable, f"{user}@{auth['realm']}" if auth.get("realm") else user]


RENEWERS: dict[str, Callable[[Facts, str, str], list[str]]] = {  # "renewer" in a profile -> maker of the command
    "cscs-key": _make_cscs_key_command,
    "step": lambda _auth, _user, _place: ["step", "ssh", "login"],
    "kinit": _make_kinit_command,
    "sshproxy": lambda _auth, user, _place: ["sshproxy.sh", "-u", user],
}
