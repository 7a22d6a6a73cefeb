# SPDX-License-Identifier: GPL-3.0-or-later
"""Tab in real shells: what somebody finds on their line, and how soon."""

from __future__ import annotations

import re
import resource
import subprocess
import sys
from pathlib import Path

import pexpect
import pytest

from tests.integration.runs import COMMAND

pytestmark = pytest.mark.testbed
ACCOUNTS = """plugin: hpc.onboard.accounts
accounts:
  simone@wilson: {project: deep_lgt}
  go42tum@lrz: {project: pr12ab}
  ada@daint: {project: g123}
"""
LINES = [  # what is typed, and what the line is after Tab
    ("hpc-onboard offb", "hpc-onboard offboard"),
    ("hpc-onboard onboard simo", "hpc-onboard onboard simone@wilson"),
    ("hpc-onboard audit simone@wi", "hpc-onboard audit simone@wilson"),
    ("hpc-onboard wil", "hpc-onboard wilson"),
    ("hpc-onboard onboard --tags cond", "hpc-onboard onboard --tags conda"),
    ("hpc-onboard plan -l lrz,csc", "hpc-onboard plan -l lrz,cscs"),
    ("hpc-onboard plan --ye", "hpc-onboard plan --yes"),
    ("hpc-onboard done go42tum@lrz export", "hpc-onboard done go42tum@lrz export_control"),
    ("hpc-onboard cheatsheet narv", "hpc-onboard cheatsheet narval"),
    ("hpc-onboard status --js", "hpc-onboard status --json"),
    ("hpc-onboard ledger who", "hpc-onboard ledger who-has"),
]
PROMPT = "READY> "
START = {
    "bash": (["--norc", "--noprofile", "-i"], f"PS1='{PROMPT}'; bind 'set enable-bracketed-paste off'"),
    "zsh": (["-f", "-i"], f"PS1='{PROMPT}'; unsetopt zle_bracketed_paste; autoload -U compinit; compinit -u -D"),
}


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Of somebody with three accounts, whose compiled files are their own."""
    (tmp_path / "accounts.yml").write_text(ACCOUNTS)
    programs = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    own = {"HOME": str(tmp_path), "PATH": programs, "TERM": "dumb", "LANG": "C.UTF-8", "COLUMNS": "200"}
    return {**own, "XDG_STATE_HOME": str(tmp_path / "state"), "PYTHONPYCACHEPREFIX": str(tmp_path / "compiled")}


@pytest.mark.parametrize("shell", START)
def test_tab_completes_the_line(shell: str, environment: dict[str, str]) -> None:
    options, begin = START[shell]
    run = pexpect.spawn(
        shell, options, env=environment, cwd=environment["HOME"], encoding="utf-8", timeout=30, dimensions=(24, 200)
    )
    run.sendline(f'{begin}; eval "$(hpc-onboard completion {shell})"; echo be"gun"')
    run.expect_exact("begun\r\n")
    found = {}
    for typed, line in LINES:
        run.send(f"{typed}\t")
        run.expect(re.escape(line[len(typed) :]))
        found[typed] = line
        run.sendcontrol("u")
    assert found == dict(LINES)
    run.sendeof()
    run.close(force=True)


def test_fish_completes_the_line(environment: dict[str, str]) -> None:
    script = "hpc-onboard completion fish | source; " + "; ".join(f"echo (complete -C '{typed}')" for typed, _ in LINES)
    done = subprocess.run(
        ["fish", "--no-config", "-c", script], env=environment, cwd=environment["HOME"], capture_output=True, text=True,
        check=False, timeout=120,
    )  # fmt: skip
    found = [line.split("\t")[0].strip() for line in done.stdout.splitlines()]
    assert found == [line.rpartition(" ")[2] for _typed, line in LINES], done.stdout + done.stderr


def asked(line: str, environment: dict[str, str], *options: str) -> tuple[list[str], str]:
    """What the command answers a shell, and what it said beside."""
    answer = Path(environment["HOME"], "answer")
    own = {**environment, "_ARGCOMPLETE": "1", "_ARGCOMPLETE_IFS": "\n", "_ARGCOMPLETE_STDOUT_FILENAME": str(answer)}
    own |= {"COMP_LINE": line, "COMP_POINT": str(len(line))}
    order = [sys.executable, *options, COMMAND]
    done = subprocess.run(order, env=own, cwd=environment["HOME"], capture_output=True, text=True, check=False)
    return answer.read_text().split("\n"), done.stderr


def test_an_answer_takes_no_time_and_no_ansible(environment: dict[str, str]) -> None:
    took = []
    for _turn in range(5):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        answer, _said = asked("hpc-onboard onboard ", environment)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        took.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert {"simone@wilson", "wilson", "cscs"} <= {word.strip() for word in answer}
    assert min(took) < 0.3
    _answer, loaded = asked("hpc-onboard onboard ", environment, "-X", "importtime")
    assert re.search(r"\| +argcomplete$", loaded, re.MULTILINE)
    assert not re.search(r"\| +ansible(\.|$)", loaded, re.MULTILINE)


@pytest.mark.parametrize("text", ["", "accounts: [", "accounts: {a: b}", "\0"])
def test_a_file_that_is_none_completes_verbs_all_the_same(environment: dict[str, str], text: str) -> None:
    Path(environment["HOME"], "accounts.yml").write_text(text)
    answer, said = asked("hpc-onboard o", environment)
    assert [word.strip() for word in answer] == ["onboard", "offboard"]
    assert said == ""
