# Copyright: hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Imports the result of a script that the user ran on an account, as if it had come over ssh.

The documentation is in plugins/modules/import_result.py.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from ansible.plugins.action import ActionBase
from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit import watches
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.account import prepared
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery import payload
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.account_session import Variables, prepare
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.answer import NoAnswer
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.conversation import Conversation
from ansible_collections.hpc.onboard.plugins.plugin_utils._export_script import (
    script_result,
    script_rotation,
    script_text,
)
from ansible_collections.hpc.onboard.plugins.plugin_utils._export_script.script_session import ScriptSession
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.command_line import command
from ansible_collections.hpc.onboard.plugins.plugin_utils._roles.collect import Declared
from ansible_collections.hpc.onboard.plugins.plugin_utils._roles.table import PLACES, ROLES
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.next_step import RotationError
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets.versions import VersionError
from ansible_collections.hpc.onboard.plugins.plugin_utils._state import exported_scripts

if TYPE_CHECKING:
    from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.answer import Notes
    from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.declaration import PlanEntry
    from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.result import AccountResult, AuditAccount

MODULES = {**PLACES, **payload.places(watches.KINDS)}
MESSAGE = {"work": "imported", "receipt": True}  # is not sent, and no job is waited for

prepare()


class ActionModule(ActionBase):  # type: ignore[misc]  # Ansible is untyped
    """hpc.onboard.import_result"""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: Variables | None = None) -> Mapping[str, object]:
        """Import the result."""
        super().run(tmp, task_vars)
        _validation, arguments = self.validate_argument_spec({"file": {"type": "str", "required": True}})
        session = ScriptSession(self, task_vars, MODULES)
        try:
            return import_result(session, script_result.read_result(Path(arguments["file"]).expanduser()))
        except (AccountError, VersionError, RotationError, NoAnswer) as error:
            return {"kind": "result_imported", "failed": True, "msg": str(error)}


def import_result(session: ScriptSession, result: script_result.ScriptResult) -> AccountResult | AuditAccount:
    """Verify the result, report it, and remember it unless in check mode."""
    known = exported_scripts.read_scripts(session.name)
    answer = result.verify(session.name, known, exported_scripts.seal_key(session.name, result.script))
    if answer["error"]:
        raise AccountError(answer["error"])
    entries = known["scripts"][result.script]["parts"][result.part]
    if len(answer["outcomes"]) != len(entries):
        numbers = f"{len(answer['outcomes'])} outcomes, and the script has {len(entries)} resources"
        raise AccountError(f"the result has {numbers}: {script_result.NOT_IMPORTED}")
    session.answer = answer
    if result.part == "audit":
        audit = _audit_result(session, entries)
        _remember(session, result, entries)
        return audit
    found = session.carry_out(Declared(entries, [], {}), 0, MESSAGE, _no_rest if result.part == "offboard" else None)
    _remember(session, result, entries)
    if result.part == "onboard" and not session.is_check_run:
        sentences = script_rotation.record_new_keys(session.name, entries)
        found["remarks"] += [{"capability": "rotation", "text": text} for text in sentences]
    return {**found, "kind": "result_imported"}


def _remember(session: ScriptSession, result: script_result.ScriptResult, entries: list[PlanEntry]) -> None:
    """Keep that the result was imported, and which keys it showed. An audit's entries have a key beside the options."""
    if session.is_check_run:
        return
    named: list[PlanEntry] = [
        {**entry, "options": {**entry["options"], "secret": entry["key"]}} if "key" in entry else entry
        for entry in entries
    ]
    imported: exported_scripts.ImportedResult = {
        "script": result.script,
        "part": result.part,
        "run": result.run,
        "when": result.when,
        "taken": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    keys = script_rotation.read_keys(named, session.answer["outcomes"], result.part)
    exported_scripts.add_result(session.name, imported, keys)


def _no_rest(_notes: Notes) -> list[PlanEntry]:
    """Return what a further plan would remove: a result has no further plan."""
    return []


def _audit_result(session: ScriptSession, entries: list[PlanEntry]) -> AuditAccount:
    """Return the audit of the account. Raise AccountError if the script has other entries than an audit has now."""
    audit = prepared(session, list(ROLES), [])
    if json.loads(json.dumps(script_text.remove_keys(audit.entries))) != entries:
        again = shlex.join(command("export-script", ["-l", session.name]))
        raise AccountError(
            "the desired state of this account, or hpc-onboard, has changed since the script was written."
            f" {script_result.NOT_IMPORTED.capitalize()}. Write a new script: {again}"
        )
    conversation = Conversation(session, audit.entries, MESSAGE)
    row = audit.row(conversation.outcomes(0), conversation)
    return {"kind": "audit_account", "changed": False, "audit": row}
