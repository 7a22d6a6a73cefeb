# Copyright: hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes a script that sets up an account to which no program may log in. The user runs the script there.

The script contains a plan for each of its parts: onboard, audit and offboard. It seals its results with a key of its
own, by which the import recognises them. When the script runs, it asks the user for the keys that its plans need. A
ScriptSession gives access to one account's variables, and to the last plan that was made for the account.

The documentation is in plugins/modules/export_script.py.
"""

from __future__ import annotations

import os
import secrets
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ansible_collections.hpc.onboard.plugins.module_utils._core import files
from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit import audit_checks
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.account import plan_audit
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery import offboarding
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.conversation import Conversation
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.plan import Plan, collect_places, skip_missing_keys
from ansible_collections.hpc.onboard.plugins.plugin_utils._export_script import script_rotation, script_text
from ansible_collections.hpc.onboard.plugins.plugin_utils._export_script.script_session import ScriptSession
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.collection import read_version
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.command_line import expand_home, relative_path
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.ssh_arguments import find_login, scp_arguments
from ansible_collections.hpc.onboard.plugins.plugin_utils._roles.table import ROLES
from ansible_collections.hpc.onboard.plugins.plugin_utils._state import exported_scripts, receipts
from ansible_collections.hpc.onboard.plugins.plugin_utils.account_action import AccountAction, Arguments, Result

if TYPE_CHECKING:
    from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.connection import Variables
    from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.declaration import PlanEntry
    from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.result import ScriptExported

PLACES = collect_places(audit_checks.KINDS)  # import paths of the resource types and audit checks in the script
FIRST_LINES = b'#!/usr/bin/env python3\n"""hpc.onboard '


class ActionModule(AccountAction):
    """hpc.onboard.export_script"""

    _requires_connection = False
    ARGUMENTS = {"output": {"type": "str", "default": ""}}

    def open_session(self, variables: Variables | None, arguments: Arguments) -> ScriptSession:
        """Return a session that keeps the plan instead of sending it. variables: Ansible's. arguments: not used."""
        return ScriptSession(self, variables, PLACES)

    def run_part(self, session: ScriptSession, arguments: Arguments) -> Result:  # type: ignore[override]
        """Write the script to the path in arguments["output"]. session: of the account. Return the task's result."""
        try:
            return export_script(session, arguments["output"])
        except OSError as error:
            path = error.filename or arguments["output"]
            reason = (
                f"hpc-onboard could not read or write {path} ({error.strerror}). Check the path's permissions and free"
                " space, then try again"
            )
            return self.report_error(session, arguments, message=reason)


def export_script(session: ScriptSession, output: str) -> ScriptExported:
    """Write the script of an account, and record the script. Return the result of the task. Raise AccountError.

    output: the path of the script; if empty, the path is made from the account's name.
    """
    if session.sandbox:
        raise AccountError("the account is a sandbox on this machine and needs no script. Run hpc-onboard onboard")
    if output and len(session.variables.get("ansible_play_hosts_all") or ()) > 1:
        raise AccountError("--output needs a single account. Name one account, or remove --output")
    target = Path(expand_home(output or f"onboard-{session.name.replace('@', '-')}.py")).absolute()
    user, _host = find_login(session.connection.variables, session.name)
    if not user:
        raise AccountError("the user name of this account is unknown. Set ansible_user in the account's 'vars:'")
    declared = skip_missing_keys(session.collect(list(ROLES), resources=[]), session.key)
    planned_parts = _plan_parts(session, declared.resources)
    parts = {  # as they would be sent to the account
        "onboard": _make_sent_entries(session, planned_parts["onboard"]),
        "audit": planned_parts["audit"],
        "offboard": _make_sent_entries(session, planned_parts["offboard"]),
    }
    script_id = secrets.token_hex(8)
    keys = sorted({entry["key"] for part in parts.values() for entry in part if "key" in entry})
    data: script_text.ScriptData = {
        "schema": script_text.SCHEMA,
        "script": script_id,
        "account": session.name,
        "user": user,
        "ssh_target": scp_arguments(session.connection.variables, session.name),
        "seal_key": exported_scripts.seal_key(session.name, script_id).hex(),
        "questions": {key: _describe_key(key) for key in keys},
        "plan": _make_shared_plan(session),
        "parts": parts,
    }
    now = datetime.now(UTC)
    made = f"{now:%Y-%m-%d}"
    text = script_text.render_script(data, kinds=PLACES, file=target.name, made=made, version=read_version())
    # the import of a result needs the entries as they were planned, not as they are sent
    exported_scripts.add_script(session.name, script_id, {"made": f"{now:%Y-%m-%dT%H:%M:%SZ}", "parts": planned_parts})
    _write_script(target, text.encode())
    return {
        "kind": "script_exported",
        "changed": True,
        "file": relative_path(str(target)),
        "ssh_target": data["ssh_target"],
        "typed": session.connection.ssh_arguments,
        "questions": [data["questions"][key] for key in keys],
        "notes": declared.notes,
    }


