# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Take resources through a loop in a child process, so that a hung file system affects only the resources on it.

A process that waits for a dead file server cannot be interrupted, only abandoned. So a child does the work and reports
each outcome over a pipe. If it stays silent too long, the outcome of its resource is unknown, further children find out
which file systems hang, and a new child continues with the next resource. A file system that hangs is not accessed
again in this run. Usually one child does all the work.

A loop is a function that examines or reconciles (brings to its desired state) one resource, and returns the outcome. A
Host reads and changes the files of the account.
"""

import json
import os
import select
import time
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Set

from .._core.errors import AccountError, as_account_error
from .._core.host import Host
from .._core.resource import FAILURES, Outcome, Resource, examine, list_touched_paths
from .plan import WAIT_SECONDS, Loop, ResourceRun

Document = Dict[str, Any]
MOUNT_SHARE = 0.1  # file systems must answer in this share of the time for one resource, or in one second


class Pass(NamedTuple):
    """How to take a list of resources through a loop once."""

    make_host: Callable[[], Host]
    loop: Loop
    locked: bool  # hold the account's lock
    seconds: float  # for one resource
    prerequisites: int = 0  # number of leading resources that store on the host what the others need


class ChildSilent(Exception):
    """The child sent nothing in time."""


class ChildDied(Exception):
    """The child ended before its work was done."""


class LineReader:
    """Reads lines from a pipe, each within a time limit."""

    def __init__(self, handle: int) -> None:
        """Store the handle of the pipe's reading end."""
        self._handle = handle
        self._buffer = b""  # what was received after the last line that was returned

    def read_line(self, seconds: float) -> str:
        """Return the next line. Raise ChildSilent after this time, and ChildDied at the end of the pipe."""
        deadline = time.time() + seconds
        while b"\n" not in self._buffer:
            if not select.select([self._handle], [], [], max(0.0, deadline - time.time()))[0]:
                raise ChildSilent
            chunk = os.read(self._handle, 65536)
            if not chunk:
                raise ChildDied
            self._buffer += chunk
        line, _newline, self._buffer = self._buffer.partition(b"\n")
        return line.decode("utf-8")


def run_isolated(
    resources: List[Resource], one_pass: Pass, final_outcomes: Optional[Mapping[int, Document]] = None
) -> List[Document]:
    """Take all resources through the pass, and return their outcomes in order.

    final_outcomes: the outcomes, by position, of resources that are not accessed again.
    """
    outcomes = dict(final_outcomes or {})
    while len(outcomes) < len(resources):
        _run_child(resources, one_pass, outcomes)
    return [outcomes[position] for position in range(len(resources))]


def _run_child(resources: List[Resource], one_pass: Pass, outcomes: Dict[int, Document]) -> None:
    """Take the resources without an outcome through the pass in one child, and add their outcomes to the dictionary.

    If the child hangs or is killed, its present resource becomes unknown or failed; the next child takes the others.
    """
    todo = [position for position in range(len(resources)) if position not in outcomes]
    prerequisites = [  # examined by an earlier child, but this child has a host of its own
        resource
        for position, resource in enumerate(resources[: one_pass.prerequisites])
        if position in outcomes and outcomes[position]["status"] not in FAILURES
    ]
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        _child_main([resources[position] for position in todo], prerequisites, one_pass, writer)
    os.close(writer)
    lines = LineReader(reader)
    seconds = one_pass.seconds + (WAIT_SECONDS if one_pass.locked else 0)  # the first outcome may wait for the lock
    try:
        for position in todo:
            outcomes[position] = json.loads(lines.read_line(seconds))
            seconds = one_pass.seconds
        os.waitpid(child, 0)
    except ChildSilent:
        import signal  # imported late: few children hang

        os.kill(child, signal.SIGKILL)
        _mark_unknown(resources, position, one_pass, outcomes)  # the loop ended at the outcome that did not arrive
    except ChildDied:  # at the resource at this position
        os.waitpid(child, 0)
        text = (
            "the process was killed, perhaps by a memory or time limit of the login node: ask the site for its limits"
        )
        outcomes[position] = Outcome.of_failure(resources[position].identity, "failed", text).document()
    finally:
        os.close(reader)


