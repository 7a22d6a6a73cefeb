# Copyright: hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Takes in the answer of a file that a person has run on an account which no program enters, as if it had come by ssh.

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
from ansible_collections.hpc.onboard.plugins.plugin_utils._by_hand import brought as _brought
from ansible_collections.hpc.onboard.plugins.plugin_utils._by_hand import program, rotation
from ansible_collections.hpc.onboard.plugins.plugin_utils._by_hand.session import PaperSession
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery import payload
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.account_session import Variables, prepare
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.answer import NoAnswer
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.conversation import Conversation
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.command_line import command
from ansible_collections.hpc.onboard.plugins.plugin_utils._roles.collect import Declared
from ansible_collections.hpc.onboard.plugins.plugin_utils._roles.table import PLACES, ROLES
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.ledger import LedgerError
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.next_step import RotationError
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets.versions import VersionError
from ansible_collections.hpc.onboard.plugins.plugin_utils._state import exports
from ansible_collections.hpc.onboard.plugins.plugin_utils._state.durable_files import StateError

if TYPE_CHECKING:
    from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.answer import Notes
    from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.declaration import PlanEntry
    from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.outcome import Outcome
    from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.result import AccountResult, AuditAccount

EVERYTHING = {**PLACES, **payload.places(watches.KINDS)}
TROUBLE = (AccountError, StateError, VersionError, LedgerError, RotationError, NoAnswer)
BY_FILE = {"work": "brought", "receipt": True}  # of what is not sent: nothing is waited for

prepare()


class ActionModule(ActionBase):  # type: ignore[misc]  # Ansible is untyped
    """hpc.onboard.import_result"""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: Variables | None = None) -> Mapping[str, object]:
        """Take the answer in."""
        super().run(tmp, task_vars)
        _validation, arguments = self.validate_argument_spec({"file": {"type": "str", "required": True}})
        session = PaperSession(self, task_vars, EVERYTHING)
        try:
            return _taken(session, _brought.read(Path(arguments["file"]).expanduser()))
        except TROUBLE as error:
            return {"kind": "brought", "failed": True, "msg": str(error)}


def _taken(session: PaperSession, brought: _brought.Brought) -> AccountResult | AuditAccount:
    known = exports.known(session.name)
    session.answer = brought.checked(session.name, known, exports.seal_key)
    if session.answer["error"]:
        raise AccountError(session.answer["error"])
    entries = known["written"][brought.export]["parts"][brought.part]
    outcomes = len(session.answer["outcomes"])
    if outcomes != len(entries):
        raise AccountError(f"the answer is of {outcomes} things, and {len(entries)} asked: {_brought.NOTHING}")
    if brought.part == "audit":
        seen = _audited(session, entries)
        _remember(session, brought, entries)
        return seen
    found = _set_up(session, entries, brought.part)
    _remember(session, brought, entries)
    if brought.part == "onboard" and not session.is_check_run:
        found["remarks"] += [{"capability": "rotation", "text": text} for text in rotation.noted(session.name, entries)]
    return found


def _remember(session: PaperSession, brought: _brought.Brought, entries: list[PlanEntry]) -> None:
    """Keep that this answer was taken, and which keys it showed."""
    if not session.is_check_run:
        exports.add_brought(session.name, _noted(brought), _keys(entries, session.answer["outcomes"], brought.part))


def _keys(entries: list[PlanEntry], outcomes: list[Outcome], part: str) -> dict[str, list[str]]:
    """The keys that the answer shows, by the files that they lie in; an audit's entries say their key by its name."""
    named: list[PlanEntry] = [
        {**entry, "options": {**entry["options"], "secret": entry["key"]}} if "key" in entry else entry
        for entry in entries
    ]
    return rotation.keys_seen(named, outcomes, looked=part == "audit")


def _noted(brought: _brought.Brought) -> exports.Brought:
    return {
        "export": brought.export,
        "part": brought.part,
        "run": brought.run,
        "when": brought.when,
        "taken": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }


def _set_up(session: PaperSession, entries: list[PlanEntry], part: str) -> AccountResult:
    """What was set up there, or taken out."""
    rest = _nothing_more if part == "offboard" else None
    found = session.carry_out(Declared(entries, [], {}), 0, BY_FILE, rest)
    return {**found, "kind": "brought"}


def _nothing_more(_notes: Notes) -> list[PlanEntry]:
    """What further answers could be asked for: none."""
    return []


def _audited(session: PaperSession, entries: list[PlanEntry]) -> AuditAccount:
    """What was seen there, judged here."""
    seen = prepared(session, list(ROLES), [])
    if json.loads(json.dumps(program.without_keys(seen.entries))) != entries:
        again = command("export-script", ["-l", session.name])
        raise AccountError(
            "what you want of this account has changed since the file was written, or hpc.onboard has."
            f" {_brought.NOTHING.capitalize()}. Write a new script: {shlex.join(again)}"
        )
    conversation = Conversation(session, seen.entries, BY_FILE)
    row = seen.row(conversation.outcomes(0), conversation)
    return {"kind": "audit_account", "changed": False, "audit": row}