def _plan_parts(session: ScriptSession, declared: list[PlanEntry]) -> dict[str, list[PlanEntry]]:
    """Return the plan's entries of each part of the script. declared: the entries of the roles."""
    notes = receipts.read_notes(session.name, is_sandbox=False)  # this machine's copy of the account's receipt
    return {
        # during a rotation, the entries name the new version of the key
        "onboard": script_rotation.name_new_keys(session.name, declared),
        "audit": script_text.remove_keys(plan_audit(session, list(ROLES), resources=[]).entries),
        "offboard": offboarding.plan_removal(declared, chosen=declared, notes=notes, cluster=session.cluster),
    }


def _make_sent_entries(session: ScriptSession, entries: list[PlanEntry]) -> list[PlanEntry]:
    """Return the entries of a plan as they would be sent to change the account, without the values of keys."""
    settings = {"work": "reconcile"}  # the plan changes the account
    # the session of a script does not send the plan, but keeps it in connection.sent
    Conversation(session, Plan.of(entries, session.key).entries, settings).fetch_outcomes(wait=0)
    return script_text.remove_keys((session.connection.sent or {})["resources"])


def _make_shared_plan(session: ScriptSession) -> dict[str, Any]:
    """Return the fields that the plans of all parts share, without fingerprints of keys ("held").

    The script makes the fingerprint when the user types the key. The field "keys" maps the name of a key to its fields.
    """
    sent = session.connection.sent or {}  # the last plan that the session kept
    plan = {name: value for name, value in sent.items() if name not in ("resources", "work", "receipt")}
    keys = {
        key: {name: value for name, value in fields.items() if name != "held"} for key, fields in plan["keys"].items()
    }
    return {**plan, "keys": keys}


def _describe_key(key: str) -> str:
    """Return a description of a key for the question to the user. key: its name in the keyring."""
    name, _at, new_version = key.partition("@")
    return f"the new key '{name}' of the open rotation" if new_version else f"the key '{name}'"


def _write_script(target: Path, content: bytes) -> None:
    """Write the content of the script to the target, for its owner alone.

    Raise AccountError if the target exists and is not an exported script, or is a symbolic link.
    """
    if target.is_symlink() or (target.exists() and not _is_script(target)):
        raise AccountError(
            f"{relative_path(str(target))} already exists and is not an exported script. Choose another path with -o"
        )
    folder = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        files.replace(folder, target.name, content, mode=0o600, attributes={})
    finally:
        os.close(folder)


def _is_script(target: Path) -> bool:
    """Return True if the target is a file that begins as the scripts that this module writes."""
    if not target.is_file():
        return False
    with target.open("rb") as stream:
        return stream.read(len(FIRST_LINES)) == FIRST_LINES
