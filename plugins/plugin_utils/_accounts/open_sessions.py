# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The sessions that a person has opened by hand (ssh -MNf narval), which Ansible's own options would hide.

Where a site asks for a second factor at every connection, such a session is the only way in that needs nobody. ssh
itself says where a person's sessions lie (ssh -G), and whether one is open (ssh -O check); neither connects.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ansible_collections.hpc.onboard.plugins.plugin_utils._input.json_schema import is_template
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.ssh_arguments import ssh_arguments

SECONDS = 5  # for what asks nobody anything
MENTIONS = re.compile(r"^\s*(controlpath|include)\b", re.IGNORECASE | re.MULTILINE)


def options(variables: Mapping[str, Any]) -> str:
    """The options of ssh (ansible_ssh_args) by which an account's open session is used; empty where there is none.

    variables: the account's. The session may be one of its host, or of a name that leads there, such as the cluster's.
    """
    if "ansible_ssh_args" in variables or variables.get("ansible_connection", "ssh") != "ssh":
        return ""
    known = {key: str(value) for key, value in variables.items() if value is not None and not is_template(value)}
    try:
        arguments = ssh_arguments(known, "")
    except ValueError:
        return ""  # doctor says what is wrong with them
    if not _may_share(arguments):
        return ""
    there = _settings(arguments)
    for host in dict.fromkeys((arguments[-1], str(variables["cluster"]["id"]))):
        named = [*arguments[:-1], host]
        found = _settings(named)
        path = found.get("controlpath", "none")
        same = all(found.get(word) == there.get(word) for word in ("hostname", "user", "port"))
        if same and path != "none" and _ssh("-O", "check", *named) is not None:
            return shlex.join(["-o", "ControlMaster=no", "-o", f"ControlPath={path}"])
    return ""


def _may_share(arguments: list[str]) -> bool:
    """Whether the person's own settings say anything of sessions: most say nothing, and nobody need ask ssh."""
    named = arguments[arguments.index("-F") + 1 :][:1] if "-F" in arguments else []
    try:
        text = (Path(named[0]) if named else Path("~/.ssh/config").expanduser()).read_text(errors="replace")
    except (OSError, RuntimeError):
        return False
    return bool(MENTIONS.search(text))


def _settings(arguments: Iterable[str]) -> dict[str, str]:
    """What ssh would do, word to value; of a word that is there several times the last."""
    lines = (_ssh("-G", *arguments) or "").splitlines()
    return {word: value for word, _blank, value in (line.partition(" ") for line in lines)}


def _ssh(*arguments: str) -> str | None:
    """What ssh says without connecting; None where it fails."""
    from ansible_collections.hpc.onboard.plugins.plugin_utils._input.programs import ask  # most have no session

    said = ask(["ssh", *arguments], SECONDS)
    return said.output if said.code == 0 else None
