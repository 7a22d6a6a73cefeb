# SPDX-License-Identifier: GPL-3.0-or-later
"""What a fix showed of itself, and whether what it did to an entry is that and nothing else."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

BLANK = b"removed-by-hpc.onboard"


class State(NamedTuple):
    """What an entry is: a file's bytes, a link's target."""

    kind: str
    mode: int
    content: bytes


States = dict[str, State]


def states(account: Any) -> States:
    """Return kind, mode and bytes of every entry of an account."""
    return {
        path: State(one.kind, one.mode, account.read(path) if one.kind == "file" else one.content.encode())
        for path, one in account.tree().items()
    }


class Fix:
    """A finding that `fix` showed, and where that is on the account."""

    def __init__(self, shown: dict[str, Any], account: Any) -> None:
        self.kind, self.options = shown["auto_fix"]["kind"], shown["auto_fix"]["options"]
        path = str(self.options["path"]).replace("~", account.home, 1)
        self.place, self.text = shown["place"], shown["text"]
        self.real, self.itself = str(account.path(path)), str(account.path(path, follow=False))

    def is_about(self, host_path: str) -> bool:
        """Return True if the entry at this path of the host is what the fix names, or is in it."""
        if self.kind == "leftover_fix":
            return host_path == self.itself or host_path.startswith(self.itself + "/")
        return host_path == self.real

    @property
    def line(self) -> int:
        """The line that is shown, from 1 on; 0 if none is."""
        number = str(self.place).rpartition(":")[2]
        return int(number) if number.isdigit() else 0

    def allows(self, then: State, now: State | None) -> bool:
        """Return True if this fix makes the one of the other."""
        if self.kind == "leftover_fix" or now is None:
            return self.kind == "leftover_fix" and now is None
        if self.kind == "access_fix":
            shut = 0o022 if self.options["way"] == "folder" else 0o077
            return now == then._replace(mode=then.mode & ~shut)
        return now.mode == then.mode and _is_cut(then.content, now.content)


def is_shown(then: State, now: State | None, fixes: Sequence[Fix]) -> bool:
    """Return True if the fixes explain the change: one alone, or for a text each of its changed lines by one."""
    if any(fix.allows(then, now) for fix in fixes if "statement" not in fix.kind and "key" not in fix.kind):
        return True
    if now is None or not any(fix.allows(then, now) for fix in fixes):
        return False
    shown = {fix.line for fix in fixes}
    every = any(re.search(r"on \d+ more lines", fix.text) for fix in fixes)
    return every or all(at in shown for at in changed_lines(then.content, now.content))


def changed_lines(before: bytes, after: bytes) -> list[int]:
    """Return the lines of the first text, from 1 on, that the second one does not have so."""
    return [
        at for tag, start, end, _a, _b in _steps(before, after) if tag != "equal" for at in range(start + 1, end + 1)
    ]


def carry_over(expected: States, path: str, then: State, now: State | None) -> None:
    """Change what is expected of an entry as a fix has changed it."""
    if now is None:
        expected.pop(path, None)
    elif path in expected:
        text = expected[path].content
        for tag, start, end, first, last in reversed(_steps(then.content, now.content)):
            if tag != "equal":
                old, new = _lines(then.content)[start:end], _lines(now.content)[first:last]
                text = text.replace(b"".join(old), b"".join(new), 1)
        mode = now.mode if now.mode != then.mode else expected[path].mode
        expected[path] = State(then.kind, mode, text)


def _is_cut(before: bytes, after: bytes) -> bool:
    """Return True if the new text has no byte that the old one had not, but in place of a key."""
    for tag, _start, _end, first, last in _steps(before, after):
        new = b"".join(_lines(after)[first:last])
        if tag != "equal" and not all(part in before for part in re.split(re.escape(BLANK) + b"|\\s+", new)):
            return False
    return True


def _steps(before: bytes, after: bytes) -> list[tuple[str, int, int, int, int]]:
    return difflib.SequenceMatcher(None, _lines(before), _lines(after), autojunk=False).get_opcodes()


def _lines(text: bytes) -> list[bytes]:
    return text.splitlines(keepends=True)
