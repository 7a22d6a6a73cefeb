# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The engine, which runs on the account: it takes a plan and returns one answer.

Everything is examined first. Only if something may change, the lock is taken and everything is examined again under it,
because the first result may be stale by then. So a run that has nothing to do writes nothing, not even a lock file.
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
from .._core.resource import CHANGES, FAILURES, Resource, State, examine, reconcile
from .._core.values import note_key
from .._receipt import notes, receipt, rotations
from .isolation import Document, Pass, run_isolated
from .plan import LOCK, SECONDS, Kinds, Loop, build_resource
from .task import News, Observation, Task, mark_adopted

SCHEMA = "hpc.onboard/answer/1.0"
PLAN = "hpc.onboard/plan/1.0"
POLL_SECONDS = 0.5


def answer(plan: Mapping[str, Any], kinds: Kinds) -> Document:
    """Carry out a plan and return the answer; an error that stops the whole plan is its 'error'.

    plan: schema, resources [{kind, capability, options}], work, fingerprint_key (hex), and where given:
    sandbox: {root, home, shell, environment, folders}. seconds: for one resource.
    work: reconcile changes what differs; foresee previews that; examine only compares; follow examines for
    follow_seconds at most, until work that goes on by itself gets further.
    receipt (true): note what is created, for cluster (its id), and return the notes. What cannot be noted is not
    created. notes: the sender's copy of the receipt, which counts if the account has none.
    only_made: keep what hpc-onboard did not create, or created for another cluster too.
    keys: by name, the rotations that the sender knows; others are not undone. replace: replace keys that the sender
    does not recognise, and keep a private copy of their files.
    fixes: how many of the first resources to reconcile before the others are examined, or to preview (fixes_work).
    ticket: the home opens only with a forwarded Kerberos ticket. found: what an earlier run learned (account.py).
    engine: keep or drop, see kept_engine.py.
    """
    started = time.time()
    result: Document = {"schema": SCHEMA, "outcomes": [], "error": None, "receipt": None}
    try:
        why = refusal(plan.get("schema", PLAN), PLAN, "the plan", "send it again")
        if why:
            raise AccountError(why)
        account = _open_account(plan)
        result["account"] = {"home": account.home, "shell": account.shell}
        fixed, plan = _apply_fixes(plan, kinds, account)
        task = make_task(plan, kinds, account)
        if plan.get("only_made"):
            from .ownership import settle_kept  # few runs remove anything

            task = settle_kept(task)
        seen = WORKS[plan["work"]](task)
        if plan.get("ticket") and any(one["status"] == "failed" for one in [seen.receipt, *seen.documents] if one):
            account.check_ticket()
        if plan.get("receipt") and seen.receipt["status"] not in FAILURES:
            mark_adopted(task, seen)
        result["outcomes"] = fixed + _public_outcomes(plan, seen.documents)
        if plan.get("receipt"):
            news = _collect_news(task, seen.documents, True) if plan["work"] == "reconcile" else {}
            lost = not plan.get("only_made") and plan.get("notes")
            if lost:
                from .._receipt import lost_receipt

                if lost_receipt.shows_loss(task.make_host(), notes.parse_notes(seen.receipt["after"]), lost):
                    news = {**news, **lost_receipt.recover_notes(news, lost)}
            result["receipt"] = receipt.to_answer(_update_receipt(task, seen, news))
    except AccountError as error:
        result["error"] = str(error)
    except OSError as error:
        result["error"] = str(as_account_error(error, "starting the work on the account"))
    except Exception as error:
        result["error"] = describe_bug(error)
    result["python"] = "%d.%d.%d" % sys.version_info[:3]
    result["host"] = os.uname().nodename
    result["seconds"] = round(time.time() - started, 3)
    return result


def _open_account(plan: Mapping[str, Any]) -> Account:
    """Return the account of the plan. If it is only examined, its start-up files cannot write anything."""
    guard = None
    if plan["work"] == "examine":
        from .._core.sandboxed_program import enter_sandbox  # most runs do without

        guard = enter_sandbox
    account = Account.of_this_process(plan.get("sandbox"), guard)
    account.found.update(plan.get("found") or {})
    return account


