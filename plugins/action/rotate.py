# Copyright: hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One part of a rotation: the coordinator's, on this machine alone, or one account's share of the coordinator's step.

A rotation replaces a secret's current key by a new version, on all accounts. A target is a file on one account that
contains the key, named ACCOUNT:RESOURCE_TYPE. The coordinator decides the next step; its share on an account is the
account's targets of the step. The ledger is this machine's signed record of all steps. Marks are the fingerprints that
an account reports for the versions of a key. The receipt has a note for each resource that hpc-onboard created. A
session gives access to one account: its variables and its connection.

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
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.coordinator import Coordinator
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.ledger import Ledger, record_key
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.leftovers import LeftoverSearch
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.messages import STATE_TEXTS
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.new_key import LARGEST, STDIN
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.next_step import RotationStep
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.options import PREFIX, parse_options
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.ports import OutcomeUnknown, TargetUnreachable
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.steps import Rotation
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets import versions
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets.key_marks import list_account_marks
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets.session import SESSION
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets.version_store import VersionStore
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

NO_SHARE: SkippedShare = {"kind": "rotation_share", "changed": False, "skipped": True}  # nothing to do on the account
PREVIEW_KEY = "nvapi-" + "0" * 64  # the new key of a preview before the key is known; differs from any real key


def _read_piped_key() -> bytes:
    """Return the new key from standard input if the variable rotate_key_file is "-" (STDIN), else b"".

    Also return b"" if standard input is a terminal: the user is asked for the key later. LARGEST: the most bytes to
    read.
    """
    file = load_extra_vars(DataLoader()).get("rotate_key_file")
    return sys.stdin.buffer.read(LARGEST) if file == STDIN and not sys.stdin.isatty() else b""


PIPED_KEY = _read_piped_key()  # here, in the main process: the processes of the tasks have no standard input


class ActionModule(AccountAction):
    """hpc.onboard.rotate"""

    _requires_connection = False
    ARGUMENTS = {
        "part": {"type": "str", "choices": ["lead", "account"], "required": True},
        "secret": {"type": "str", "default": ""},  # the name of the key to rotate
        "lead": {"type": "dict", "default": {}},  # the coordinator's last result: the state of the rotation
        "last": {"type": "bool", "default": False},  # the last part of the run, in which unfinished work is a failure
    }

    def run_part(self, session: AccountSession, arguments: Arguments) -> Result:
        """Take the coordinator's steps, or an account's share of the step that the coordinator named.

        The coordinator's part is called "lead". session: of the task's account. arguments: see ARGUMENTS.
        """
        if arguments["part"] == "lead":
            return self._take_lead(arguments, session)
        return _take_share(arguments["secret"], arguments["lead"], session)

    def report_error(self, session: AccountSession, arguments: Arguments, message: str) -> Result:
        """Return the failed result of a part. message: of the error. session: not used."""
        if arguments["part"] == "lead":
            return results.build_failed_result(arguments["secret"], message)
        return {"kind": "rotation_share", "failed": True, "msg": message}

    def _take_lead(self, arguments: Mapping[str, Any], session: AccountSession) -> RotationState:
        """Take the coordinator's next steps, or preview them in check mode. Return the state for the accounts.

        arguments: of the task. session: of the task's host, for the variables of all accounts. Raise AccountError for a
        secret that no account declares, unless an open rotation of the secret is continued (options.resume), completed
        (retired) or cancelled (give_up).
        """
        secret, previous_state = arguments["secret"], arguments["lead"]
        variables = session.variables
        options = parse_options({name: session.value(name) for name in variables if name.startswith(PREFIX)})
        hosts = {str(host): variables["hostvars"][host] for host in variables["ansible_play_hosts_all"]}
        # the plan's entries of files with a key
        entries_by_host = {host: _list_keys(AccountSession(self, host_vars)) for host, host_vars in hosts.items()}
        declared_secrets = {name for entries in entries_by_host.values() for name in targets.secret_names(entries)}
        reason = results.explain_no_secret(secret, declared_secrets)  # empty if an account declares the secret
        if reason and not (secret and (options.resume or options.retired or options.give_up)):
            raise AccountError(reason)
        files = [
            file for host, entries in entries_by_host.items() for file in targets.find_files(host, secret, entries)
        ]
        all_targets = tuple(file.target for file in files)
        by_hand = tuple(host for host, host_vars in hosts.items() if _is_by_hand(host_vars))
        coordinator = Coordinator(secret, all_targets, options, PIPED_KEY, by_hand)
        if not session.is_check_run:
            return coordinator.take_steps(previous_state or None, is_last=arguments["last"])
        if previous_state:  # the first preview was complete: the accounts are not asked again
            return cast("RotationState", {**previous_state, "checks": [], "step": {}})
        return coordinator.preview()


