# SPDX-License-Identifier: GPL-3.0-or-later
"""What a newcomer sees at a terminal of 80 and of 120 columns, from the first command to the last one."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pexpect

from tests.golden.seen import hold, place, plain
from tests.testbed.client import Client

TWO = "  go42tum@lrz: {project: pr12ab}\n  simone@wilson: {project: deep_lgt}\n"
USERS = ("ada", "bob", "cyd", "dan", "eve", "fay")
TWELVE = "".join(f"  {one}@dfki:\n  {one}@wilson: {{project: p{at % 2}}}\n" for at, one in enumerate(USERS))
REAL = "plugin: hpc.onboard.accounts\naccounts: {go42tum@lrz: {project: pr12ab}}\n"
HEAD = "plugin: hpc.onboard.accounts\nsandbox: true\naccounts:\n"
ESCAPE = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b\[")


def start(client: Client, columns: int, *words: str) -> Any:
    """Start hpc-onboard at a terminal, in the folder with the accounts."""
    environment = {**client.environment(), "CI": "1", "TERM": "xterm", "ANSIBLE_FORKS": "1", "NO_COLOR": "1"}
    environment |= {"ANSIBLE_NOCOLOR": "1", "HPC_ONBOARD_SSH": "none"}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    more: dict[str, Any] = {"encoding": "utf-8", "dimensions": (60, columns), "timeout": 120}
    return pexpect.spawn("hpc-onboard", list(words), cwd=client.home.parent, env=environment, **more)


def at_terminal(client: Client, columns: int, *words: str, answer: Callable[[Any], object] | None = None) -> str:
    """Run hpc-onboard at a terminal; return what it showed, plain, and how it ended."""
    run, folder = start(client, columns, *words), client.home.parent
    shown = ""
    if answer:
        run.expect(r"\[y/N\] ")
        shown = run.before + run.after
        answer(run)
    run.expect(pexpect.EOF)
    run.close()
    text = ESCAPE.sub("", (shown + run.before).replace("\r\n", "\n").replace("\r", ""))
    return plain(f"{text}---- exit {run.exitstatus}\n", {str(folder): "<home>", str(folder)[1:]: "<home>"})


def say(answer: str) -> Callable[[Any], object]:
    """Return what types an answer."""
    return lambda run: run.send(f"{answer}\r")


def see(client: Client, columns: int, name: str, *words: str, answer: Callable[[Any], object] | None = None) -> int:
    """Run hpc-onboard at a terminal, hold what it showed, and return the number of lines."""
    text = at_terminal(client, columns, *words, answer=answer)
    hold(f"screen-{name}-{columns}.txt", text)
    return len(text.splitlines())


def test_the_first_ten_minutes() -> None:
    with place() as folder:
        client, file = Client(folder), folder / "accounts.yml"
        see(client, 80, "nothing")
        file.write_text(HEAD + TWELVE, encoding="utf-8")
        assert see(client, 80, "plan-twelve", "plan", "--check") <= 60
        file.write_text(HEAD + TWO, encoding="utf-8")
        assert see(client, 80, "plan-no", "plan", answer=say("n")) <= 40
        ended = at_terminal(client, 80, "plan", answer=lambda run: run.sendeof())
        assert ended.endswith("To confirm in advance, run: hpc-onboard plan --yes\n---- exit 2\n")
        see(client, 80, "plan-yes", "plan", answer=say("y"))
        see(client, 80, "plan-again", "plan")
        see(client, 80, "status", "status")
        see(client, 80, "audit", "audit")
        see(client, 80, "audit-one", "audit", "lrz")
        see(client, 80, "offboard-no", "offboard", answer=say("n"))
        see(client, 80, "offboard-yes", "offboard", "--yes")
        see(client, 80, "audit-drifted", "audit")
        file.write_text(REAL, encoding="utf-8")
        see(client, 80, "done", "done", "go42tum@lrz")
        see(client, 80, "status-real", "status")


def test_what_a_wide_terminal_shows_in_another_way() -> None:
    with place() as folder:
        client, file = Client(folder), folder / "accounts.yml"
        file.write_text(HEAD + TWELVE, encoding="utf-8")
        see(client, 120, "plan-twelve", "plan", "--check")
        file.write_text(HEAD + TWO, encoding="utf-8")
        see(client, 120, "plan-yes", "plan", answer=say("y"))
        at_terminal(client, 120, "offboard", "--yes")
        see(client, 120, "audit-drifted", "audit")
        file.write_text(REAL, encoding="utf-8")
        see(client, 120, "done", "done", "go42tum@lrz")
        see(client, 120, "status-real", "status")


def test_what_is_typed_before_a_question_is_neither_shown_nor_an_answer_and_echo_returns() -> None:
    with place() as folder:
        client = Client(folder)
        (folder / "accounts.yml").write_text(HEAD + TWO, encoding="utf-8")
        run = start(client, 80, "plan")
        assert run.waitnoecho(30)
        run.send("nvapi-pasted-too-early\ry\r")
        run.expect(r"\[y/N\] ")
        assert "nvapi" not in run.before
        assert run.getecho()
        run.send("n\r")
        run.expect("Cancelled")
        run.expect(pexpect.EOF)
        run = start(client, 80, "audit")
        assert run.waitnoecho(30)
        run.sendintr()
        run.expect(pexpect.EOF)
        assert run.getecho(), "after Ctrl-C"
