# SPDX-License-Identifier: GPL-3.0-or-later
"""The judge of fixes: it lets through what a fix showed, and nothing else."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from .fixes_shown import Fix, State, is_shown

ACCOUNT = SimpleNamespace(home="/home/u", path=lambda path, follow=True: path)
RC = b"alias ll='ls -l'\nexport KEY=abc\nexport EDITOR=vim\n"


def shown(kind: str, **options: str) -> Fix:
    offered: dict[str, Any] = {"auto_fix": {"kind": kind, "options": {"path": "~/.bashrc", **options}}}
    return Fix({**offered, "place": "~/.bashrc:2", "text": "It stands there."}, ACCOUNT)


def state(content: bytes = RC, mode: int = 0o644) -> State:
    return State("file", mode, content)


CUT = RC.replace(b"export KEY=abc\n", b"")
STATEMENT, ACCESS = shown("statement_fix"), shown("access_fix", way="mode")


@pytest.mark.parametrize(
    ("now", "fix", "is_right"),
    [
        (state(CUT), STATEMENT, True),
        (state(RC.replace(b"abc", b"removed-by-hpc.onboard")), STATEMENT, True),
        (state(CUT.replace(b"export EDITOR=vim\n", b"")), STATEMENT, False),
        (state(RC.replace(b"vim", b"vi -u x")), STATEMENT, False),
        (state(CUT, 0o600), STATEMENT, False),
        (state(CUT + b"new\n"), STATEMENT, False),
        (None, STATEMENT, False),
        (state(mode=0o600), ACCESS, True),
        (state(mode=0o400), ACCESS, False),
        (state(CUT, 0o600), ACCESS, False),
        (None, shown("leftover_fix", what="copy"), True),
    ],
)
def test_a_fix_explains_what_it_showed_and_no_more(now: State | None, fix: Fix, is_right: bool) -> None:
    assert is_shown(state(), now, [fix]) is is_right
    assert not is_shown(state(), now, [])
