# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a person has said that they did at a site where no program can see it: which step of which account, and when."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from . import durable_files
from .durable_files import StateError

if TYPE_CHECKING:
    from .._documents.record import StepMark

SCHEMA = "hpc.onboard/steps/1.0"
FILE, LOCK = "steps.json", "steps.lock"
WAIT_SECONDS = 10.0

Marks = dict[str, dict[str, "StepMark"]]
"""Account -> step -> who said that it is done, and when."""


def marks() -> Marks:
    """All that was said. Raises StateError where it cannot be read."""
    with durable_files.told(FILE), durable_files.folder(make=False) as at:
        return _of(durable_files.read(at, FILE))["accounts"] if at >= 0 else {}


def say(account: str, step: str, mark: StepMark | None) -> bool:
    """Keep that a step is done, or with None that it is not; whether that is new. Raises StateError."""
    with (
        durable_files.told(FILE),
        durable_files.folder() as at,
        durable_files.locked(at, LOCK, "another program writes down which steps are done", WAIT_SECONDS),
    ):
        document = _of(durable_files.read(at, FILE))
        mine = document["accounts"].setdefault(account, {})
        is_new = (step in mine) == (mark is None)
        if mark is None:
            mine.pop(step, None)
        else:
            mine[step] = mark
        document["accounts"] = {name: steps for name, steps in document["accounts"].items() if steps}
        durable_files.replace(at, FILE, json.dumps(document, indent=1, sort_keys=True).encode() + b"\n")
    return is_new


def merge(others: Marks) -> int:
    """Add what was said on another machine; of one step the later word counts. How many are new. Raises StateError."""
    new = 0
    for account, steps in others.items():
        known = marks().get(account, {})
        for step, mark in steps.items():
            if step not in known or known[step]["at"] < mark["at"]:
                say(account, step, mark)
                new += 1
    return new


def check(others: Any) -> None:
    """Raise ValueError and the like where this is not what was said somewhere; its words are shown to people."""
    words = [word for account, steps in others.items() for word in (account, *steps)]
    words += [mark[name] for steps in others.values() for mark in steps.values() for name in ("at", "by")]
    if not all(isinstance(word, str) and word.isprintable() for word in words):
        raise ValueError("a step")


def _of(content: bytes | None) -> dict[str, Any]:
    """The document of a file. Raises StateError."""
    if content is None:
        return {"schema": SCHEMA, "accounts": {}}
    from ...module_utils._core import document_version

    advice = "move it away, and say again which steps are done"
    try:
        found: dict[str, Any] = json.loads(content)
        why = document_version.refusal(found["schema"], SCHEMA, FILE, advice)
        if not why:
            for steps in found["accounts"].values():
                for mark in steps.values():
                    str(mark["at"]), str(mark["by"])
            return found
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        why = f"{FILE} is damaged: {advice}"
    raise StateError(why)
