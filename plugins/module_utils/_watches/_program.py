# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Start a program that only reads, and take what it prints: with a time limit, a bound, and no way to ask anybody."""

import os
import select
import signal
import time
from typing import IO, Callable, List, Mapping, NamedTuple, Optional, Tuple, cast

LARGEST = 256 * 1024


class Said(NamedTuple):
    """What came of a program: what it printed, how long it took, and why there may be no more; "" is its own end."""

    text: str
    seconds: float
    why: str


def said(
    line: List[str],
    environment: Mapping[str, str],
    seconds: float,
    name: Optional[str] = None,
    prepare: Optional[Callable[[], None]] = None,
) -> Said:
    """Run line with an absolute path first; name is what it is called in its own arguments.

    prepare is called in the new process before the program takes it over; when that fails, nothing runs.

    It has nothing to read, no terminal and a session of its own, which is killed as a whole at the end; a program
    that hangs in a dead file server is not waited for.
    """
    import subprocess  # here, because few plans need it and starting Python is what a run waits for

    started = time.time()
    try:
        process = subprocess.Popen(
            [name or line[0]] + line[1:],
            executable=line[0],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=dict(environment),
            cwd="/",
            start_new_session=True,
            preexec_fn=prepare,
        )
    except (OSError, subprocess.SubprocessError):
        return Said("", 0.0, "cannot be run")
    stream = cast("IO[bytes]", process.stdout)
    printed, why = b"", ""
    try:
        printed, why = _printed(stream, started + seconds)
        while not why and process.poll() is None:
            why = "did not end in %d s" % seconds if time.time() > started + seconds else ""
            time.sleep(0.01)
        return Said(printed.decode("utf-8", "replace"), time.time() - started, why.replace("SECONDS", "%d" % seconds))
    finally:
        _kill(process.pid)
        stream.close()


def _printed(stream: "IO[bytes]", deadline: float) -> Tuple[bytes, str]:
    """What is printed up to the end, and why it is not all."""
    printed = b""
    while len(printed) <= LARGEST:
        if not select.select([stream], [], [], max(0.0, deadline - time.time()))[0]:
            return printed, "did not end in SECONDS s"
        got = os.read(stream.fileno(), 65536)
        if not got:
            return printed, ""
        printed += got
    return printed[:LARGEST], "printed more than %d kB" % (LARGEST // 1024)


def _kill(group: int) -> None:
    try:
        os.killpg(group, signal.SIGKILL)
    except OSError:
        pass  # all of it has ended
