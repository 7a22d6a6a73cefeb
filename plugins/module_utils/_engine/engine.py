# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The engine, which runs on the account: it takes a plan and returns one answer.

Everything is examined first. Only if something may change, the lock is taken and everything is examined again under it,
because the first result may be stale by then. So a run that has nothing to do writes nothing, not even a lock file.

The receipt is the account's record of what hpc-onboard created: a note for each resource, and for each key a mark of
its last replacement (rotation). Offboarding removes what has a note; the resources that must stay are in Task.kept.
"""

import json
import os
import sys
import time
from typing import Any, Dict, List, Mapping, Tuple

from .._core.account import Account
from .._core.document_version import refusal
from .._core.errors import AccountError, FileSystemHangs, as_account_error, describe_bug
from .._core.host import Host
from .._core.resource import CHANGES, FAILURES, Resource, State, reconcile
from .._core.values import note_key
from .._receipt import notes, receipt, rotations
from .isolation import Document, Pass, run_isolated
from .plan import LOCK, SECONDS, Kinds, Loop, build_resource, create_sandbox
from .task import NoteChanges, Observation, Task, mark_adopted

SCHEMA = "hpc.onboard/answer/1.0"
PLAN = "hpc.onboard/plan/1.0"
POLL_SECONDS = 0.5  # between two examinations of a background job


def answer(plan: Mapping[str, Any], kinds: Kinds) -> Document:
    """Carry out a plan and return the answer. An error that stops the whole plan is stored as the answer's 'error'.

    plan, answer: JSON objects; docs/schemas/plan.schema.json and answer.schema.json explain their fields. kinds: the
    resource types by name. The plan's 'work' selects what the engine does: reconcile changes what differs; preview
    returns the outcomes of these changes without making them; examine only compares; follow examines until a background
    job reaches its next step. With 'receipt', created resources are noted; a resource that cannot be noted is not
    created. With 'only_made', for offboarding, resources stay that hpc-onboard did not create for this cluster alone.
    """
    started = time.time()
    result: Document = {"schema": SCHEMA, "outcomes": [], "error": None, "receipt": None}
    try:
        problem = refusal(plan.get("schema", PLAN), PLAN, "the plan", "run hpc-onboard again")
        if problem:
            raise AccountError(problem)
        account = _open_account(plan)
        result["account"] = {"home": account.home, "shell": account.shell}
        outcomes_of_fixes, plan = _apply_fixes(plan, kinds, account)
        task = make_task(plan, kinds, account)
        if plan.get("only_made"):
            from .ownership import decide_removals  # imported late: few runs remove anything

            task = decide_removals(task)
        observation = WORKS[plan["work"]](task)
        has_failed = any(outcome["status"] == "failed" for outcome in [observation.receipt, *observation.outcomes])
        if plan.get("ticket") and has_failed:
            account.check_ticket()  # a home that needs a Kerberos ticket: a missing one explains the failure better
        if plan.get("receipt") and observation.receipt["status"] not in FAILURES:
            mark_adopted(task, observation)
        result["outcomes"] = outcomes_of_fixes + _select_public_fields(plan, observation.outcomes)
        if plan.get("receipt"):
            is_run = plan["work"] == "reconcile"  # else nothing was changed
            changes = _collect_note_changes(task, observation.outcomes, is_done=True) if is_run else {}
            if plan.get("notes") and not plan.get("only_made"):  # ownership.py has used these notes for offboarding
                changes = _recover_lost_notes(task, observation, changes)
            result["receipt"] = receipt.to_answer(_update_receipt(task, observation, changes))
    except AccountError as error:
        result["error"] = str(error)
    except OSError as error:
        result["error"] = str(as_account_error(error, "starting the work on the account"))
    except Exception as error:
        result["error"] = describe_bug(error)
    result.update(python="%d.%d.%d" % sys.version_info[:3], host=os.uname().nodename)
    return dict(result, seconds=round(time.time() - started, 3))


def _recover_lost_notes(task: Task, observation: Observation, changes: NoteChanges) -> NoteChanges:
    """Return the changes, with notes from the copy on the user's machine if the account has lost its receipt."""
    from .._receipt import lost_receipt

    copied_notes = task.plan["notes"]
    if not lost_receipt.shows_loss(task.make_host(), notes.parse_notes(observation.receipt["after"]), copied_notes):
        return changes
    return {**changes, **lost_receipt.recover_notes(changes, copied_notes)}


def _open_account(plan: Mapping[str, Any]) -> Account:
    """Return the plan's account. If the plan only examines, the user's start-up files run without write access."""
    guard = None
    if plan["work"] == "examine" and not plan.get("sandbox"):  # a sandbox starts no shell
        from .._core.sandboxed_program import enter_sandbox  # imported late: most runs need no guard

        guard = enter_sandbox
    account = Account.of_this_process(plan.get("sandbox"), guard)
    account.facts.update(plan.get("found") or {})  # facts about the account, observed by earlier runs
    return account


