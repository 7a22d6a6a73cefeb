# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The first contact with a host: its key is compared with what the site publishes for it, and the user decides.

Nothing is ever trusted by itself: ssh asks as it does by hand, and writes known_hosts when the user says yes.
Source of ssh's question: sshconnect.c of OpenSSH 8.0 to 10.0, check_host_key().
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ...module_utils._core.errors import AccountError
from .._input.programs import ssh_settings

SECONDS = 5
HOST_KEY = re.compile(
    r"^The authenticity of host '(?P<host>[^' ]+).*? key fingerprint is (?P<key>SHA256:[A-Za-z0-9+/]{43})\b"
    r".*\nAre you sure you want to continue connecting",
    re.DOTALL,
)
"""ssh's own question, from its first word on: a login node could show a published key in another one."""


def names(found: Mapping[str, Sequence[str]], typed: str) -> set[str]:
    """Return how ssh may name the host of an account when it speaks of its key.

    found: what ssh would do, by setting. typed: the host in its arguments.
    """
    host = found.get("hostname", [typed.rpartition("@")[2]])[-1]
    port = found.get("port", ["22"])[-1]
    return {found.get("hostkeyalias", [host])[-1], host if port == "22" else f"[{host}]:{port}"}


def compared(question: str, cluster: Mapping[str, Any], arguments: Sequence[str]) -> str:
    """Return ssh's question with what the site publishes. Raises AccountError for another key.

    question: such as HOST_KEY matches. cluster: the profile. arguments: of ssh to the account, the host last.
    """
    said = HOST_KEY.match(question)
    if not said:
        return question
    login, host, key = cluster.get("login") or {}, said["host"], said["key"]
    is_login = host in names(ssh_settings(arguments, SECONDS), arguments[-1])
    published = (login if is_login else login.get("jump") or {}).get("host_keys") or []
    which = "" if is_login else f"{host} is a jump host. "
    if not published:
        return f"{question} ({which}Compare the key with what the site publishes; its profile names none)"
    if key in published:
        return f"{question} ({which}It is one of the keys that {cluster.get('name')} publishes)"
    raise AccountError(
        f"the key of the {'host' if is_login else 'jump host'} {host} is {key}, and {cluster.get('name')} publishes"
        f" {', '.join(published)}. Nothing was sent. Somebody may stand between, or the profile is old: ask the site"
    )
