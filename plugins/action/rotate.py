# Copyright: hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One part of a rotation: the coordinator's, on this machine alone, or one account's share of the step that it named.

The rules of rotations are in plugin_utils/_rotation. The documentation is in plugins/modules/rotate.py.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from ansible.errors import AnsibleConnectionFailure
from ansible.parsing.dataloader import DataLoader
from ansible.utils.vars import load_extra_vars
from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery import answer, offboarding
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.account_session import AccountSession
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.conversation import Conversation
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.plan import Plan, key_of
from ansible_collections.hpc.onboard.plugins.plugin_utils._export_script.script_rotation import ImportedTargets
from ansible_collections.hpc.onboard.plugins.plugin_utils._roles.collect import refuse_unknown_settings
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation import results, targets
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.adapters import AccountEffects
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.coordinator import Coordinator, RotationRequest
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.ledger import Ledger, record_key
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.leftovers import LeftoverSearch
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.messages import WORDS
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.new_key import LARGEST, STDIN
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.next_step import RotationError, RotationStep
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.options import PREFIX, parse_options
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.ports import OutcomeUnknown, TargetUnreachable
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.steps import Rotation
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets import versions
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets.key_marks import account_marks
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets.version_store import VersionStore
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets.versions import VersionError
from ansible_collections.hpc.onboard.plugins.plugin_utils._state import receipts
from ansible_collections.hpc.onboard.plugins.plugin_utils.account_action import AccountAction, Arguments, Result

if TYPE_CHECKING:
    from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.connection import Variables
    from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.declaration import Options, PlanEntry
    from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.outcome import ResourceOutcome
    from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.rotation import (
        RotationState,
        ShareResult,
        SkippedShare,
    )
    from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.adapters import Work

NO_SHARE: SkippedShare = {"kind": "rotation_share", "changed": False, "skipped": True}
PREVIEW_KEY = "nvapi-" + "0" * 64  # what a preview pretends to write: another key than the one that is there


def _read_piped_key() -> bytes:
    """Return the key on standard input if rotate_key_file says so; at a terminal it is asked for instead."""
    file = load_extra_vars(DataLoader()).get("rotate_key_file")
    return sys.stdin.buffer.read(LARGEST) if file == STDIN and not sys.stdin.isatty() else b""


PIPED = _read_piped_key()  # here, in the main process: the processes of a run have no standard input


class ActionModule(AccountAction):
    """hpc.onboard.rotate"""

    _requires_connection = False
    ERRORS = (*AccountAction.ERRORS, RotationError, VersionError)
    ARGUMENTS = {
        "part": {"type": "str", "choices": ["lead", "account"], "required": True},
        "secret": {"type": "str", "default": ""},
        "lead": {"type": "dict", "default": {}},
        "last": {"type": "bool", "default": False},
    }

    def run_part(self, session: AccountSession, arguments: Arguments) -> Result:
        """Take the coordinator's steps, or an account's share of the next one."""
        if arguments["part"] == "lead":
            return self._lead(arguments, session)
        return _take_share(arguments["secret"], arguments["lead"], session)

    def report_error(self, session: AccountSession, arguments: Arguments, message: str) -> Result:
        """Return the result after one of ERRORS."""
        if arguments["part"] == "lead":
            return results.refused_lead(arguments["secret"], message)
        return {"kind": "rotation_share", "failed": True, "msg": message}

    def _lead(self, arguments: Mapping[str, Any], session: AccountSession) -> RotationState:
        secret = arguments["secret"]
        variables = session.variables
        options = parse_options({name: session.value(name) for name in variables if name.startswith(PREFIX)})
        hosts = {str(host): variables["hostvars"][host] for host in variables["ansible_play_hosts_all"]}
        declared = {host: _declared_keys(AccountSession(self, own)) for host, own in hosts.items()}
        reason = results.explain_no_secret(
            secret, {name for found in declared.values() for name in targets.secret_names(found)}
        )
        if reason and not (secret and (options.resume or options.retired or options.give_up)):
            raise AccountError(reason)
        names = [file.target for host, found in declared.items() for file in targets.find_files(host, secret, found)]
        by_hand = tuple(host for host, own in hosts.items() if _is_by_hand(own))
        coordinator = Coordinator(RotationRequest(secret, tuple(names), options, PIPED, by_hand))
        if session.is_check_run:  # the first preview is complete, and accounts are asked once
            before = arguments["lead"]
            return cast("RotationState", {**before, "checks": [], "step": {}}) if before else coordinator.preview()
        return coordinator.take_steps(arguments["lead"] or None, arguments["last"])