def _apply_fixes(plan: Mapping[str, Any], kinds: Kinds, account: Account) -> Tuple[List[Document], Mapping[str, Any]]:
    """Apply the plan's fixes before a login shell reads the files; return their outcomes, and the plan without them."""
    count = int(plan.get("fixes") or 0)  # that many of the plan's first resources are fixes
    if not count:
        return [], plan
    from .fixing import apply_fixes  # imported late: few runs apply fixes

    plan_of_fixes = dict(plan, resources=plan["resources"][:count])
    task = make_task(plan_of_fixes, kinds, account)
    outcomes = apply_fixes(task.resources, task.make_host, task.seconds, is_preview=plan.get("fixes_work") == "preview")
    return _select_public_fields(plan_of_fixes, outcomes), dict(plan, resources=plan["resources"][count:])


def make_task(plan: Mapping[str, Any], kinds: Kinds, account: Account) -> Task:
    """Return the task for a plan. Raise AccountError for an unknown resource type or an invalid option."""
    resources = [build_resource(entry, kinds) for entry in plan["resources"]]
    root = str((plan.get("sandbox") or {}).get("root", ""))
    fingerprint_key = bytes.fromhex(plan["fingerprint_key"])
    receipt_copy = receipt.check_notes(plan.get("notes") or {})
    if root:
        create_sandbox(root, plan["sandbox"])

    def make_host() -> Host:  # a new host for each pass, because a host caches what it has read
        host = Host(account, fingerprint_key, root)
        host.is_following = plan["work"] == "follow"
        host.receipt_copy = receipt_copy
        return host

    for resource in resources:  # if a path has a variable, start the login shell now, not in each child process
        try:
            resource.with_expanded_paths(make_host())
        except AccountError:
            pass  # the pass will report the error as the resource's outcome
    key_id, keys = notes.fingerprint_key_id(plan["fingerprint_key"]), plan.get("keys") or {}
    guard = rotations.KeyGuard(plan["resources"], resources, keys, key_id, may_replace=bool(plan.get("replace")))
    return Task(plan, resources, make_host, float(plan.get("seconds") or SECONDS), key_guard=guard)


def _select_public_fields(plan: Mapping[str, Any], outcomes: List[Document]) -> List[Document]:
    """Return the outcomes as the answer contains them: without 'folders', with the role ('capability')."""
    return [
        {**{name: value for name, value in outcome.items() if name != "folders"}, "capability": entry["capability"]}
        for entry, outcome in zip(plan["resources"], outcomes)
    ]


# -- kinds of work -----------------------------------------------------------------------------


def _examine(task: Task) -> Observation:
    """Compare the account with the desired state, without changes."""
    return task.examine_all(task.kept.outcomes)


def _preview(task: Task) -> Observation:
    """Return what a run would do. If the receipt could not note its changes, all changes are blocked."""
    preview = _simulate_run(task, task.kept.outcomes)
    if not task.plan.get("receipt") or not preview.has_changes():
        return preview
    changes = _collect_note_changes(task, preview.outcomes, is_done=False)
    receipt_outcome = task.examine_only([receipt.Receipt(changes, task.cluster)])[0]
    if receipt_outcome["status"] in FAILURES:
        return Observation(receipt_outcome, _block_changes(preview.outcomes), has_drafts=False)
    return preview


def _simulate_run(task: Task, final_outcomes: Dict[int, Document]) -> Observation:
    """Return what a run would do: reconcile on a host with changes in memory only. final_outcomes: see Task.run_all."""
    from .._core.dry_run import DryRunHost  # imported late: compiling takes time, and most runs only examine

    return task.run_all(lambda: DryRunHost(task.make_host()), reconcile, locked=False, final_outcomes=final_outcomes)


def _reconcile(task: Task) -> Observation:
    """Note in the receipt what will be created, change what differs, and return the outcomes."""
    before = _examine(task)
    if not before.has_changes() and not _has_lock_file(task.make_host()):  # taking the lock removes a stale file
        return before
    # on a file system that hangs, a second attempt would only cost time
    unknown = {position: outcome for position, outcome in enumerate(before.outcomes) if outcome["status"] == "unknown"}
    final_outcomes = {**unknown, **task.kept.outcomes}
    loop: Loop = reconcile
    if task.plan.get("receipt") or task.key_guard.names:  # the receipt also has the marks of rotations
        from .write_ahead import restrict_to_planned, select_outcomes_to_note  # imported late: most runs only examine

        preview = _simulate_run(task, final_outcomes)
        planned = select_outcomes_to_note(before, preview)
        changes = _collect_note_changes(task, planned, is_done=False) if task.plan.get("receipt") else {}
        receipt_outcome = _update_receipt(task, before, changes)
        if receipt_outcome["status"] in FAILURES:  # a resource that cannot be noted is not created
            return Observation(receipt_outcome, _block_changes(planned), has_drafts=False)
        if task.plan.get("receipt"):
            loop = restrict_to_planned(loop, task, before, preview)  # creates nothing that is not noted
    return task.run_all(task.make_host, loop, locked=True, final_outcomes=final_outcomes)


