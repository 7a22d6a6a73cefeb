# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Take resources through a loop in a child process, so that a hung file system costs only the resources on it.

A process that waits for a dead file server cannot be interrupted, only abandoned. So a child does the work and reports
each outcome over a pipe. If it stays silent too long, its resource is unknown, further children find out which file
systems hang, and a new child continues with the next resource. What hangs is not accessed again in this run. Usually
one child does it all.
"""

import json
import os
import select
import time
from typing import Any, Callable, Dict, List, NamedTuple, Set

from .._core.errors import AccountError, as_account_error
from .._core.host import Host
from .._core.resource import FAILURES, Outcome, Resource, examine
from .plan import WAIT_SECONDS, Loop, ResourceRun

Document = Dict[str, Any]
MOUNT_SHARE = 0.1  # of the time for one resource: how long the file systems have to answer; at least a second


class Pass(NamedTuple):
    """How to take a list of resources through a loop once."""

    make_host: Callable[[], Host]
    loop: Loop
    locked: bool
    seconds: float  # for one resource
    first: int = 0  # so many of the first resources store on the host what the others need


class ChildSilent(Exception):
    """The child sent nothing in time."""


class ChildDied(Exception):
    """The child ended before its work was done."""


class LineReader:
    """Reads lines from a pipe, each within a time limit."""

    def __init__(self, handle: int) -> None:
        self._handle = handle
        self._held = b""

    def next(self, seconds: float) -> str:
        """Return the next line. Raise ChildSilent after so many seconds, ChildDied at the end of the pipe."""
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


def run_isolated(resources: List[Resource], one_pass: Pass, settled: Dict[int, Document]) -> List[Document]:
    """Return the outcomes of all resources, in order. settled: outcomes by position of resources to leave alone."""
    done = dict(settled)
    while len(done) < len(resources):
        _run_child(resources, one_pass, done)
    return [done[position] for position in range(len(resources))]


def _run_child(resources: List[Resource], one_pass: Pass, done: Dict[int, Document]) -> None:
    """Run a child over what is not done, to its end or to the resource on which it hangs or ends."""
    todo = [position for position in range(len(resources)) if position not in done]
    earlier = [  # what an earlier child has examined; a new host has to learn it again
        one for at, one in enumerate(resources[: one_pass.first]) if at in done and done[at]["status"] not in FAILURES
    ]
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        _child_main([resources[position] for position in todo], earlier, one_pass, writer)
    os.close(writer)
    lines = LineReader(reader)
    seconds = one_pass.seconds + (WAIT_SECONDS if one_pass.locked else 0)
    try:
        for position in todo:
            done[position] = json.loads(lines.next(seconds))
            seconds = one_pass.seconds
        os.waitpid(child, 0)
    except ChildSilent:
        import signal

        os.kill(child, signal.SIGKILL)
        _mark_unknown(resources, position, one_pass, done)
    except ChildDied:
        os.waitpid(child, 0)
        text = "the process was killed: does the login node limit memory or run time?"
        done[position] = Outcome.of_failure(resources[position].identity, "failed", text).document()
    finally:
        os.close(reader)


def _child_main(todo: List[Resource], earlier: List[Resource], one_pass: Pass, writer: int) -> None:
    """Do the work of the child: without a terminal, reporting to the pipe only. Never returns.

    earlier: resources to examine again without a report, because later ones use what they store on the host.
    """
    try:
        host = one_pass.make_host()
        run = ResourceRun(host, one_pass.loop)
        try:
            null = os.open(os.devnull, os.O_RDWR)
            for handle in (0, 1, 2):
                os.dup2(null, handle)  # nothing but the engine writes the answer
            for resource in earlier:
                ResourceRun(host, examine).outcome(resource)
            if one_pass.locked:
                from .lock import AccountLock  # most runs change nothing, and wait for what Python compiles

                with AccountLock(host):
                    _write_outcomes(todo, run.outcome, writer)
            else:
                _write_outcomes(todo, run.outcome, writer)
        except (AccountError, OSError) as error:
            text = str(as_account_error(error, "opening " + os.devnull) if isinstance(error, OSError) else error)
            _write_outcomes(todo, lambda resource: Outcome.of_failure(resource.identity, "failed", text), writer)
    finally:
        os._exit(0)


def _write_outcomes(todo: List[Resource], outcome: Callable[[Resource], Outcome], writer: int) -> None:
    """Write the outcome of each resource to the pipe, one JSON document per line."""
    for resource in todo:
        left = json.dumps(outcome(resource).document()).encode("utf-8") + b"\n"
        while left:
            left = left[os.write(writer, left) :]


def _mark_unknown(resources: List[Resource], silent: int, one_pass: Pass, done: Dict[int, Document]) -> None:
    """Mark the silent resource as unknown, and find out which file systems hang.

    First those that the resources touch, then all: links may point to them. If all answer, those that the resource
    touches count as hanging, except the home's: others are on it.
    """
    from .._core.mounts import describe_hang, find_hanging, mount_of, mount_points

    mounts, host = mount_points(), one_pass.make_host()
    real = host.root + host.home
    home, own = mount_of(real, mounts), _touched_mounts(resources[silent], host, mounts)
    every = {home}.union(*(_touched_mounts(one, host, mounts) for one in resources))
    wait = max(1.0, one_pass.seconds * MOUNT_SHARE)
    hung = set(find_hanging(every, wait) or find_hanging(mounts, wait)) or own - {home}
    host.account.hung_mounts.update({mount: describe_hang(mount, real, one_pass.seconds) for mount in hung})
    why = [host.account.hung_mounts[mount] for mount in sorted(hung & own or hung)]
    if not why:
        text = "no answer in %d s, although the file systems respond. Run again; if that does not help, ask the site"
        why = [text % one_pass.seconds]
    done[silent] = Outcome.of_failure(resources[silent].identity, "unknown", why[0]).document()


def _touched_mounts(resource: Resource, host: Host, mounts: List[str]) -> Set[str]:
    """Return the mount points that a resource touches."""
    from .._core.mounts import mount_of

    try:
        return {mount_of(host.root + path, mounts) for path in resource.bound(host).touches(host)}
    except AccountError:
        return set()
