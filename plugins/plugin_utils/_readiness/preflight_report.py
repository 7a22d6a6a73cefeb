# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""All accounts of a preflight together: a document for programs, and whether the run fails by it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .._documents.result import PreflightReport
from .._input import extra_vars
from .._state import document_file
from .._text.ssh_words import STATES

SCHEMA = "hpc.onboard/preflight/1.0"
SETTINGS: dict[str, extra_vars.Reader] = {"preflight_output": extra_vars.text, "preflight_patience": extra_vars.number}
NOT_LOOKED_AT = {"state": "not_ready", "text": "it was not looked at", "next": "run again with -vv"}
PARTS = ("state", "text", "next")


def settings(variables: Mapping[str, Any], value: extra_vars.Value) -> dict[str, Any]:
    """What a person wants of this run. Raises AccountError."""
    return extra_vars.read("preflight", SETTINGS, variables, value)


def reported(variables: Mapping[str, Any], value: extra_vars.Value, moment: str) -> PreflightReport:
    """The report over all accounts of the play. moment: of the end, ISO 8601. Raises AccountError."""
    wishes = settings(variables, value)
    names = sorted(variables.get("ansible_play_hosts_all") or [])
    found = {name: dict(variables["hostvars"][name].get("looked") or {}) for name in names}
    rows = [{"name": name, **_row(found[name])} for name in names]
    shut = [row["name"] for row in rows if row["state"] != "open"]
    if wishes.get("preflight_output"):
        document = {"schema": SCHEMA, "finished": moment, "accounts": rows}
        document_file.write("preflight_output", Path(wishes["preflight_output"]), document)
    said = f"{len(shut)} of {len(rows)} accounts cannot be entered now" if shut else "all accounts can be entered"
    return {"kind": "preflight_report", "changed": False, "failed": bool(shut), "msg": said, "accounts": rows}


def _row(result: Mapping[str, Any]) -> dict[str, str]:
    """What came of one account; an error of Ansible's own is one that was not looked at."""
    if result.get("state") not in STATES:
        return {**NOT_LOOKED_AT, "text": str(result.get("msg") or NOT_LOOKED_AT["text"])}
    return {part: str(result.get(part, "")) for part in PARTS}
