# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What fixes a thing: steps in their order, each a command or an advice, told apart by a field and never by its words.

It is the member `fix` of docs/schemas/audit.schema.json. A command is a list of arguments; it is quoted here, once,
when it is written for a person.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import Literal, NamedTuple, TypedDict

BLOCKED = "Do what the finding says."
IN_HOME = re.compile(r"~/[A-Za-z0-9_./+@%=,-]+~?")


class LocalCommand(TypedDict):
    """A command for this machine."""

    kind: Literal["command"]
    where: Literal["here"]
    command: list[str]


class AccountCommand(TypedDict):
    """A command for the account, where a leading '~/' is the home; from_here takes it there, from this machine.

    from_here is None for a sandbox, whose home no login shell has: there a person does it in the sandbox's folder.
    """

    kind: Literal["command"]
    where: Literal["account"]
    command: list[str]
    from_here: list[str] | None


class Advice(TypedDict):
    """What to do, in a sentence, where no command can do it."""

    kind: Literal["advice"]
    text: str


FixStep = LocalCommand | AccountCommand | Advice
Fix = list[FixStep]


def local_command(*words: str) -> LocalCommand:
    """A command for this machine."""
    return {"kind": "command", "where": "here", "command": list(words)}


def account_command(words: Sequence[str], ansible: Sequence[str] | None) -> AccountCommand:
    """A command for the account. ansible: the words that choose the account, -m raw is added; None for a sandbox."""
    from_here = None if ansible is None else [*ansible, "-m", "raw", "-a", quote_for_account(words)]
    return {"kind": "command", "where": "account", "command": list(words), "from_here": from_here}


def advice(text: str) -> Advice:
    """A sentence."""
    return {"kind": "advice", "text": text}


def quote_for_account(words: Sequence[str]) -> str:
    """A command as a shell of the account reads it: a leading '~/' stays the home."""
    return " ".join(word if IN_HOME.fullmatch(word) else shlex.quote(word) for word in words)


class FixPart(NamedTuple):
    """A part of a fix in words. is_command: whether the text can be pasted into a shell of this machine."""

    text: str
    is_command: bool


def describe_fix(fix: Sequence[FixStep]) -> list[FixPart]:
    """A fix in words: commands that follow one another are joined, for each needs the one before it."""
    parts: list[FixPart] = []
    for number, step in enumerate(fix):
        words = local_words(step)
        if words is None:
            text = describe_step(step)
            parts.append(FixPart(f"{text.rstrip('.')}, then:" if number < len(fix) - 1 else text, False))
        elif parts and parts[-1].is_command:
            parts[-1] = FixPart(f"{parts[-1].text} && {shlex.join(words)}", True)
        else:
            parts.append(FixPart(shlex.join(words), True))
    return parts


def local_words(step: FixStep) -> list[str] | None:
    """The words that do the step when they are run on this machine; None where a person does it otherwise."""
    if step["kind"] == "advice":
        return None
    return step["command"] if step["where"] == "here" else step["from_here"]


def describe_step(step: FixStep) -> str:
    """A step that is not pasted here, as a sentence."""
    return step["text"] if step["kind"] == "advice" else f"In its sandbox: {quote_for_account(step['command'])}"


def render_in_one_line(fix: Sequence[FixStep]) -> str:
    """All of a fix in words, for where nothing can be set apart."""
    return " ".join(part.text for part in describe_fix(fix))


def manual_steps(fix: Fix) -> Fix:
    """Return the steps that no subcommand takes and that the finding does not name itself."""
    return [step for step in fix if _is_manual(step)]


def _is_manual(step: FixStep) -> bool:
    if step["kind"] == "advice":
        return step["text"] != BLOCKED
    return step["where"] == "account" and step["from_here"] is not None