def _take_share(secret: str, lead: RotationState, session: AccountSession) -> ShareResult | SkippedShare:
    """Take one account's share of the step that the coordinator named."""
    step = lead.get("step") or {}
    if not step:
        return NO_SHARE
    files = targets.find_files(session.name, secret, _declared_keys(session))
    own = [file for file in files if file.target in step["targets"]]
    if not own:
        return NO_SHARE
    if session.is_check_run:
        return _preview(secret, lead, own, session)
    key = record_key()
    store = VersionStore(secret, key)

    def round_trip(files: list[targets.SecretFile], user: str, work: Work) -> list[ResourceOutcome]:
        registry = {} if work == "foresee" else lead["registry"]
        entries = targets.rotation_entries(files, user, registry, sorted(marks.values()))
        password = PREVIEW_KEY if work == "foresee" else session.key(user)
        outcomes = _send([*entries, *search.entries()], password, work, session)
        effects.leftovers = search.read_outcome(outcomes[len(files) :])
        return outcomes[: len(files)]

    known = store.load()
    by_program = AccountEffects(secret, own, lambda: str(lead["current"]), round_trip)
    effects = ImportedTargets(session.name, known, own) if _is_by_hand(session.variables) else by_program
    rotation = Rotation(secret, Ledger(key), store, effects, tuple(lead["wanted"]))
    marks = account_marks({secret: known} if known else {}, session.name, key)
    cluster = session.variables.get("cluster") or {}
    search = LeftoverSearch.of_step(rotation.situation(), step["name"], files, cluster, marks)
    taken = RotationStep(step["name"], step["version"], tuple(file.target for file in own))
    for target in taken.targets:
        if taken.name == "plan":
            rotation.look(target, taken)
        elif taken.name == "settle":
            rotation.read(target, taken)
        elif taken.name == "retire":
            rotation.confirm(target)
        elif taken.name == "abort":
            rotation.put_back(target, "abort", taken.version)
        else:
            rotation.deliver(target, taken)
    now = rotation.situation()
    states = now.states(now.version if taken.name == "retire" else taken.version)
    share = search.add_to(results.share_result(taken, own, effects.outcomes, states))
    is_nothing = not (share["failed"] or share.get("outcomes") or share.get("remarks"))
    return NO_SHARE if is_nothing else share  # the user has done it, or it holds no key: the coordinator says which


def _is_by_hand(variables: Variables) -> bool:
    """Return True if no program may enter the account."""
    return "by_hand" in (variables.get("account") or {})


def _declared_keys(session: AccountSession) -> list[PlanEntry]:
    """Return the resources of an account that hold a key; none of a sandbox, whose keys are simulated."""
    refuse_unknown_settings(session.variables)
    if session.sandbox:
        return []
    without = (session.variables.get("account") or {}).get("without", [])
    declared = targets.collect_key_entries(without, session.value)
    return [*declared, *_undeclared_keys(declared, session)]


def _undeclared_keys(declared: list[PlanEntry], session: AccountSession) -> list[PlanEntry]:
    """Return the entries of keys that hpc-onboard wrote for roles that are not declared any more."""
    kept = receipts.read_notes(session.name, sandbox=False)
    found: list[PlanEntry] = []
    for entry in offboarding.list_undeclared(declared, kept, session.cluster):
        note = kept[key_of(entry)]
        if note.get("secret") and (note["made"] or note.get("replaced")):
            options = {name: value for name, value in entry["options"].items() if name != "state"}
            held: Options = {**options, "secret": note["secret"]}
            found.append({**entry, "options": held})
    return found


def _preview(secret: str, lead: RotationState, files: list[targets.SecretFile], session: AccountSession) -> ShareResult:
    """Return what a rotation would write to the files of an account; nothing is kept or changed."""
    key, version = record_key(), lead["step"]["version"]
    known = VersionStore(secret, key).load() or versions.adopt(secret, "token")  # as a rotation would begin
    marks = account_marks({secret: known}, session.name, key)
    user = versions.keyring_name(secret, version or known.current.id)
    entries = targets.rotation_entries(files, user, {}, sorted(marks.values()))
    try:
        outcomes = _send(entries, session.key(user) if version else PREVIEW_KEY, "foresee", session)
    except (TargetUnreachable, OutcomeUnknown):
        return {"kind": "rotation_share", "changed": False, "failed": True, "msg": WORDS["unreachable"]}
    return results.preview_result(secret, files, outcomes)


def _send(entries: list[PlanEntry], password: str, work: Work, session: AccountSession) -> list[ResourceOutcome]:
    """Send one command over the connection for all files of the account, and return their outcomes."""
    plan = Plan.of(entries, lambda _name: password)
    conversation = Conversation(session, plan.entries, {"work": work, "seconds": 60})
    try:
        return plan.merged(conversation.outcomes(0))
    except AnsibleConnectionFailure as error:
        raise (OutcomeUnknown if session.connection.explain_failure(error).began else TargetUnreachable) from None
    except answer.NoAnswer:
        raise OutcomeUnknown from None