def _take_share(secret: str, lead: RotationState, session: AccountSession) -> ShareResult | SkippedShare:
    """Take one account's share of the coordinator's step, and return the result.

    secret: the name of the key. lead: the state of the rotation, from the coordinator. session: of the account.
    """
    step_data = lead.get("step") or {}
    if not step_data:  # the coordinator has nothing to do on accounts
        return NO_SHARE
    files = targets.find_files(session.name, secret, _list_keys(session))
    own_files = [file for file in files if file.target in step_data["targets"]]
    if not own_files:  # the step is about files on other accounts
        return NO_SHARE
    if session.is_check_run:
        return _preview_share(secret, lead, own_files, session)
    share = _apply_share(secret, lead, files, own_files, session)
    is_empty = not (share["failed"] or share.get("outcomes") or share.get("remarks"))
    # after an empty share, the user has done the step, or no file has the key: the coordinator reports that
    return NO_SHARE if is_empty else share


def _apply_share(
    secret: str,
    lead: RotationState,
    files: list[targets.SecretFile],
    own_files: list[targets.SecretFile],
    session: AccountSession,
) -> ShareResult:
    """Take the coordinator's step on own_files, the files of the step on this account, and return the result.

    secret: the name of the key. lead: the state of the rotation. files: all files of the account with the key.
    """
    step_data = lead["step"]
    step = RotationStep(step_data["name"], step_data["version"], tuple(file.target for file in own_files))
    key = record_key()  # of this machine, for signatures and fingerprints
    store = VersionStore(secret, key)
    recorded = store.load()
    marks = list_account_marks({secret: recorded} if recorded else {}, session.name, key)

    def send_files(files: list[targets.SecretFile], keyring_name: str, work: Work) -> list[ResourceOutcome]:
        """Send the files with a key, and the search for leftovers of the old key, in one session.

        keyring_name: of the key. work: what the account does, such as "preview". Return the outcomes of the files. The
        variables effects and search are set below, before the first step calls this function.
        """
        registry = {} if work == "preview" else lead["registry"]  # a registry does not know the key of a preview
        entries = targets.rotation_entries(files, keyring_name, registry, sorted(marks.values()))
        password = _preview_key(recorded, step.version) if work == "preview" else session.key(keyring_name)
        outcomes = _send_entries([*entries, *search.entries()], password, work, session)
        effects.leftovers = search.store_outcome(outcomes[len(files) :])  # the search follows the files
        return outcomes[: len(files)]

    effects: AccountEffects | ImportedTargets
    if _is_by_hand(session.variables):  # the user imports the results of a script that runs on the account
        effects = ImportedTargets(session.name, recorded, own_files)
    else:  # the steps send files to the account
        effects = AccountEffects(secret, own_files, str(lead["current"]), send_files)
    all_targets = tuple(lead["wanted"])
    rotation = Rotation(secret, Ledger(key), store, effects, all_targets)
    cluster = session.variables.get("cluster") or {}
    search = LeftoverSearch.for_step(rotation.situation(), step.name, files, cluster, marks)
    for target in step.targets:
        _apply_step(rotation, target, step)  # records its result in the ledger
    situation = rotation.situation()
    # the version of the step "retire" is the old one, but its targets are confirmed with the new one
    states = situation.states(situation.version if step.name == "retire" else step.version)
    return search.add_to(results.build_share_result(step, own_files, effects.outcomes, states))


def _apply_step(rotation: Rotation, target: str, step: RotationStep) -> None:
    """Take the coordinator's step on one target. The rotation records the result."""
    if step.name == "plan":  # is the target ready for the new key?
        rotation.check_target(target, step)
    elif step.name == "settle":  # before the new key becomes the current one: does the target have it?
        rotation.read_target(target, step)
    elif step.name == "retire":  # the old key was deactivated: does the new one work?
        rotation.confirm_target(target)
    elif step.name == "abort":  # the rotation was cancelled
        rotation.put_back(target, "abort", step.version)
    else:  # the new key is installed: "canary" on the first target, as a test, then "spread" on the others
        rotation.deliver(target, step)


