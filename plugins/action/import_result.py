# Copyright: hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Imports the result of a script that the user ran on an account, as if the result had come over ssh.

A script has three parts, each with a plan: onboard, audit and offboard. A result is of one part. The script has sealed
the result with a key of its own. A ScriptSession gives access to one account's variables; its answer, which usually
comes over ssh, comes from the result. The documentation is in plugins/modules/import_result.py.
"""

from __future__ import annotations

import json
import os
import shlex
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit import audit_checks
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.account import plan_audit
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.conversation import Conversation
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.delivery import deliver
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.plan import collect_places
from ansible_collections.hpc.onboard.plugins.plugin_utils._export_script import (
    script_result,
    script_rotation,
    script_text,
)
from ansible_collections.hpc.onboard.plugins.plugin_utils._export_script.script_session import ScriptSession
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.command_line import command_for
from ansible_collections.hpc.onboard.plugins.plugin_utils._roles.collect import DeclaredResources
from ansible_collections.hpc.onboard.plugins.plugin_utils._roles.table import ROLES
from ansible_collections.hpc.onboard.plugins.plugin_utils._state import exported_scripts
from ansible_collections.hpc.onboard.plugins.plugin_utils.account_action import AccountAction, Arguments, Result

if TYPE_CHECKING:
    from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.account_session import AccountSession
    from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.connection import Variables
    from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.answer import Notes
    from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.declaration import PlanEntry
    from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.result import AccountResult, AuditAccount

PLACES = collect_places(audit_checks.KINDS)
PLAN_SETTINGS = {"work": "imported", "receipt": True}  # of a plan that is not sent; jobs are not waited for


class ActionModule(AccountAction):
    """hpc.onboard.import_result"""

    _requires_connection = False
    ARGUMENTS = {"file": {"type": "str", "required": True}}

    def open_session(self, variables: Variables | None, arguments: Arguments) -> ScriptSession:
        """Return a session that sends nothing: its answer comes from the result.

        variables: Ansible's. arguments: not used.
        """
        return ScriptSession(self, variables, PLACES)

    def run_part(self, session: ScriptSession, arguments: Arguments) -> Result:  # type: ignore[override]
        """Import the result in the file that the task names. session: of the task's account."""
        return import_result(session, script_result.read_result(Path(os.path.expanduser(arguments["file"]))))

    def report_error(self, session: AccountSession, arguments: Arguments, message: str) -> Result:
        """Return the result after one of ERRORS. message: of the error. The other parameters are not used."""
        return {"kind": "result_imported", "failed": True, "msg": message}


def import_result(session: ScriptSession, result: script_result.ScriptResult) -> AccountResult | AuditAccount:
    """Verify the result of a script, and return the result of the task. Record the import unless in check mode.

    Raise AccountError if the result is not from a script for this account, or if an audit would now differ.
    """
    exported = exported_scripts.read_scripts(session.name)
    answer = result.verify(session.name, exported, exported_scripts.seal_key(session.name, result.script))
    if answer["error"]:
        raise AccountError(answer["error"])
    entries = exported["scripts"][result.script]["parts"][result.part]
    if len(answer["outcomes"]) != len(entries):
        raise AccountError(
            f"the number of outcomes in the result ({len(answer['outcomes'])}) differs from the number of resources in "
            f"the script ({len(entries)}), so nothing was imported"
        )
    session.connection.answer = answer
    if result.part == "audit":
        audit = _make_audit_result(session, entries)
        _record_import(session, result, entries)
        return audit
    # the second plan of a removal; None: the result is of the part onboard, which removes nothing
    plan_rest = _plan_no_rest if result.part == "offboard" else None
    declared = DeclaredResources(entries, notes=[], refused={})
    imported = deliver(session, declared, wait=0, settings=PLAN_SETTINGS, plan_rest=plan_rest)
    _record_import(session, result, entries)
    if result.part == "onboard" and not session.is_check_run:
        # the rotation of a key goes on with the files in which the script has installed the new key
        sentences = script_rotation.record_new_keys(session.name, entries)
        imported["remarks"] += [{"capability": "rotation", "text": text} for text in sentences]
    return {**imported, "kind": "result_imported"}


def _record_import(session: ScriptSession, result: script_result.ScriptResult, entries: list[PlanEntry]) -> None:
    """Record that the result was imported, and which keys the account has. Record nothing in check mode.

    entries: of the part of the script that has made the result.
    """
    if session.is_check_run:
        return
    with_secrets: list[PlanEntry] = [  # entries of an audit have the key's name next to the options
        {**entry, "options": {**entry["options"], "secret": entry["key"]}} if "key" in entry else entry
        for entry in entries
    ]
    imported: exported_scripts.ImportedResult = {
        "script": result.script,
        "part": result.part,
        "run": result.run,
        "when": result.when,
        "taken": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),  # the time of the import
    }
    keys = script_rotation.read_keys(with_secrets, session.connection.answer["outcomes"], result.part)
    exported_scripts.add_result(session.name, imported, keys)


def _plan_no_rest(_notes: Notes) -> list[PlanEntry]:
    """Return an empty second plan: a script removes everything with its first plan. _notes: of the receipt."""
    return []


def _make_audit_result(session: ScriptSession, entries: list[PlanEntry]) -> AuditAccount:
    """Return the audit of the account. Raise AccountError if an audit would now have other entries than the script.

    entries: of the script's audit.
    """
    audit = plan_audit(session, list(ROLES), resources=[])
    planned_now = json.loads(json.dumps(script_text.remove_keys(audit.entries)))  # in the types of JSON, as in a script
    if planned_now != entries:
        export = shlex.join(command_for("export-script", ["-l", session.name]))
        raise AccountError(
            "the desired state of this account, or hpc-onboard, has changed since the script was written, "
            f"so nothing was imported. To write a new script, run: {export}"
        )
    conversation = Conversation(session, audit.entries, PLAN_SETTINGS)
    row = audit.build_row(conversation.fetch_outcomes(wait=0), conversation)
    return {"kind": "audit_account", "changed": False, "audit": row}
