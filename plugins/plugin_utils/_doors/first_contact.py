# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The first contact with a login node: its host key is compared with what the site publishes, and a person decides.

Nothing is ever trusted by itself: ssh asks as it does by hand, and writes known_hosts when the person says yes.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.programs import ask
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.ssh_arguments import settings

SECONDS = 5
UNASKED = ("no", "off", "false", "accept-new")  # StrictHostKeyChecking, where ssh asks nobody
FINGERPRINT = re.compile(r"SHA256:[A-Za-z0-9+/]{43}")


def is_known(arguments: Sequence[str]) -> bool:
    """Whether known_hosts has a key of the host that these arguments of ssh lead to, or ssh would not ask.

    Where ssh does not tell, it is taken for known: the connection itself will say what is wrong.
    """
    said = ask(["ssh", "-G", *arguments], SECONDS)
    if said.code != 0:
        return True
    found = {word: values[-1] for word, values in settings(said.output).items()}
    if found.get("stricthostkeychecking") in UNASKED:
        return True
    alias, port = found.get("hostkeyalias"), found.get("port", "22")
    host = found.get("hostname", "")
    name = alias if alias and alias != "none" else host if port == "22" else f"[{host}]:{port}"
    files = [found.get("userknownhostsfile", ""), found.get("globalknownhostsfile", "")]
    paths = [os.path.expanduser(path) for one in files for path in one.split() if path != "none"]
    return any(ask(["ssh-keygen", "-F", name, "-f", path], SECONDS).code == 0 for path in paths if os.path.exists(path))


def compared(question: str, cluster: Mapping[str, Any]) -> str:
    """ssh's question, with what the site says where it is about a host key. Raises AccountError for a wrong key.

    cluster: the profile. Another question is given back as it is.
    """
    shown = FINGERPRINT.findall(question)
    published = (cluster.get("login") or {}).get("host_keys") or []
    if not shown:
        return question
    if not published:
        return f"{question} (Compare it with what the site publishes; the profile of {cluster.get('id')} names no key)"
    if shown[0] in published:
        return f"{question} (It is one of the keys that {cluster.get('name')} publishes)"
    raise AccountError(
        f"the host key is {shown[0]}, and {cluster.get('name')} publishes {', '.join(published)}. Nothing was sent."
        " Somebody may stand between, or the profile is old: ask the site"
    )
