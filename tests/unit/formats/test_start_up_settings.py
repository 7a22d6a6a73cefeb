# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lines that set a variable of ours anew: what is said of each, and what the shell itself makes of it."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from ansible_collections.hpc.onboard.plugins.module_utils._formats.settings import find_job_overrides, find_overrides

HOME = "/home/ada"
OURS = {"CACHE": "/work/ada/cache"}
ANEW = {  # shell -> lines after which the variable is another one
    "bash": [
        "export CACHE=/tmp/x",
        "export CACHE=$HOME/.cache",
        'export CACHE="${HOME}/.cache"  # from the tutorial',
        "export CACHE='/tmp/x'; umask 022",
        "[ -d / ] && export CACHE=~/c",
        "CACHE=/tmp/x",
        "declare -x CACHE=/tmp/x",
        "declare -gx CACHE=/tmp/x",
        "declare -r -x CACHE=/tmp/x",
        "if true; then export CACHE=/tmp/x; fi",
        "export CACHE=$(echo /tmp)/x",
        "export OTHER='a;b'; export CACHE=/tmp/x",
        "export OTHER=1 MORE=2 && export CACHE=/tmp/x",
        "if true; then export OTHER=1;export CACHE=/tmp/x; fi",
    ],
    "tcsh": ["setenv CACHE /tmp/x", 'setenv CACHE "$HOME/c"', "setenv OTHER 1; setenv CACHE /tmp/x"],
    "fish": ["set -gx CACHE /tmp/x", "set -x CACHE $HOME/c", "set -gx OTHER 1; set -gx CACHE /tmp/x"],
}
SAME = {  # -> lines after which it is the same
    "bash": [
        "# export CACHE=/tmp/x",
        "export CACHE=/work/ada/cache",
        'export CACHE="/work/ada/cache"',
        "export CACHE",
        "export CACHES=/tmp/x",
        "export MY_CACHE=/tmp/x",
        ': "${CACHE:=/tmp/x}"',
        'export CACHE="${CACHE:-/tmp/x}"',
        '[ -z "$CACHE" ] && export CACHE=/tmp/x',
        "alias x='CACHE=/tmp/x y'",
        'export OTHER="1; export CACHE=/tmp/x"',
        "export OTHER=1 # ; export CACHE=/tmp/x",
        "export OTHER=\\'\\; export CACHE",
    ],
    "tcsh": ["if ( ! $?CACHE ) setenv CACHE /tmp/x", "setenv CACHE /work/ada/cache"],
    "fish": ["set -gx CACHE /work/ada/cache", "set -q CACHE; or set -gx CACHE $CACHE /x"],
}
SET = {
    "bash": "export CACHE=/work/ada/cache",
    "tcsh": "setenv CACHE /work/ada/cache",
    "fish": "set -gx CACHE /work/ada/cache",
}
START = {"bash": ["--norc", "-c"], "tcsh": ["-f", "-c"], "fish": ["--no-config", "-c"]}
LINES = [
    (shell, line, anew) for anew, table in ((True, ANEW), (False, SAME)) for shell in table for line in table[shell]
]


@pytest.mark.parametrize(("shell", "line", "anew"), LINES)
def test_a_line_is_told_where_the_shell_has_another_value_then(shell: str, line: str, anew: bool) -> None:
    found = list(find_overrides(f"ours # hpc.onboard\n{line}\n", OURS, HOME))
    assert [(one.line, one.name) for one in found] == ([(2, "CACHE")] if anew else [])
    program = shutil.which(shell)
    if program is None:
        pytest.fail(f"{shell} is not here to judge")
    text = f"{SET[shell]}\n{line}\n/usr/bin/printenv CACHE"
    said = subprocess.run(
        [program, *START[shell], text], env={"HOME": HOME, "PATH": "/bin"}, capture_output=True, text=True, check=True
    )
    assert (said.stdout.strip() != OURS["CACHE"]) == anew


def test_what_stands_above_our_line_is_overwritten_by_it() -> None:
    text = "export CACHE=/tmp/a\n. env.sh # hpc.onboard\nexport CACHE=/tmp/b\n"
    assert [one.line for one in find_overrides(text, OURS, HOME)] == [3]
    assert [one.line for one in find_overrides("export CACHE=/tmp/a\n", OURS, HOME)] == [1]


def test_what_stands_before_the_reading_of_the_file_with_our_line_is_overwritten_by_it() -> None:
    text = "export CACHE=/tmp/a\n# .bashrc comes next\n[ -f ~/.bashrc ] && . ~/.bashrc\nexport CACHE=/tmp/b\n"
    assert [one.line for one in find_overrides(text, OURS, HOME)] == [4]


def test_what_may_stand_in_a_block_is_not_certain() -> None:
    text = "if x; then\n  export CACHE=/a\nfi\ntest -d /b && export CACHE=/b\nexport CACHE=$X\nexport CACHE=/c\n"
    assert [one.is_certain(HOME) for one in find_overrides(text, OURS, HOME)] == [False, False, False, True]


def test_a_value_is_told_where_it_is_written_out() -> None:
    lines = ["A=/x", "A=~/x", "A='~/x'", 'A="$HOME/x y"', "A=$(x)", "A=/x/$USER", "A=${HOME}/x ; B=1"]
    found = list(find_overrides("\n".join(lines), {"A": "ours"}, HOME))
    assert [one.value(HOME) for one in found] == ["/x", f"{HOME}/x", "", "", "", "", f"{HOME}/x"]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ('[ -n "$SLURM_JOB_ID" ] && export CACHE=/tmp/x', [1]),
        ('if [ -n "$SLURM_JOB_ID" ]; then\n  export CACHE=/tmp/x\nfi\nexport CACHE=/tmp/x', [2]),
        ("case $SLURM_JOB_ID in ?*) unset CACHE;; esac\nunset CACHE", [1]),
        ("if ( $?SLURM_JOB_ID ) then\n  unsetenv CACHE\nendif\n", [2]),
        ("if set -q SLURM_JOB_ID\n  set -gx CACHE /x\nend\n", [2]),
        ('if [ "$SLURM_JOB_ID" ]; then\n if x; then y; fi\n export CACHE=/x\nfi\nexport CACHE=/x', [3]),
        ('if [ "$SLURM_JOB_ID" ]\nthen\n if x\n then\n  y\n fi\n unset CACHE\nfi\nunset CACHE', [7]),
        ('if [ "$SLURM_JOB_ID" ]; then\n for x in a b; do y; done | z\n\n unset CACHE\nfi\nunset CACHE', [4]),
        ("if ( $?SLURM_JOB_ID ) setenv CACHE /x\nsetenv CACHE /x\n", [1]),
        (
            "if ( $?SLURM_JOB_ID ) then\n switch (x)\n case x:\n endsw\n if ( y ) z\n unsetenv CACHE\nendif\n"
            "unsetenv CACHE\n",
            [6],
        ),
        (
            "if set -q SLURM_JOB_ID\n for x in y; z; end\n switch z\n case z\n end\n set -e CACHE\nend\nset -e CACHE",
            [6],
        ),
        ('# [ -n "$SLURM_JOB_ID" ] && export CACHE=/tmp/x', []),
        ('[ -n "$SLURM_JOB_ID" ] && export CACHE=/work/ada/cache CACHES=/x', []),
        ("export OMP_NUM_THREADS=$SLURM_CPUS_PER_TASK\nexport CACHE=/tmp/x", []),
    ],
)
def test_a_line_for_jobs_alone_is_told(text: str, lines: list[int]) -> None:
    assert [line for line, _name in find_job_overrides(text, OURS, HOME)] == lines
