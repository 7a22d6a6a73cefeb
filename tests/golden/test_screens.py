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
import pytest

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


@pytest.mark.parametrize("columns", [80, 120])
def test_the_first_ten_minutes(columns: int) -> None:
    with place() as folder:

        def see(name: str, *words: str, answer: Callable[[Any], object] | None = None) -> str:
            text = at_terminal(client, columns, *words, answer=answer)
            hold(f"screen-{name}-{columns}.txt", text)
            return text

        client, file = Client(folder), folder / "accounts.yml"
        see("nothing")
        file.write_text(HEAD + TWELVE, encoding="utf-8")
        assert len(see("plan-twelve", "plan", "--check").splitlines()) <= 60
        file.write_text(HEAD + TWO, encoding="utf-8")
        assert len(see("plan-no", "plan", answer=say("n")).splitlines()) <= 40
        see("plan-end", "plan", answer=lambda run: run.sendeof())
        see("plan-yes", "plan", answer=say("y"))
        see("plan-again", "plan")
        see("status")
        see("audit", "audit")
        see("audit-one", "audit", "lrz")
        see("offboard-no", "offboard", answer=say("n"))
        see("offboard-yes", "offboard", "--yes")
        see("audit-drifted", "audit")
        file.write_text(REAL, encoding="utf-8")
        see("done", "done", "go42tum@lrz")
        see("status-real", "status")


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
