# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The first connection to a host: its key is compared with the keys that the site publishes, and the user decides.

No key is trusted automatically: ssh asks as usual, and writes known_hosts if the user says yes. The profile of a
cluster contains the published keys of its login nodes and jump hosts.
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
    r"^The authenticity of host '(?P<host>[^' ]+).*? key fingerprint is (?P<key>[A-Z0-9]+:[A-Za-z0-9+/:]+)"
    r".*\nAre you sure you want to continue connecting",
    re.DOTALL,
)
"""The question of ssh itself, matched from its start: a login node could print a published key in another question."""


def list_names(settings: Mapping[str, Sequence[str]], host_argument: str) -> set[str]:
    """Return the names that ssh may print for the host of an account.

    settings: the output of ssh -G. host_argument: the host in the arguments of ssh, such as alice@login.site.org.
    """
    host = settings.get("hostname", [host_argument.rpartition("@")[2]])[-1]
    port = settings.get("port", ["22"])[-1]
    return {settings.get("hostkeyalias", [host])[-1], host if port == "22" else f"[{host}]:{port}"}


def add_published_keys(question: str, cluster: Mapping[str, Any], arguments: Sequence[str]) -> str:
    """Return the question of ssh about a host key, with a note on the keys that the site publishes.

    A different question is returned unchanged. Raise AccountError if the site publishes other keys. cluster: the
    cluster's profile. arguments: of ssh, the host last.
    """
    match = HOST_KEY.match(question)
    if not match:
        return question
    login, host, key = cluster.get("login") or {}, match["host"], match["key"]
    is_login_node = host in list_names(ssh_settings(arguments, SECONDS), arguments[-1])
    host_facts = login if is_login_node else login.get("jump") or {}  # the profile's part about this host
    published_keys = host_facts.get("host_keys") or []
    jump_sentence = "" if is_login_node else f"{host} is a jump host. "
    if not published_keys:
        advice = "The profile contains no key for this host. Compare the key with the one that the site publishes"
        return f"{question} ({jump_sentence}{advice})"
    if key in published_keys:
        return f"{question} ({jump_sentence}{cluster.get('name')} publishes this host key)"
    if not key.startswith("SHA256:"):  # the ssh of a jump host reads only the user's settings
        raise AccountError(
            f"ssh shows the fingerprint {key} of {host}, which cannot be compared with the SHA256 fingerprints that "
            f"{cluster.get('name')} publishes. Remove FingerprintHash from your ssh settings, then try again"
        )
    raise AccountError(
        f"the {'login node' if is_login_node else 'jump host'} {host} presents the host key {key}, but "
        f"{cluster.get('name')} publishes {', '.join(published_keys)}. hpc-onboard sent nothing. The connection may be "
        f"intercepted, or the profile may be outdated. Ask the site for its current host keys"
    )