def _apply_fixes(plan: Mapping[str, Any], kinds: Kinds, account: Account) -> Tuple[List[Document], Mapping[str, Any]]:
    """Apply the fixes of a plan, before the login shell is started; return their outcomes and the rest of the plan."""
    number = int(plan.get("fixes") or 0)
    if not number:
        return [], plan
    from .fixing import apply_fixes  # few runs fix

    first = dict(plan, resources=plan["resources"][:number])
    task = make_task(first, kinds, account)
    outcomes = apply_fixes(task.resources, task.make_host, task.seconds, plan.get("fixes_work") == "foresee")
    return _public_outcomes(first, outcomes), dict(plan, resources=plan["resources"][number:])


def make_task(plan: Mapping[str, Any], kinds: Kinds, account: Account) -> Task:
    """Return the task for a plan. Raise AccountError for an unknown resource type or an invalid option."""
    resources = [build_resource(entry, kinds) for entry in plan["resources"]]
    root = str((plan.get("sandbox") or {}).get("root", ""))
    fingerprint_key = bytes.fromhex(plan["fingerprint_key"])
    receipt_copy = receipt.check_notes(plan.get("notes") or {})
    if root:
        create_sandbox(root, plan["sandbox"])

    def make_host() -> Host:
        host = Host(account, fingerprint_key, root)
        host.is_following = plan["work"] == "follow"
        host.receipt_copy = receipt_copy
        return host

    for resource in resources:  # resolves the site's variables once, for all child processes
        try:
            resource.bound(make_host())
        except AccountError:
            pass  # becomes the resource's own outcome
    own, replaces = notes.fingerprint_key_id(plan["fingerprint_key"]), bool(plan.get("replace"))
    guard = rotations.KeyGuard(plan["resources"], resources, plan.get("keys") or {}, own, replaces)
    return Task(plan, resources, make_host, float(plan.get("seconds") or SECONDS), guard)


def create_sandbox(root: str, sandbox: Mapping[str, Any]) -> None:
    """Create below root what a site itself would provide: home and storage areas."""
    for folder in [sandbox["home"], *sandbox.get("folders", [])]:
        inside = root + os.path.normpath("/" + folder.lstrip("/"))  # ".." leads to no place outside
        if not os.path.isdir(inside):
            os.makedirs(inside, 0o755)


def _public_outcomes(plan: Mapping[str, Any], documents: List[Document]) -> List[Document]:
    """Return the outcomes for the answer, each with the capability that declared its resource."""
    pairs = zip(plan["resources"], documents)
    return [
        {**{name: value for name, value in one.items() if name != "folders"}, "capability": entry["capability"]}
        for entry, one in pairs
    ]


# -- kinds of work -----------------------------------------------------------------------------


def _examine(task: Task) -> Observation:
    """Return what is on the account, without changes."""
    return task.run_all(task.make_host, examine, False, task.kept.documents)


def _preview(task: Task) -> Observation:
    """Return what a run would do; all is blocked if its notes could not be written to the receipt."""
    seen = _dry_run(task, task.kept.documents)
    if not task.plan.get("receipt") or not _has_changes(seen):
        return seen
    outcome = task.examine_only([receipt.Receipt(_collect_news(task, seen.documents, False), task.cluster)])[0]
    return Observation(outcome, _block_all(seen.documents), False) if outcome["status"] in FAILURES else seen


def _dry_run(task: Task, settled: Dict[int, Document]) -> Observation:
    """Return what a run would do, by the same loop."""
    from .._core.dry_run import DryRunHost  # most runs only examine, and wait for what Python compiles

    return task.run_all(lambda: DryRunHost(task.make_host()), reconcile, False, settled)


def _reconcile(task: Task) -> Observation:
    """Change what differs, after it was noted in the receipt, and return what was done."""
    seen = _examine(task)
    if not _has_changes(seen) and not _has_lock_file(task.make_host()):
        return seen
    settled = {position: one for position, one in enumerate(seen.documents) if one["status"] == "unknown"}
    settled.update(task.kept.documents)
    loop: Loop = reconcile
    if task.plan.get("receipt") or task.key_guard.names:
        from .write_ahead import plan_records, restrict_to_planned  # most runs only examine

        ahead = _dry_run(task, settled)
        planned = plan_records(seen, ahead)
        outcome = _update_receipt(task, seen, _collect_news(task, planned, False) if task.plan.get("receipt") else {})
        if outcome["status"] in FAILURES:  # what cannot be noted is not created
            return Observation(outcome, _block_all(planned), False)
        if task.plan.get("receipt"):
            loop = restrict_to_planned(loop, task, seen, ahead)
    return task.run_all(task.make_host, loop, True, settled)


def _has_changes(seen: Observation) -> bool:
    """Return True if a run would change or remove something."""
    return seen.has_drafts or any(one["status"] in CHANGES for one in seen.documents)


