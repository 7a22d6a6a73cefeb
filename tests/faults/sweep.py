# SPDX-License-Identifier: GPL-3.0-or-later
"""Take a scene through every fault, and say which promises were broken."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any, NamedTuple

from tests.effort import EXHAUSTIVE, chance, sample

from .harness import DRAFT, ERRNOS, FAILURES, LOCK, Call, Node, Pass, Tree, Writer, same_call, snapshot
from .scenes import OLD_SECRET, SECRET, Scene

WORKERS = int(os.environ.get("HPC_ONBOARD_FAULT_WORKERS") or max(2, min(4, os.cpu_count() or 2)))

CHANGING = (
    "write pwrite64 ftruncate fsync fchmod chmod rename renameat renameat2 unlink unlinkat mkdir rmdir symlinkat fcntl"
    " llistxattr flistxattr setxattr fsetxattr removexattr fremovexattr"
)


class Known(NamedTuple):
    """What a clean pass over a scene does: the account before and after, and the calls of both passes."""

    old: Tree
    new: Tree
    calls: list[Call]
    looks: list[Call]


class Fault(NamedTuple):
    """Where, and what: KILL or the name of an errno; in the pass that changes or the one that only looks."""

    call: Call
    what: str
    look: bool = False

    @property
    def injection(self) -> str:
        effect = "signal=KILL" if self.what == "KILL" else "error=" + self.what
        return f"{self.call.name}:{effect}:when={self.call.number}"


def study(writer: Writer, scene: Scene) -> Known:
    """The clean passes."""
    lists = []
    for look in (True, False):
        scene.build(writer.fresh())
        old = snapshot(writer.root)
        lists.append(writer.work(writer.plan(scene.resources), look=look, umask=scene.umask).calls)
    return Known(old, snapshot(writer.root), lists[1], lists[0])


def kills(scene: Scene, known: Known) -> list[Fault]:
    """A kill at every call of the pass that changes; in a sample, at some of them, mostly those that change."""
    changing, between = _parted(known.calls)
    some = {*sample(changing, 24, scene.name, "kill"), *sample(between, 6, scene.name, "kill")}
    return [Fault(call, "KILL") for call in known.calls if call in some]


def errors(scene: Scene, known: Known) -> list[Fault]:
    """Every errno at every call that changes, one by turns at the others; in a sample, one errno at some of them.

    A sample keeps the lie that has been dear before: .bash_profile is not there, and another file gets the line.
    """
    if EXHAUSTIVE:
        faults = [Fault(call, name) for at, call in enumerate(known.calls) for name in _errnos(at, call)]
        return faults + [Fault(call, name, True) for at, call in enumerate(known.looks) for name in _errnos(at, call)]
    changing, between = _parted(known.calls)
    some = {*sample(changing, 24, scene.name, "error"), *sample(between, 8, scene.name, "error")}
    looks = sample(known.looks, 8, scene.name, "look")
    lie = [Fault(call, "ENOENT") for call in between if call.name.endswith("stat") and ".bash_profile" in call.text]
    errno = chance(scene.name, "errno").choice
    faults = [Fault(call, errno(ERRNOS)) for call in known.calls if call in some]
    return [*faults, *lie[:4], *(Fault(call, errno(ERRNOS), True) for call in looks)]


def _errnos(position: int, call: Call) -> Iterable[str]:
    if changes(call):
        return ERRNOS
    return {ERRNOS[position % len(ERRNOS)], *(["ENOENT"] if call.name.endswith("stat") else [])}


def _parted(calls: list[Call]) -> tuple[list[Call], list[Call]]:
    """The calls that may change the account, and those between them, where it stays as it is."""
    return [call for call in calls if changes(call)], [call for call in calls if not changes(call)]


def changes(call: Call) -> bool:
    """Whether this call may change the account, or holds the lock."""
    return call.name in CHANGING.split() or (call.name == "openat" and "O_CREAT" in call.text)


def sweep(scene: Scene, known: Known, faults: Iterable[Fault]) -> list[str]:
    """The broken promises of all the faults, each with its place; several at a time."""
    idle: SimpleQueue[Writer] = SimpleQueue()
    writers = [Writer() for _ in range(WORKERS)]
    for writer in writers:
        idle.put(writer)

    def one(fault: Fault) -> list[str]:
        writer = idle.get()
        try:
            place = f"{scene.name}: {fault.what} at {fault.call}{' (looking)' if fault.look else ''}"
            return [f"{place}: {broken}" for broken in broken_by(writer, scene, known, fault)]
        finally:
            idle.put(writer)

    try:
        with ThreadPoolExecutor(WORKERS) as pool:
            return [broken for found in pool.map(one, faults) for broken in found]
    finally:
        for writer in writers:
            writer.close()


def broken_by(writer: Writer, scene: Scene, known: Known, fault: Fault) -> Iterator[str]:
    """The promises that this fault breaks."""
    scene.build(writer.fresh())
    plan = writer.plan(scene.resources)
    done = writer.work(plan, fault.injection, look=fault.look, umask=scene.umask)
    if not fired(done, fault):
        yield f"the fault was not injected there: {done.injected}"
    now = snapshot(writer.root)
    yield from torn(known, now)
    yield from exposed(now)
    yield from untold(done, fault)
    if fault.look and now != known.old:
        yield "a look changed the account"
    if fault.what != "KILL" and not fault.look:
        yield from false_success(done, known, now, fault)
    yield from lasting(writer, scene, plan, known)


def fired(done: Pass, fault: Fault) -> bool:
    """Whether the injection took effect at the call it was meant for."""
    last = next((c for c in done.calls if (c.name, c.number) == fault.call[:2]), None)
    if last is None or not same_call(last, fault.call):
        return False
    if fault.what == "KILL":
        return os.WIFSIGNALED(done.status) and last is done.calls[-1]
    return "(INJECTED)" in last.text


def torn(known: Known, now: Tree) -> Iterator[str]:
    """Everything is as it was or as it shall be; of ours there may be a draft and the lock."""
    for path in sorted(set(known.old) | set(known.new) | set(now)):
        allowed = (known.old.get(path), known.new.get(path))
        if now.get(path) not in allowed and not _passing(path, now.get(path)):
            yield f"{path} is neither old nor new: {now.get(path)}"


def _passing(path: str, node: Node | None) -> bool:
    """Whether this is a draft or the lock."""
    name = os.path.basename(path)
    return node is not None and (name == LOCK or name.endswith(DRAFT) or path.split("/")[-2].endswith(DRAFT))


def exposed(now: Tree) -> Iterator[str]:
    """The new key lies nowhere but where only its owner reads it."""
    for path, node in now.items():
        if SECRET.encode() in node.content and node.mode & 0o077:
            yield f"{path} holds the key at mode {node.mode:04o}"


def untold(done: Pass, fault: Fault) -> Iterator[str]:
    """A failure names the error; nothing that is said holds a key."""
    said = str(done.outcomes)
    if SECRET in said or OLD_SECRET in said:
        yield "the key is in what was said"
    if fault.what == "KILL" or _lie(fault) or _report(fault):
        return
    if not done.outcomes:
        yield "nothing was said at all"
    for outcome in done.outcomes:
        if outcome["status"] == "failed" and fault.what not in outcome["reason"]:
            yield f"the error is not named: {outcome['reason']}"


def false_success(done: Pass, known: Known, now: Tree, fault: Fault) -> Iterator[str]:
    """What is said to be in place, or put right, is so."""
    statuses = [outcome["status"] for outcome in done.outcomes]
    if not statuses or any(status in FAILURES for status in statuses):
        return
    left = {path for path in now if os.path.basename(path) != LOCK}
    if {path: now[path] for path in left} != known.new and not (_lie(fault) and statuses == ["ok"]):
        yield f"said {statuses}, but the account is not so"


def _lie(fault: Fault) -> bool:
    """Whether a look was told that something is not there: then absence is an honest answer."""
    return fault.what == "ENOENT" and fault.call.name in (
        "newfstatat",
        "lstat",
        "stat",
        "readlink",
        "readlinkat",
        "openat",
    )


def _report(fault: Fault) -> bool:
    """Whether the fault cut the pipe to the parent, who then says so."""
    return fault.call.name == "write" and "identity" in fault.call.text


def lasting(writer: Writer, scene: Scene, plan: dict[str, Any], known: Known) -> Iterator[str]:
    """A clean rerun brings everything about and leaves nothing; the one after it finds all in place."""
    for turn in ("rerun", "third run"):
        said = writer.run(plan, scene.umask)
        statuses = [outcome["status"] for outcome in said["outcomes"]]
        wanted = {"blocked"} if scene.kept else {"ok"} if turn == "third run" else set()
        ok = set(statuses) <= wanted if turn == "third run" or scene.kept else not set(statuses) & set(FAILURES)
        if said["error"] or not statuses or not ok:
            yield f"{turn}: {said['error'] or statuses} {[o['reason'] for o in said['outcomes']]}"
        now = snapshot(writer.root)
        if now != known.new:
            differing = sorted(p for p in set(now) | set(known.new) if now.get(p) != known.new.get(p))
            yield f"{turn}: not up to date: {differing} {[now.get(p) for p in differing]}"
