# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults in the whole command as it runs on an account: shell, interpreter, payload, engine and its children.

The calls that change an account are made by the locked child alone, so 'the first rename of a process'
is its first rename. A kill takes the child, and then every other process of the command, as a login
node does that ends a session; what the parent manages to say in between must not be a false success.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.effort import sample

from .harness import CALM, FAILURES, TREE, Tree, Writer, snapshot, writing
from .scenes import FOREIGN, OLD_SECRET, OURS, SECRET, credential, environment, link, put, script
from .sweep import WORKERS, Known, exposed, torn

CHANGING = "mkdir chmod fchmod rename renameat fsync unlinkat unlink symlinkat ftruncate pwrite64".split()  # noqa: SIM905  # words read better in one text
ERRNOS = ("EIO", "EDQUOT", "EACCES")
TOLERATED = ("ftruncate", "pwrite64", "unlink", "unlinkat")  # the lock's own line, and its and the drafts' removal
RESOURCES = [credential(), script(), link(), environment()]

sys.path.insert(0, str(TREE / "collections"))
sent = importlib.import_module("ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.payload")


def lay_out(home: Path) -> None:
    put(home / ".config/enroot/.credentials", OURS % OLD_SECRET + FOREIGN, 0o644)
    put(home / ".bashrc", "alias ll='ls -l'\n")
    (home.parents[1] / "data/me").mkdir(parents=True)


def command(writer: Writer, plan: dict[str, Any], inject: str) -> tuple[list[Any], str]:
    """Run the command under strace to its end, or to its kill; what it answered, and strace's log."""
    named = {entry["kind"] for entry in plan["resources"]}
    kinds = {kind: f"_resources.{kind}.{class_name(kind)}" for kind in named}
    log = writer.folder / "log"
    log.write_text("")
    # not with --seccomp-bpf, under which an injected SIGKILL is now and then not delivered
    strace = ["strace", "-f", "-o", str(log), "-e", "trace=" + ",".join(CHANGING)]
    strace += ["-e", "inject=" + inject] if inject else []
    with (writer.folder / "said").open("wb+") as said:
        process = subprocess.Popen(
            [*strace, "sh", "-c", sent.build_command(sys.executable, [])],
            stdin=subprocess.PIPE,
            stdout=said,
            stderr=said,
            env=CALM,
        )
        assert process.stdin
        process.stdin.write(sent.build_payload(plan, kinds))
        process.stdin.close()
        while process.poll() is None:
            _end_with_the_child(log)
            time.sleep(0.002)
    found = re.findall(rf"\n{sent.FRAME} \d+\n(.*)\n{sent.FRAME}\n", (writer.folder / "said").read_text())
    answer = json.loads(found[0]) if found else {"error": None, "outcomes": []}
    return [*answer["outcomes"], *([answer["error"]] if answer["error"] else [])], log.read_text()


def _end_with_the_child(log: Path) -> None:
    """When strace has killed one process of the command, kill those that it still traces."""
    text = log.read_text()
    if "+++ killed by SIGKILL" not in text:
        return
    ended = set(re.findall(r"^(\d+) +\+\+\+", text, re.MULTILINE))
    for process in set(re.findall(r"^(\d+) ", text, re.MULTILINE)) - ended:
        with suppress(ProcessLookupError):
            os.kill(int(process), signal.SIGKILL)


def class_name(kind: str) -> str:
    return "".join(word.title() for word in kind.split("_"))


def study(writer: Writer) -> tuple[Known, list[tuple[str, int]]]:
    """The clean run: the account before and after, and the changing calls as (name, number)."""
    lay_out(writer.fresh())
    old = snapshot(writer.root)
    answer, log = command(writer, writer.plan(RESOURCES), "")
    assert [one["status"] for one in answer] == ["different", "missing", "missing", "missing"]
    counts = Counter(re.findall(r"^\d+ +(\w+)\(", log, re.MULTILINE))
    assert len(set(re.findall(r"^(\d+) +\w+\(", log, re.MULTILINE))) == 1, "more than one process changes the account"
    points = [(name, number) for name, total in counts.items() for number in range(1, total + 1)]
    return Known(old, snapshot(writer.root), [], []), points


def broken(writer: Writer, known: Known, name: str, number: int, what: str) -> Iterator[str]:
    """The promises that a fault breaks."""
    lay_out(writer.fresh())
    plan = writer.plan(RESOURCES)
    effect = "signal=KILL" if what == "KILL" else "error=" + what
    answer, log = command(writer, plan, f"{name}:{effect}:when={number}")
    if ("killed by SIGKILL" if what == "KILL" else "(INJECTED)") not in log:
        yield "the fault was not injected"
    now = snapshot(writer.root)
    yield from torn(known, now)
    yield from exposed(now)
    if SECRET in str(answer) or OLD_SECRET in str(answer):
        yield "the key is in what was said"
    yield from _untrue(answer, known, now, name, what)
    for turn, wanted in (("rerun", {"ok", "missing", "different"}), ("third run", {"ok"})):
        statuses = [one["status"] for one in writer.run(plan)["outcomes"]]
        if not statuses or not set(statuses) <= wanted or snapshot(writer.root) != known.new:
            yield f"{turn}: {statuses}"


def _untrue(answer: list[Any], known: Known, now: Tree, name: str, what: str) -> Iterator[str]:
    """A success that is none, or an error without its name."""
    failed = [one for one in answer if isinstance(one, str) or one["status"] in FAILURES]
    files = {path: node for path, node in now.items() if not path.endswith(".lock")}
    if answer and not failed and files != known.new:
        yield f"success was said, but the account is not so: {answer}"
    if what != "KILL" and not failed and name not in TOLERATED:
        yield f"the error was not told: {answer}"
    if what != "KILL" and failed and what not in str(failed):
        yield f"the error is not named: {failed}"


def sweep(what: tuple[str, ...]) -> tuple[int, list[str]]:
    """How many faults there were, and the promises that they broke."""
    with writing() as one:
        known, points = study(one)

    def some(share: list[tuple[str, int, str]]) -> list[str]:
        with writing() as own:
            return [f"{fault}: {text}" for fault in share for text in broken(own, known, *fault)]

    faults = [(*point, what[i % len(what)]) for i, point in enumerate(sample(points, 30, what))]
    with ThreadPoolExecutor(WORKERS) as pool:
        found = pool.map(some, [faults[i::WORKERS] for i in range(WORKERS)])
        return len(faults), [text for texts in found for text in texts]


def test_a_killed_session_leaves_old_or_new(count: Callable[[str, int, int], None]) -> None:
    points, found = sweep(("KILL",))
    count("kill points", points, len(found))
    assert not found, "\n" + "\n".join(found)


def test_an_error_in_the_whole_command_is_told(count: Callable[[str, int, int], None]) -> None:
    points, found = sweep(ERRNOS)
    count("injected errors", points, len(found))
    assert not found, "\n" + "\n".join(found)