def _block_all(documents: List[Document]) -> List[Document]:
    """Return the outcomes of a run that may change nothing."""
    return [receipt.blocked_outcome(one) if one["status"] in CHANGES else one for one in documents]


def _has_lock_file(host: Host) -> bool:
    """Return True if another run, alive or killed, has left its lock file."""
    try:
        return host.entry(os.path.join(host.home, LOCK)) is not None
    except FileSystemHangs:
        return False  # nothing in that home can be changed


def _follow(task: Task) -> Observation:
    """Examine until a step is done, nothing is in progress any more, or the time is up."""
    deadline = time.time() + float(task.plan["follow_seconds"])
    first = seen = _examine(task)
    while time.time() < deadline and _current_steps(seen) == _current_steps(first) and any(_current_steps(seen)):
        time.sleep(POLL_SECONDS)
        seen = _examine(task)
    return seen


def _current_steps(seen: Observation) -> List[Any]:
    """Return the step that each resource's work is at; None if nothing is in progress."""
    return [one["progress"] and one["progress"].get("step") for one in seen.documents]


WORKS = {"reconcile": _reconcile, "foresee": _preview, "examine": _examine, "follow": _follow}


# -- the receipt -------------------------------------------------------------------------------


def _collect_news(task: Task, documents: List[Document], done: bool) -> News:
    """Return the notes of a run, or, before it is done, of what it is about to create.

    A kept or restored resource gets no note any more, unless it failed: then the next run handles it.
    """
    kept = task.kept.documents
    entries = task.plan["resources"]
    pairs = [(entry, one) for at, (entry, one) in enumerate(zip(entries, documents)) if at not in kept]
    own = notes.fingerprint_key_id(task.plan["fingerprint_key"])
    news = notes.notes_of_run(pairs, own, task.cluster, done)
    released: News = {
        note_key(entries[at]["kind"], documents[at]["identity"]): notes.RELEASED
        for at in set(kept) | set(task.kept.restored if done else ())
        if documents[at]["status"] not in FAILURES
    }
    return {**released, **news}


def _update_receipt(task: Task, seen: Observation, news: News) -> Document:
    """Write the news into the receipt, under the lock, if they differ from what was seen; return its outcome.

    A rotation begins a receipt of marks alone if the receipt was lost; it is removed with the last resource.
    """
    found = seen.receipt
    keys = task.key_guard.marks_to_write(seen.documents) if task.plan["work"] == "reconcile" else {}
    if found["status"] in FAILURES:
        return found
    merged = notes.merge_changes(found["after"], news, task.cluster, keys)
    is_over = news and not merged["resources"] and not any(one["status"] in FAILURES for one in seen.documents)
    if notes.to_state(merged) == found["after"] and not (is_over and found["after"]):
        return found
    things = {note_key(one.KIND, one.identity): one for one in task.resources}
    update: Resource = receipt.Receipt(news, task.cluster, keys, _deciding_receipt(task, found["after"]), things)
    outcome = task.examine_only([update])[0]
    if outcome["status"] in CHANGES:
        outcome = run_isolated([update], Pass(task.make_host, reconcile, True, task.seconds), {})[0]
    return outcome


def _deciding_receipt(task: Task, found: State) -> State:
    """Return the receipt that decides which notes are removed: of this run; for kept resources, as it was before."""
    kept = [note_key(one.KIND, one.identity) for at, one in enumerate(task.resources) if at in task.kept.documents]
    earlier = {key: task.kept.receipt[key] for key in kept if key in task.kept.receipt}
    return dict({key: text for key, text in found.items() if key not in kept}, **earlier)


def main(payload: Mapping[str, Any], kinds: Kinds) -> None:
    """Print the framed answer and end. A child that hangs in a file system is not waited for."""
    result = answer(payload["plan"], kinds)
    wish, noted = payload["plan"].get("engine"), result["receipt"] or {"notes": {}, "problem": "not noted"}
    if (wish == "keep" and noted["notes"]) or (wish == "drop" and not noted["problem"]):
        from .kept_engine import keep_engine  # once for each version

        try:
            result["engine"] = keep_engine(payload)
        except Exception:
            result["engine"] = None  # the work is done, and is reported; the next session sends the engine
    text = json.dumps(result)
    frame = payload["frame"]
    sys.stdout.write("\n%s %d\n%s\n%s\n" % (frame, len(text), text, frame))
    sys.stdout.flush()
    os._exit(0)
