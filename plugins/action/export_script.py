# Copyright: hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes what would be sent to an account as a file that a person runs there, where no program may log in.

The documentation is in plugins/modules/export_script.py.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ansible.plugins.action import ActionBase
from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit import watches
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.account import prepared
from ansible_collections.hpc.onboard.plugins.plugin_utils._by_hand import program, rotation
from ansible_collections.hpc.onboard.plugins.plugin_utils._by_hand.session import PaperSession
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery import offboarding, payload
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.account_session import Variables, prepare
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.conversation import Conversation
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.plan import Plan, left_out
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.collection import version
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.command_line import near
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.ssh_arguments import copied, login
from ansible_collections.hpc.onboard.plugins.plugin_utils._roles.table import PLACES, ROLES
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.ledger import LedgerError
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets.versions import VersionError
from ansible_collections.hpc.onboard.plugins.plugin_utils._state import exports, receipts
from ansible_collections.hpc.onboard.plugins.plugin_utils._state.durable_files import StateError

if TYPE_CHECKING:
    from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.declaration import PlanEntry
    from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.result import Exported

EVERYTHING = {**PLACES, **payload.places(watches.KINDS)}
TROUBLE = (AccountError, StateError, VersionError, LedgerError)
BEGINNING = b'#!/usr/bin/env python3\n"""hpc.onboard '

prepare()


class ActionModule(ActionBase):  # type: ignore[misc]  # Ansible is untyped
    """hpc.onboard.export_script"""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: Variables | None = None) -> Mapping[str, object]:
        """Write the file."""
        super().run(tmp, task_vars)
        _validation, arguments = self.validate_argument_spec({"output": {"type": "str", "default": ""}})
        session = PaperSession(self, task_vars, EVERYTHING)
        try:
            return _written(session, arguments["output"])
        except TROUBLE as error:
            return {"kind": "account", "failed": True, "msg": str(error)}
        except OSError as error:
            text = f"{error.filename or arguments['output']}: {error.strerror}: put that right, then run again"
            return {"kind": "account", "failed": True, "msg": text}


def _written(session: PaperSession, output: str) -> Exported:
    if session.sandbox:
        raise AccountError("this is a sandbox on this machine: run onboard, and nothing needs to be written")
    if output and len(session.variables.get("ansible_play_hosts_all") or ()) > 1:
        raise AccountError("a file is for one account: name the one that it is for")
    target = Path(output or f"onboard-{session.name.replace('@', '-')}.py").expanduser().absolute()
    names = list(ROLES)
    declared = left_out(session.collect(names, []), session.key)
    entries = rotation.with_versions(session.name, declared.resources)
    parts = {"onboard": _sent(session, entries)}
    plan = {word: value for word, value in (session.sent or {}).items() if word not in ("resources", "work", "receipt")}
    parts["audit"] = program.without_keys(prepared(session, names, []).entries)
    notes = receipts.kept(session.name, sandbox=False)
    going = offboarding.to_take_out(declared.resources, declared.resources, notes, session.cluster)
    parts["offboard"] = _sent(session, going)
    user, _host = login(session.connection.variables, session.name)
    if not user:
        raise AccountError("the user name there is not known: write ansible_user into the account's vars")
    moment, export = datetime.now(UTC), secrets.token_hex(8)
    keys = sorted({one["key"] for part in parts.values() for one in part if "key" in one})
    document: program.Export = {
        "schema": program.SCHEMA,
        "export": export,
        "account": session.name,
        "user": user,
        "way": copied(session.connection.variables, session.name),
        "seal": exports.seal_key(session.name, export).hex(),
        "asks": {key: _question(key) for key in keys},
        "plan": {**plan, "keys": {name: _without_marks(one) for name, one in plan["keys"].items()}},
        "parts": parts,
    }
    text = program.written(document, EVERYTHING, target.name, f"{moment:%Y-%m-%d}", version())
    remembered: exports.Written = {
        "made": f"{moment:%Y-%m-%dT%H:%M:%SZ}",
        "parts": {"onboard": entries, "audit": parts["audit"], "offboard": going},
    }
    exports.add_written(session.name, export, remembered)
    _put(target, text.encode())
    return {
        "kind": "exported",
        "changed": True,
        "file": near(str(target)),
        "way": document["way"],
        "typed": session.connection.typed,
        "asks": [document["asks"][key] for key in keys],
        "notes": declared.notes,
    }


def _sent(session: PaperSession, entries: list[PlanEntry]) -> list[PlanEntry]:
    """The entries as they would be sent, without keys."""
    Conversation(session, Plan.of(entries, session.key).entries, {"work": "reconcile"}).outcomes(0)
    return program.without_keys((session.sent or {})["resources"])


def _without_marks(known: Mapping[str, Any]) -> dict[str, Any]:
    """What is said of a key's rotations, without its fingerprint: that one is made where the key is typed."""
    return {word: value for word, value in known.items() if word != "held"}


def _question(key: str) -> str:
    name, _at, new = key.partition("@")
    return f"the new key '{name}' of the open rotation" if new else f"the key '{name}'"


def _put(target: Path, content: bytes) -> None:
    """Write the file for its owner alone; another file of that name stays."""
    if target.is_symlink() or (target.exists() and not _is_ours(target)):
        raise AccountError(f"{near(str(target))} is there, and was not written by export: name another file by -o")
    from ansible_collections.hpc.onboard.plugins.module_utils._core import files

    folder = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        files.replace(folder, target.name, content, 0o600, {})
    finally:
        os.close(folder)


def _is_ours(target: Path) -> bool:
    if not target.is_file():
        return False
    with target.open("rb") as stream:
        return stream.read(len(BEGINNING)) == BEGINNING