def _child_main(todo: List[Resource], prerequisites: List[Resource], one_pass: Pass, writer: int) -> None:
    """Run as the child: take resources through the pass, write their outcomes to the pipe, and end the process.

    todo: the resources without an outcome. prerequisites: resources to examine first, without a report, because others
    use what they store on the host.
    """
    try:
        host = one_pass.make_host()
        run = ResourceRun(host, one_pass.loop)
        try:
            null = os.open(os.devnull, os.O_RDWR)
            for handle in (0, 1, 2):
                os.dup2(null, handle)  # only the parent may write to stdout, where it prints the answer
            for resource in prerequisites:
                ResourceRun(host, examine).produce_outcome(resource)
            if one_pass.locked:
                from .lock import run_locked  # imported late: compiling takes time, and most runs change nothing

                run_locked(host, lambda: _write_outcomes(todo, run.produce_outcome, writer))
            else:
                _write_outcomes(todo, run.produce_outcome, writer)
        except (AccountError, OSError) as error:  # the lock is not available, for example: all resources fail
            text = str(as_account_error(error, "opening " + os.devnull) if isinstance(error, OSError) else error)
            _write_outcomes(todo, lambda resource: Outcome.of_failure(resource.identity, "failed", text), writer)
    finally:
        os._exit(0)


def _write_outcomes(todo: List[Resource], get_outcome: Callable[[Resource], Outcome], writer: int) -> None:
    """Write the outcome of each resource to the pipe, one JSON document per line."""
    for resource in todo:
        rest = json.dumps(get_outcome(resource).document()).encode("utf-8") + b"\n"
        while rest:
            rest = rest[os.write(writer, rest) :]


def _mark_unknown(resources: List[Resource], silent: int, one_pass: Pass, outcomes: Dict[int, Document]) -> None:
    """Mark a resource as unknown, and record on the account which file systems hang. silent: its position.

    File systems that the resources touch are tried first, then all others, to which links may point. If all respond,
    the file systems that the resource touches are treated as hanging, except that of the home, which others need.
    """
    from .._core.mounts import describe_hang, find_hanging, find_mount, list_mount_points

    mounts, host = list_mount_points(), one_pass.make_host()
    home = host.root + host.home
    home_mount = find_mount(home, mounts)
    silent_mounts = _list_touched_mounts(resources[silent], host, mounts)
    all_touched = {home_mount}.union(*(_list_touched_mounts(resource, host, mounts) for resource in resources))
    wait = max(1.0, one_pass.seconds * MOUNT_SHARE)
    hanging = set(find_hanging(all_touched, wait) or find_hanging(mounts, wait))
    if not hanging:
        hanging = silent_mounts - {home_mount}
    host.account.hung_mounts.update({mount: describe_hang(mount, home, one_pass.seconds) for mount in hanging})
    # if the resource touches none of these file systems itself, one of its links may point to one
    causes = sorted((hanging & silent_mounts) or hanging)
    if causes:
        text = host.account.hung_mounts[causes[0]]  # the first one is enough to explain the outcome
    else:
        text = (
            "the work on this resource did not end within %d s, although the file systems respond. Run hpc-onboard"
            " again. If that does not help, ask the site for help" % one_pass.seconds
        )
    outcomes[silent] = Outcome.of_failure(resources[silent].identity, "unknown", text).document()


def _list_touched_mounts(resource: Resource, host: Host, mounts: List[str]) -> Set[str]:
    """Return the mount points of the paths that a resource touches; none if a path contains an unset variable."""
    from .._core.mounts import find_mount

    return {find_mount(host.root + path, mounts) for path in list_touched_paths(resource, host)}
