# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The steps that fix a finding, in their order: commands and advice (`fix` in docs/schemas/audit.schema.json).

A command is a list of arguments, which is quoted only for display.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import Literal, NamedTuple, TypedDict

BLOCKED = "Follow the advice in the finding."  # its text contains the advice
IN_HOME = re.compile(r"~/[A-Za-z0-9_./+@%=,-]+~?")


class LocalCommand(TypedDict):
    """A command to run on this machine."""

    kind: Literal["command"]
    where: Literal["here"]
    command: list[str]


class AccountCommand(TypedDict):
    """A command to run on the account. from_here: the command on this machine that runs it there.

    from_here is None for a sandbox, which has no login shell: the user runs the command in the sandbox's folder.
    """

    kind: Literal["command"]
    where: Literal["account"]
    command: list[str]
    from_here: list[str] | None


class Advice(TypedDict):
    """A sentence about what to do, if no command can do it."""

    kind: Literal["advice"]
    text: str


FixStep = LocalCommand | AccountCommand | Advice
Fix = list[FixStep]


def local_command(*words: str) -> LocalCommand:
    """Return a step that runs a command on this machine."""
    return {"kind": "command", "where": "here", "command": list(words)}


def account_command(words: Sequence[str], ansible: Sequence[str] | None) -> AccountCommand:
    """Return a step that runs a command on an account.

    words: of the command. ansible: the words of Ansible's command that select the account; None for a sandbox.
    """
    from_here = None if ansible is None else [*ansible, "-m", "raw", "-a", quote_for_account(words)]
    return {"kind": "command", "where": "account", "command": list(words), "from_here": from_here}


def advice(text: str) -> Advice:
    """Return a step that the user takes."""
    return {"kind": "advice", "text": text}


def quote_for_account(words: Sequence[str]) -> str:
    """Return a command for a shell of the account, quoted except for a leading '~/'."""
    return " ".join(word if IN_HOME.fullmatch(word) else shlex.quote(word) for word in words)


class FixPart(NamedTuple):
    """A part of a fix as text. is_command: True if it can be pasted into a shell of this machine."""

    text: str
    is_command: bool


def describe_fix(fix: Sequence[FixStep]) -> list[FixPart]:
    """Return a fix as text, in parts. Consecutive commands are joined with &&: each needs the command before.

    fix: the steps, in their order.
    """
    parts: list[FixPart] = []
    for number, step in enumerate(fix):
        words = local_words(step)
        if words is None:  # the user takes the step
            text = describe_step(step)
            is_last = number == len(fix) - 1  # else the next part follows the text
            parts.append(FixPart(text if is_last else f"{text.rstrip('.')}, then:", is_command=False))
        elif parts and parts[-1].is_command:
            parts[-1] = FixPart(f"{parts[-1].text} && {shlex.join(words)}", is_command=True)
        else:
            parts.append(FixPart(shlex.join(words), is_command=True))
    return parts


def local_words(step: FixStep) -> list[str] | None:
    """Return the command that takes the step from this machine; None if the user has to take it."""
    if step["kind"] == "advice":
        return None
    return step["command"] if step["where"] == "here" else step["from_here"]


def describe_step(step: FixStep) -> str:
    """Return a step as a sentence: advice, or a command in a sandbox. step: one for which local_words() is None."""
    return step["text"] if step["kind"] == "advice" else f"In the sandbox, run: {quote_for_account(step['command'])}"


def render_in_one_line(fix: Sequence[FixStep]) -> str:
    """Return a fix as one line of text."""
    return " ".join(part.text for part in describe_fix(fix))


def manual_steps(fix: Fix) -> Fix:
    """Return the steps that only the user can take, except advice that the finding's text contains.

    An audit shows these steps with the finding, and the commands for this machine at the end.
    """
    return [step for step in fix if _is_manual(step)]


def _is_manual(step: FixStep) -> bool:
    """Return True for advice, except BLOCKED, and for a command on an account that is no sandbox."""
    if step["kind"] == "advice":
        return step["text"] != BLOCKED
    return step["where"] == "account" and step["from_here"] is not None  # None for a sandbox