def _block_changes(outcomes: List[Document]) -> List[Document]:
    """Return the outcomes, with every change blocked by the receipt."""
    return [receipt.make_blocked_outcome(outcome) if outcome["status"] in CHANGES else outcome for outcome in outcomes]


def _has_lock_file(host: Host) -> bool:
    """Return True if another run, alive or killed, has left its lock file."""
    try:
        return host.entry(os.path.join(host.home, LOCK)) is not None
    except FileSystemHangs:
        return False  # no run can change a home that hangs


def _follow(task: Task) -> Observation:
    """Examine repeatedly until a background job reaches its next step, no job is running, or the time is up."""
    deadline = time.time() + float(task.plan["follow_seconds"])
    latest = _examine(task)
    first_steps = latest.job_steps()
    while time.time() < deadline and latest.job_steps() == first_steps and any(first_steps):
        time.sleep(POLL_SECONDS)
        latest = _examine(task)
    return latest


WORKS = {"reconcile": _reconcile, "preview": _preview, "examine": _examine, "follow": _follow}


# -- the receipt -------------------------------------------------------------------------------


def _collect_note_changes(task: Task, outcomes: List[Document], is_done: bool) -> NoteChanges:
    """Return the changes of a run to the notes; if the run is not done yet, the notes of what it is about to create.

    Notes of kept resources, and after the run also of restored ones, are released: the resource is no longer declared.
    The notes of failed resources stay.
    """
    kept, entries = task.kept.outcomes, task.plan["resources"]
    results = [result for position, result in enumerate(zip(entries, outcomes)) if position not in kept]
    key_id = notes.fingerprint_key_id(task.plan["fingerprint_key"])
    restored = task.kept.restored if is_done else frozenset()
    released: NoteChanges = {
        note_key(entries[position]["kind"], outcomes[position]["identity"]): notes.RELEASED
        for position in restored.union(kept)
        if outcomes[position]["status"] not in FAILURES
    }
    return {**released, **notes.make_notes_of_run(results, key_id, task.cluster, is_done)}


def _update_receipt(task: Task, observation: Observation, changes: NoteChanges) -> Document:
    """Write changed notes and marks, if any, to the receipt under the lock, and return the receipt's outcome.

    The receipt is removed with the last resource, even if marks are left in it. If a resource failed, it stays.
    """
    current = observation.receipt  # an outcome, whose "after" is the content of the receipt
    if current["status"] in FAILURES:
        return current  # a receipt that cannot be used is not changed
    marks = task.key_guard.marks_to_write(observation.outcomes) if task.plan["work"] == "reconcile" else {}
    merged = notes.merge_changes(current["after"], changes, task.cluster, marks)
    has_failure = any(outcome["status"] in FAILURES for outcome in observation.outcomes)
    has_no_resource = set(merged["resources"]) <= {notes.folder_key(receipt.CONFIG_FOLDER)}  # at most its own folder
    is_to_be_removed = bool(current["after"] and changes) and has_no_resource and not has_failure
    if notes.to_state(merged) == current["after"] and not is_to_be_removed:
        return current  # nothing to write
    resources = {resource.note_key: resource for resource in task.resources}
    decided_by = _receipt_at_decision(task, current["after"])  # notes that another run has changed since are kept
    update: Resource = receipt.Receipt(changes, task.cluster, marks, decided_by, resources)
    outcome = task.examine_only([update])[0]
    if outcome["status"] in CHANGES:
        outcome = run_isolated([update], Pass(task.make_host, reconcile, locked=True, seconds=task.seconds))[0]
    return outcome


def _receipt_at_decision(task: Task, current: State) -> State:
    """Return the current receipt, but with notes of kept resources as they were when the run decided to keep them."""
    kept = [task.resources[position] for position in task.kept.outcomes]
    kept_keys = [resource.note_key for resource in kept]
    state = {key: text for key, text in current.items() if key not in kept_keys}
    state.update({key: task.kept.receipt[key] for key in kept_keys if key in task.kept.receipt})
    return state


def main(payload: Mapping[str, Any], kinds: Kinds) -> None:
    """Carry out the plan, print the answer between two lines with the frame, and end the process.

    payload: the plan, the frame (a line that the sender finds in the output), and the engine's modules.
    """
    result = answer(payload["plan"], kinds)
    request = payload["plan"].get("engine")  # "keep" or "drop" the engine's file on the account; None: leave it
    # an engine is kept only next to a receipt: offboarding removes both
    is_noted = bool(result["receipt"] and result["receipt"]["notes"])
    has_usable_receipt = bool(result["receipt"] and not result["receipt"]["problem"])
    if (request == "keep" and is_noted) or (request == "drop" and has_usable_receipt):
        from .kept_engine import keep_or_drop_engine  # imported late: used once for each version

        try:
            result["engine"] = keep_or_drop_engine(payload)
        except Exception:
            result["engine"] = None  # still report the work, which is done; the next session sends the engine again
    text, frame = json.dumps(result), payload["frame"]
    sys.stdout.write("\n%s %d\n%s\n%s\n" % (frame, len(text), text, frame))
    sys.stdout.flush()
    os._exit(0)  # do not wait for a child that hangs
