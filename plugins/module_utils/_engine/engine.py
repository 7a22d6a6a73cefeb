# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What runs on the account: a plan comes in, one answer goes out.

First everything is examined. Only when something may be changed is the lock taken, and everything
examined again under it, for then the answer of the first look is stale. So a run that has nothing
to do writes nothing, not even a lock.
"""

import json
import os
import sys
import time
from typing import Any, Dict, List, Mapping, Optional, Tuple

from .._core.account import Account, Guard
from .._core.document_version import refusal
from .._core.errors import AccountError, FileSystemHangs, as_account_error, describe_bug
from .._core.host import Host
from .._core.resource import CHANGES, FAILURES, Resource, State, examine, reconcile
from .._receipt import notes, receipt, rotations
from .isolation import Document, Pass, run_isolated
from .plan import LOCK, Kinds, Loop, build_resource
from .task import News, Observation, Task

SCHEMA = "hpc.onboard/answer/1.7"
PLAN = "hpc.onboard/plan/1.3"
SECONDS = 30.0
LOOK_SECONDS = 0.5


def answer(plan: Mapping[str, Any], kinds: Kinds) -> Document:
    """Carry out a plan and say what came of it; an error that stops the whole plan is its 'error'.

    plan: schema, resources [{kind, capability, options}], work, fingerprint_key (hex), and where given sandbox
    {root, home, shell, environment, folders}, seconds for one resource, receipt and only_made. work is one of
    WORKS: reconcile puts right; foresee says what that would do; examine only looks; follow looks, for
    follow_seconds at most, how far the work is that goes on by itself. With receipt (true) what is written is
    noted on the account, for cluster (its id), and the notes are told; where nothing can be noted, nothing is made.
    With only_made, what we did not make, or made for another cluster, too, stays as it is. keys says what the sender
    knows of the rotations of a key, by the name that entries have as theirs: one that it does not know is not undone.
    notes is the copy of the receipt that the sender has: it counts where the account has none.
    With replace, a key that the sender does not recognise is replaced, and a private copy of its file is kept.
    With fixes (how many) the first resources are put right before the others are looked at, or that is foreseen
    (fixes_work). ticket says that the home opens only to a forwarded Kerberos ticket. found is what an earlier run has
    found out, by name (_core/account.py).
    """
    started = time.time()
    said: Document = {"schema": SCHEMA, "outcomes": [], "error": None, "receipt": None}
    try:
        why = refusal(plan.get("schema", PLAN), PLAN, "the plan", "make it anew")
        if why:
            raise AccountError(why)
        account = Account.of_this_process(plan.get("sandbox"), _guard(plan))
        account.found.update(plan.get("found") or {})
        said["account"] = {"home": account.home, "shell": account.shell}
        first, plan = _fixed(plan, kinds, account)
        task = _task(plan, kinds, account)
        if plan.get("only_made"):
            from .ownership import settle_kept  # few runs take anything out

            task = settle_kept(task)
        seen = WORKS[plan["work"]](task)
        if plan.get("ticket") and any(one["status"] == "failed" for one in [seen.receipt, *seen.documents] if one):
            from .kerberos_home import check_ticket  # few homes want a ticket

            check_ticket(account.home)
        said["outcomes"] = first + _named(plan, seen.documents)
        if plan.get("receipt"):
            news = _news(task, seen.documents, True) if plan["work"] == "reconcile" else {}
            said["receipt"] = receipt.to_answer(_noted(task, seen, news))
    except AccountError as error:
        said["error"] = str(error)
    except OSError as error:
        said["error"] = str(as_account_error(error, "starting the work on the account"))
    except Exception as error:
        said["error"] = describe_bug(error)
    said["python"] = "%d.%d.%d" % sys.version_info[:3]
    said["host"] = os.uname().nodename
    said["seconds"] = round(time.time() - started, 3)
    return said


def _fixed(plan: Mapping[str, Any], kinds: Kinds, account: Account) -> Tuple[List[Document], Mapping[str, Any]]:
    """The outcomes of what is fixed first, and the plan of what is left. The login shell is asked later only."""
    number = int(plan.get("fixes") or 0)
    if not number:
        return [], plan
    from .fixing import apply_fixes  # few runs fix

    first = dict(plan, resources=plan["resources"][:number])
    task = _task(first, kinds, account)
    documents = apply_fixes(task.resources, task.real, task.seconds, plan.get("fixes_work") == "foresee")
    return _named(first, documents), dict(plan, resources=plan["resources"][number:])


def _guard(plan: Mapping[str, Any]) -> Optional[Guard]:
    """What keeps start-up files from writing where an account is only looked at."""
    if plan["work"] != "examine":
        return None
    from .._core.sandboxed_program import enter_sandbox  # here, because most runs do without

    return enter_sandbox


def _task(plan: Mapping[str, Any], kinds: Kinds, account: Account) -> Task:
    resources = [build_resource(entry, kinds) for entry in plan["resources"]]
    root = str((plan.get("sandbox") or {}).get("root", ""))
    key = bytes.fromhex(plan["fingerprint_key"])
    if root:
        create_sandbox(root, plan["sandbox"])

    copied = receipt.check_notes(plan.get("notes") or {})

    def real() -> Host:
        host = Host(account, key, root)
        host.is_following = plan["work"] == "follow"
        host.receipt_copy = copied
        return host

    _learn(resources, real())
    own, replaces = notes.fingerprint_key_id(plan["fingerprint_key"]), bool(plan.get("replace"))
    keyed = rotations.KeyGuard(plan["resources"], resources, plan.get("keys") or {}, own, replaces)
    return Task(plan, resources, real, float(plan.get("seconds") or SECONDS), keyed)


def _named(plan: Mapping[str, Any], documents: List[Document]) -> List[Document]:
    """The outcomes as they are told, each with the capability that asked for it."""
    told = [{name: value for name, value in document.items() if name != "folders"} for document in documents]
    return [dict(one, capability=entry["capability"]) for entry, one in zip(plan["resources"], told)]


def _examined(task: Task) -> Observation:
    return task.gone_through(task.real, examine, False, task.alone.documents)


def _foreseen(task: Task) -> Observation:
    seen = _ahead(task, task.alone.documents)
    if not task.plan.get("receipt") or not _has_changes(seen):
        return seen
    kept = task.looked([receipt.Receipt(_news(task, seen.documents, False), task.cluster)])[0]
    return Observation(kept, _held_back(seen.documents), False) if kept["status"] in FAILURES else seen


def _ahead(task: Task, settled: Dict[int, Document]) -> Observation:
    """What a run would do, told by the very loop that does it."""
    from .._core.dry_run import (
        DryRunHost,
    )  # here, because most runs only look and starting Python is what they wait for

    return task.gone_through(lambda: DryRunHost(task.real()), reconcile, False, settled)


def _reconciled(task: Task) -> Observation:
    seen, settled = _examined(task), task.alone.documents
    loop: Loop = reconcile
    if _has_changes(seen) or _is_lock_there(task.real()):
        hung = {position: one for position, one in enumerate(seen.documents) if one["status"] == "unknown"}
        if task.plan.get("receipt") or task.keyed.names:
            from .write_ahead import plan_records, restrict_to_planned  # here, because most runs only look

            ahead = _ahead(task, {**hung, **settled})
            planned = plan_records(seen, ahead)
            news = _news(task, planned, False) if task.plan.get("receipt") else {}
            kept = _noted(task, seen, news)
            if kept["status"] in FAILURES:  # what cannot be noted is not made
                return Observation(kept, _held_back(planned), False)
            loop = restrict_to_planned(loop, task, seen, ahead) if task.plan.get("receipt") else loop
        seen = task.gone_through(task.real, loop, True, {**hung, **settled})
    return seen


def _has_changes(seen: Observation) -> bool:
    return seen.drafts or any(one["status"] in CHANGES for one in seen.documents)


def _held_back(documents: List[Document]) -> List[Document]:
    """The outcomes of a run that may change nothing."""
    return [receipt.blocked_outcome(one) if one["status"] in CHANGES else one for one in documents]


def _is_lock_there(host: Host) -> bool:
    """Whether another run, living or dead, has left its lock file."""
    try:
        return host.entry(os.path.join(host.home, LOCK)) is not None
    except FileSystemHangs:
        return False  # nothing in that home can be changed


def _followed(task: Task) -> Observation:
    """Look until a step is done, nothing is under way any more, or the patience ends."""
    deadline = time.time() + float(task.plan["follow_seconds"])
    first = seen = _examined(task)
    while time.time() < deadline and _steps(seen) == _steps(first) and any(_steps(seen)):
        time.sleep(LOOK_SECONDS)
        seen = _examined(task)
    return seen


WORKS = {"reconcile": _reconciled, "foresee": _foreseen, "examine": _examined, "follow": _followed}


def _news(task: Task, documents: List[Document], done: bool) -> News:
    """What is to be noted of a run, or, before it is done, of what it is about to make.

    What is left alone or put back is noted no more, unless hpc-onboard has something to do there yet.
    """
    both, alone = list(enumerate(zip(task.plan["resources"], documents))), task.alone.documents
    own = notes.fingerprint_key_id(task.plan["fingerprint_key"])
    news = notes.notes_of_run([pair for position, pair in both if position not in alone], own, task.cluster, done)
    ended = set(alone) | set(task.alone.put_back if done else ())
    released = [at for at, one in enumerate(documents) if at in ended and one["status"] not in FAILURES]
    left = {notes.key(task.plan["resources"][at], documents[at]["identity"]): notes.RELEASED for at in released}
    lost = task.plan.get("notes") if done and not task.plan.get("only_made") else None
    return {**left, **news, **(notes.recover_notes(news, lost) if lost else {})}


def _noted(task: Task, seen: Observation, news: News) -> Document:
    """The outcome of bringing the receipt, found so, up to date; what differs is written under the lock."""
    found = seen.receipt
    keys = task.keyed.marks_to_write(seen.documents) if task.plan["work"] == "reconcile" else {}
    if (
        found["status"] in FAILURES
        or notes.to_state(notes.merge_changes(found["after"], news, task.cluster, keys)) == found["after"]
    ):
        return found
    things = {notes.key(entry, one.identity): one for entry, one in zip(task.plan["resources"], task.resources)}
    kept = [receipt.Receipt(news, task.cluster, keys, _decided_by(task, found["after"]), things)]  # type: List[Resource]
    looked = task.looked(kept)
    if looked[0]["status"] in CHANGES:
        looked = run_isolated(kept, Pass(task.real, reconcile, True, task.seconds), {})
    return looked[0]


def _decided_by(task: Task, found: State) -> State:
    """The receipt by which it was decided what is noted no more: found with the pass, or before, of what stays."""
    stays = [notes.key(task.plan["resources"][at], task.resources[at].identity) for at in task.alone.documents]
    earlier = {key: task.alone.receipt[key] for key in stays if key in task.alone.receipt}
    return dict({key: text for key, text in found.items() if key not in stays}, **earlier)


def _steps(seen: Observation) -> List[Any]:
    """The step that each resource's work is at; None where nothing is under way."""
    return [one["progress"] and one["progress"].get("step") for one in seen.documents]


def _learn(resources: List[Resource], host: Host) -> None:
    """Resolve the site's variables here, once, for every child inherits what this process knows."""
    for resource in resources:
        try:
            resource.bound(host)
        except AccountError:
            pass  # it is the resource's own outcome, and is said there


def create_sandbox(root: str, sandbox: Mapping[str, Any]) -> None:
    """Make the pretended cluster below root: what the site itself would have made, home and areas."""
    for folder in [sandbox["home"], *sandbox.get("folders", [])]:
        if not os.path.isdir(root + folder):
            os.makedirs(root + folder, 0o755)


def main(payload: Mapping[str, Any], kinds: Kinds) -> None:
    """Print the framed answer. A child that hangs in a file system is not waited for."""
    text = json.dumps(answer(payload["plan"], kinds))
    frame = payload["frame"]
    sys.stdout.write("\n%s %d\n%s\n%s\n" % (frame, len(text), text, frame))
    sys.stdout.flush()
    os._exit(0)
