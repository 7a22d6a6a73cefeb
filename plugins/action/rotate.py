# Copyright: hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A part of a rotation: the lead, on this machine alone, or one account's share of the step that the lead named.

What a rotation is and what comes next stands in plugin_utils/_rotation. The documentation is in
plugins/modules/rotate.py.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from ansible.errors import AnsibleConnectionFailure
from ansible.parsing.dataloader import DataLoader
from ansible.plugins.action import ActionBase
from ansible.utils.vars import load_extra_vars
from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.plugin_utils._by_hand.rotation import Shown
from ansible_collections.hpc.onboard.plugins.plugin_utils._capabilities.collect import refuse_unknown
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery import answer, offboarding
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.account_session import (
    AccountSession,
    Variables,
    prepare,
)
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.conversation import Conversation
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.plan import Plan, key_of
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation import coordinator, results
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation import targets as _targets
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.adapters import Account
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.ledger import Ledger, record_key
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.leftovers import Sweep
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.messages import WORDS
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.new_key import LARGEST, STDIN
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.next_step import RotationError, Step
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.options import PREFIX, wishes
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.ports import Unanswered, Unreachable
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.steps import Rotation
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets import key_marks, versions
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets.version_store import Sidecar
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets.versions import VersionError
from ansible_collections.hpc.onboard.plugins.plugin_utils._state import receipts
from ansible_collections.hpc.onboard.plugins.plugin_utils._state.durable_files import StateError

if TYPE_CHECKING:
    from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.declaration import Options, PlanEntry
    from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.outcome import Outcome
    from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.rotation import NoShare, RotationState, Share
    from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.adapters import Work

ARGUMENTS = {
    "part": {"type": "str", "choices": ["lead", "account"], "required": True},
    "secret": {"type": "str", "default": ""},
    "lead": {"type": "dict", "default": {}},
    "last": {"type": "bool", "default": False},
}
NO_SHARE: NoShare = {"kind": "rotation_share", "changed": False, "skipped": True}
NOBODYS = "nvapi-" + "0" * 64  # what a look foresees to write: another key than the one that is there
TROUBLE = (AccountError, RotationError, StateError, VersionError, answer.NoAnswer)


def _piped() -> bytes:
    """The key on standard input, where it is wanted from there; a terminal is asked unseen instead."""
    wanted = load_extra_vars(DataLoader()).get("rotate_key_file")
    return sys.stdin.buffer.read(LARGEST) if wanted == STDIN and not sys.stdin.isatty() else b""


PIPED = _piped()  # here, in the main process: the processes of a run have no standard input
prepare()