def _is_by_hand(variables: Variables) -> bool:
    """Return True if no program may log in to the account. variables: Ansible's, of the account."""
    return "by_hand" in (variables.get("account") or {})


def _list_keys(session: AccountSession) -> list[PlanEntry]:
    """Return the plan's entries of an account's files with a key; [] for a sandbox, whose keys are simulated."""
    refuse_unknown_settings(session.variables)  # raises AccountError for a misspelt setting of a role
    if session.sandbox:
        return []
    without = (session.variables.get("account") or {}).get("without", [])  # roles to skip
    declared = targets.collect_key_entries(without, session.value)
    return [*declared, *_list_undeclared_keys(declared, session)]


def _list_undeclared_keys(declared: list[PlanEntry], session: AccountSession) -> list[PlanEntry]:
    """Return the plan's entries of files with a key that hpc-onboard wrote and that are no longer declared.

    declared: the entries that the roles declare.
    """
    notes = receipts.read_notes(session.name, is_sandbox=False)
    undeclared: list[PlanEntry] = []
    for entry in offboarding.list_undeclared(declared, notes, session.cluster):
        note = notes[key_of(entry)]
        was_written_here = note["made"] or note.get("replaced")  # "replaced": in place of a key or file of the user
        if note.get("secret") and was_written_here:
            # without the state "absent", because the rotation keeps the file and replaces its key
            options: Options = {name: value for name, value in entry["options"].items() if name != "state"}
            undeclared.append({**entry, "options": {**options, "secret": note["secret"]}})
    return undeclared


def _preview_key(recorded: versions.Secret | None, version: str) -> str:
    """Return the new key of a preview: PREVIEW_KEY, or the key that the user gave if both machines may have rotated it.

    An account that already has the new key, from a rotation on another machine, is then ready for this rotation. A
    machine that has no rotation of the key imports the records instead. recorded: the versions on this machine.
    version: the id of the new version, or empty.
    """
    if recorded is None or len(recorded.versions) == 1:  # only the first version, which no rotation created
        return PREVIEW_KEY
    return SESSION.find_kept(versions.keyring_name(recorded.name, version)) or PREVIEW_KEY


def _preview_share(
    secret: str, lead: RotationState, files: list[targets.SecretFile], session: AccountSession
) -> ShareResult:
    """Return what a rotation would write to the files of an account. Nothing is recorded or changed.

    secret: the name of the key. lead: the state of the rotation, from the coordinator.
    """
    key, version = record_key(), lead["step"]["version"]  # the version is empty if its key does not exist yet
    # without a recorded version: as at the start of a rotation
    recorded = VersionStore(secret, key).load() or versions.adopt(secret, kind="token")
    marks = list_account_marks({secret: recorded}, session.name, key)
    keyring_name = versions.keyring_name(secret, version or recorded.current.id)
    entries = targets.rotation_entries(files, keyring_name, registry={}, known=sorted(marks.values()))
    password = session.key(keyring_name) if version else _preview_key(recorded, version)
    try:
        outcomes = _send_entries(entries, password, "preview", session)
    except (TargetUnreachable, OutcomeUnknown):
        return {"kind": "rotation_share", "changed": False, "failed": True, "msg": STATE_TEXTS["unreachable"]}
    return results.build_preview_result(secret, files, outcomes)


def _send_entries(
    entries: list[PlanEntry], password: str, work: Work, session: AccountSession
) -> list[ResourceOutcome]:
    """Send the entries, with this key (password), in one session, and return their outcomes.

    work: what the account does, such as "preview". Raise TargetUnreachable, or OutcomeUnknown if the account may have
    begun to change its files.
    """
    plan = Plan.of(entries, read_key=lambda _name: password)
    conversation = Conversation(session, plan.entries, {"work": work, "seconds": 60})
    try:
        return plan.add_unmet(conversation.fetch_outcomes(wait=0))  # adds the outcomes of entries that were not sent
    except AnsibleConnectionFailure as error:
        may_have_begun = session.connection.explain_failure(error).began
        raise (OutcomeUnknown if may_have_begun else TargetUnreachable) from None
    except answer.NoAnswer:  # the account was reached, but did not report its outcomes
        raise OutcomeUnknown from None
