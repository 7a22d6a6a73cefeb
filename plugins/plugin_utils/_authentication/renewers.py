# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The programs that make a new certificate or ticket, which profiles name: their arguments are ours alone.

Sources: github.com/eth-cscs/cscs-key; smallstep.com/docs/step-cli/reference/ssh/login (who it is for, and of which
provisioner, stands in step's own defaults.json); kinit(1) of MIT Kerberos; docs.nersc.gov, sshproxy.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from typing import Any

Facts = Mapping[str, Any]

CERTIFICATE = "-cert.pub"
USUAL_KEY = "~/.ssh/cscs-key"
HOME = {  # program -> where a person gets it
    "cscs-key": "https://github.com/eth-cscs/cscs-key/releases (or 'brew install eth-cscs/tap/cscs-key')",
    "step": "https://smallstep.com/docs/step-cli/installation",
    "kinit": "your system's packages (krb5-user or krb5-workstation)",
    "sshproxy.sh": "https://docs.nersc.gov/connect/mfa/#sshproxy",
}


def renewal(cluster: Facts, user: str, place: str) -> list[str]:
    """The command that makes a new credential for an account; empty where its profile names no renewer.

    user: on the cluster. place: the file of the certificate that ends, where it is one.
    """
    auth = cluster.get("auth") or {}
    order = ORDERS.get(str(auth.get("renewer", "")))
    return order(auth, user, place) if order else []


def user_of(variables: Facts) -> str:
    """Who an account is on its cluster. variables: Ansible's."""
    return str((variables.get("account") or {}).get("user") or variables.get("ansible_user") or "")


def is_there(command: list[str]) -> bool:
    """Whether the command's program is found."""
    return shutil.which(command[0]) is not None


def absence(command: list[str]) -> str:
    """What to do where the program is not found."""
    return f"{command[0]} is not on your PATH; it comes from {HOME[command[0]]}"


def _cscs_key(_auth: Facts, _user: str, place: str) -> list[str]:
    key = place.removesuffix(CERTIFICATE)
    is_usual = not place.endswith(CERTIFICATE) or key == os.path.expanduser(USUAL_KEY)
    return ["cscs-key", "sign", *([] if is_usual else ["-f", key])]


def _step(_auth: Facts, _user: str, _place: str) -> list[str]:
    return ["step", "ssh", "login"]


def _kinit(auth: Facts, user: str, _place: str) -> list[str]:
    forwardable = ["-f"] if auth.get("delegate") else []
    return ["kinit", *forwardable, f"{user}@{auth['realm']}" if auth.get("realm") else user]


def _sshproxy(_auth: Facts, user: str, _place: str) -> list[str]:
    return ["sshproxy.sh", "-u", user]


ORDERS: dict[str, Callable[[Facts, str, str], list[str]]] = {
    "cscs-key": _cscs_key,
    "step": _step,
    "kinit": _kinit,
    "sshproxy": _sshproxy,
}
