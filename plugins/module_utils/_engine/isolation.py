# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Take the resources through the loop in a child process, so that a hung file system costs only its own.

A process that waits for a dead file server cannot be interrupted, only left behind. So one child
does the work and reports outcome by outcome over a pipe; when it stays silent too long, its
resource is not measured, the file systems are asked which of them hangs, and a new child goes on
behind it. What hangs is not asked again in this run. Usually there is one child.
"""

import json
import os
import select
import time
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Set

from .._core.errors import AccountError, as_account_error
from .._core.host import Host
from .._core.resource import FAILURES, Outcome, Resource, examine
from .plan import WAIT_SECONDS, Loop, ResourceRun

Document = Dict[str, Any]
ASKING = 0.1  # how much of the time for one resource the file systems have, then, to answer; at least a second


class Pass(NamedTuple):
    """How to go through a list of resources once."""

    make_host: Callable[[], Host]
    loop: Loop
    locked: bool
    seconds: float  # for one resource
    first: int = 0  # so many resources tell the host what the others ask it


class ChildSilent(Exception):
    """The child said nothing in the time it had."""


class ChildDied(Exception):
    """The child ended before its work did."""


class LineReader:
    """The lines that come through a pipe, each awaited for a limited time."""

    def __init__(self, handle: int) -> None:
        self._handle = handle
        self._held = b""

    def next(self, seconds: float) -> str:
        deadline = time.time() + seconds
        while b"\n" not in self._held:
            if not select.select([self._handle], [], [], max(0.0, deadline - time.time()))[0]:
                raise ChildSilent()
            got = os.read(self._handle, 65536)
            if not got:
                raise ChildDied()
            self._held += got
        line, _newline, self._held = self._held.partition(b"\n")
        return line.decode("utf-8")


def run_isolated(resources: List[Resource], step: Pass, settled: Dict[int, Document]) -> List[Document]:
    """The outcome documents of all resources, in order; what is settled by position is not touched again."""
    done = dict(settled)
    while len(done) < len(resources):
        _one_child(resources, step, done)
    return [done[position] for position in range(len(resources))]


def _one_child(resources: List[Resource], step: Pass, done: Dict[int, Document]) -> None:
    """Run a child over what is not done, to its end or to the resource that it was lost in."""
    todo = [position for position in range(len(resources)) if position not in done]
    known = [one for position, one in enumerate(resources[: step.first]) if _is_known(done.get(position))]
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        _work([resources[position] for position in todo], known, step, writer)
    os.close(writer)
    lines = LineReader(reader)
    seconds = step.seconds + (WAIT_SECONDS if step.locked else 0)
    try:
        for position in todo:
            done[position] = json.loads(lines.next(seconds))
            seconds = step.seconds
        os.waitpid(child, 0)
    except ChildSilent:
        import signal

        os.kill(child, signal.SIGKILL)
        _give_up(resources, position, step, done)
    except ChildDied:
        os.waitpid(child, 0)
        text = "the process was ended from outside: does the login node limit memory or time?"
        done[position] = Outcome.unmet(resources[position].identity, "failed", text).document()
    finally:
        os.close(reader)


def _is_known(document: Optional[Document]) -> bool:
    """Whether a resource could be looked at by an earlier child."""
    return document is not None and document["status"] not in FAILURES


def _work(todo: List[Resource], known: List[Resource], step: Pass, writer: int) -> None:
    """The child: no terminal, no answer channel but the pipe. Never returns.

    known: what an earlier child has gone through, and this one has to look at again.
    """
    try:
        host = step.make_host()
        run = ResourceRun(host, step.loop)
        try:
            _silence()
            for resource in known:
                ResourceRun(host, examine).outcome(resource)
            if step.locked:
                from .lock import AccountLock  # here and below: most runs change nothing, and wait for what is loaded

                with AccountLock(host):
                    _report(todo, run.outcome, writer)
            else:
                _report(todo, run.outcome, writer)
        except AccountError as error:
            text = str(error)
            _report(todo, lambda resource: Outcome.unmet(resource.identity, "failed", text), writer)
    finally:
        os._exit(0)


def _silence() -> None:
    """Nothing that the child does reaches the answer's channel."""
    try:
        null = os.open(os.devnull, os.O_RDWR)
        for handle in (0, 1, 2):
            os.dup2(null, handle)
    except OSError as error:
        raise as_account_error(error, "opening " + os.devnull) from None


def _report(todo: List[Resource], outcome: Callable[[Resource], Outcome], writer: int) -> None:
    for resource in todo:
        left = json.dumps(outcome(resource).document()).encode("utf-8") + b"\n"
        while left:
            left = left[os.write(writer, left) :]


def _give_up(resources: List[Resource], silent: int, step: Pass, done: Dict[int, Document]) -> None:
    """Mark the silent resource as not measured, and learn which file systems hang.

    Others than the resources touch are asked next: links lead to them. Where all answer, those that the resource
    touches are taken to hang, but for the home's: others are on it.
    """
    from .._core.mounts import describe_hang, find_hanging, mount_of, mount_points

    mounts, host = mount_points(), step.make_host()
    real = host.root + host.home
    home, own = mount_of(real, mounts), _mounts(resources[silent], host, mounts)
    every = {home}.union(*(_mounts(one, host, mounts) for one in resources))
    wait = max(1.0, step.seconds * ASKING)
    hung = set(find_hanging(every, wait) or find_hanging(mounts, wait)) or own - {home}
    host.account.hung_mounts.update({mount: describe_hang(mount, real, step.seconds) for mount in hung})
    why = [host.account.hung_mounts[mount] for mount in sorted(hung & own or hung)]
    if not why:
        text = "no answer in %d s, though the file systems answer; run again, and ask the site if that does not help"
        why = [text % step.seconds]
    done[silent] = Outcome.unmet(resources[silent].identity, "unknown", why[0]).document()


def _mounts(resource: Resource, host: Host, mounts: List[str]) -> Set[str]:
    """The mount points that a resource touches."""
    from .._core.mounts import mount_of

    try:
        return {mount_of(host.root + path, mounts) for path in resource.bound(host).touches(host)}
    except AccountError:
        return set()