class ActionModule(ActionBase):  # type: ignore[misc]  # Ansible is untyped
    """hpc.onboard.rotate"""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: Variables | None = None) -> Mapping[str, object]:
        """Take the part."""
        super().run(tmp, task_vars)
        _validation, arguments = self.validate_argument_spec(ARGUMENTS)
        session = AccountSession(self, task_vars)
        try:
            if arguments["part"] == "lead":
                return self._lead(arguments, session)
            return self._share(arguments["secret"], arguments["lead"], session)
        except TROUBLE as error:
            if arguments["part"] == "lead":
                return results.refused(arguments["secret"], str(error))
            return {"kind": "rotation_share", "failed": True, "msg": str(error)}

    # The lead

    def _lead(self, arguments: Mapping[str, Any], session: AccountSession) -> RotationState:
        secret = arguments["secret"]
        variables = session.variables
        wished = wishes({name: session.value(name) for name in variables if name.startswith(PREFIX)})
        hosts = {str(host): variables["hostvars"][host] for host in variables["ansible_play_hosts_all"]}
        declared = {host: _declared_keys(AccountSession(self, own)) for host, own in hosts.items()}
        why = results.no_secret(secret, {name for found in declared.values() for name in _targets.secrets(found)})
        goes_on = wished.resume or wished.retired or wished.give_up
        if why and not (secret and goes_on):
            raise AccountError(why)
        targets = [file.target for host, found in declared.items() for file in _targets.files(host, secret, found)]
        by_hand = tuple(host for host, own in hosts.items() if _is_by_hand(own))
        lead = coordinator.Lead(coordinator.Given(secret, tuple(targets), wished, PIPED, by_hand))
        if session.is_check_run:  # what the first lead foresees is all of it, and accounts are asked once
            before = arguments["lead"]
            return cast("RotationState", {**before, "checks": [], "step": {}}) if before else lead.foreseen()
        return lead.taken(arguments["lead"] or None, arguments["last"])

    # An account

    def _share(self, secret: str, lead: RotationState, session: AccountSession) -> Share | NoShare:
        step = lead.get("step") or {}
        if not step:
            return NO_SHARE
        files = _targets.files(session.name, secret, _declared_keys(session))
        mine = [file for file in files if file.target in step["targets"]]
        if not mine:
            return NO_SHARE
        if session.is_check_run:
            return _foreseen(secret, lead, mine, session)
        key = record_key()
        labels = Sidecar(secret, key)

        def trip(files: list[_targets.File], user: str, work: Work) -> list[Outcome]:
            registry = {} if work == "foresee" else lead["registry"]
            entries = _targets.entries(files, user, registry, sorted(marks.values()))
            password = NOBODYS if work == "foresee" else session.key(user)
            outcomes = _trip([*entries, *sweep.entries()], password, work, session)
            outside.leftovers = sweep.told(outcomes[len(files) :])
            return outcomes[: len(files)]

        known = labels.secret()
        entered = Account(secret, mine, lambda: str(lead["current"]), trip)
        outside = Shown(session.name, known, mine) if _is_by_hand(session.variables) else entered
        rotation = Rotation(secret, Ledger(key), labels, outside, tuple(lead["wanted"]))
        marks = key_marks.marks({secret: known} if known else {}, session.name, key)
        sweep = Sweep.of(rotation.situation(), step["name"], files, session.variables.get("cluster") or {}, marks)
        taken = Step(step["name"], step["version"], tuple(file.target for file in mine))
        for file in mine:
            if taken.name == "plan":
                rotation.look(file.target, taken)
            elif taken.name == "settle":
                rotation.read(file.target, taken)
            elif taken.name == "retire":
                rotation.confirm(file.target)
            elif taken.name == "abort":
                rotation.take_back(file.target, taken)
            else:
                rotation.deliver(file.target, taken)
        now = rotation.situation()
        states = now.states(now.version if taken.name == "retire" else taken.version)
        share = sweep.added(results.share_result(taken, mine, outside.outcomes, states))
        is_nothing = not (share["failed"] or share.get("outcomes") or share.get("remarks"))
        return NO_SHARE if is_nothing else share  # a person has done it, or it holds no key: the lead says which


def _is_by_hand(variables: Variables) -> bool:
    """Whether no program may enter the account."""
    return "by_hand" in (variables.get("account") or {})


def _declared_keys(session: AccountSession) -> list[PlanEntry]:
    """The resources of an account that hold a key. Raises AccountError."""
    refuse_unknown(session.variables)
    if session.sandbox:
        return []  # its keys are pretended
    declared = _targets.holders((session.variables.get("account") or {}).get("without", []), session.value)
    return [*declared, *_undeclared_keys(declared, session)]


def _undeclared_keys(declared: list[PlanEntry], session: AccountSession) -> list[PlanEntry]:
    """Return the entries of keys that hpc-onboard wrote for roles that are not declared any more."""
    kept = receipts.kept(session.name, sandbox=False)
    found: list[PlanEntry] = []
    for entry in offboarding.undeclared(declared, kept, session.cluster):
        note = kept[key_of(entry)]
        if note.get("secret") and (note["made"] or note.get("replaced")):
            options = {name: value for name, value in entry["options"].items() if name != "state"}
            held: Options = {**options, "secret": note["secret"]}
            found.append({**entry, "options": held})
    return found


def _foreseen(secret: str, lead: RotationState, files: list[_targets.File], session: AccountSession) -> Share:
    """Return what a rotation would write to the files of an account; nothing is kept or changed."""
    key, version = record_key(), lead["step"]["version"]
    known = Sidecar(secret, key).secret() or versions.adopt(secret, "token")  # as a rotation would begin
    marks = key_marks.marks({secret: known}, session.name, key)
    user = versions.username(secret, version or known.current.id)
    entries = _targets.entries(files, user, {}, sorted(marks.values()))
    try:
        outcomes = _trip(entries, session.key(user) if version else NOBODYS, "foresee", session)
    except (Unreachable, Unanswered):
        return {"kind": "rotation_share", "changed": False, "failed": True, "msg": WORDS["unreachable"]}
    return results.foreseen(secret, files, outcomes)


def _trip(entries: list[PlanEntry], password: str, work: Work, session: AccountSession) -> list[Outcome]:
    """One command over the connection for all files of the account."""
    plan = Plan.of(entries, lambda _name: password)
    conversation = Conversation(session, plan.entries, {"work": work, "seconds": 60})
    try:
        return plan.merged(conversation.outcomes(0))
    except AnsibleConnectionFailure as error:
        raise (Unanswered if session.connection.failure(error).began else Unreachable) from None
    except answer.NoAnswer:
        raise Unanswered from None
