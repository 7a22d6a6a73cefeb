# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The manual steps that the user has marked as done: which step of which account, and when.

A manual step is something that the user must do at a site, such as accepting its terms of use. Only the user can report
such a step as done, because no program can see it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .durable_files import as_state_error, hold_lock, open_folder
from .state_document import StateDocument

if TYPE_CHECKING:
    from .._documents.record import StepMark

SCHEMA = "hpc.onboard/done-steps/1.0"
FILE, LOCK = "done_steps.json", "done_steps.lock"
WAIT_SECONDS = 10.0  # for another program to release the lock

Marks = dict[str, dict[str, "StepMark"]]
"""Account -> step -> who marked it as done, and when."""


def check_marks(marks: Any) -> None:
    """Raise ValueError, KeyError, TypeError or AttributeError unless these are Marks with printable texts.

    A mark has the time ("at") and the user ("by").
    """
    texts = [text for account, steps in marks.items() for text in (account, *steps)]
    texts += [mark[field] for steps in marks.values() for mark in steps.values() for field in ("at", "by")]
    if not all(isinstance(text, str) and text.isprintable() for text in texts):
        raise ValueError  # state_document.py reports a damaged file


DOCUMENT = StateDocument(
    folder="",
    name=FILE,
    schema=SCHEMA,
    advice="rename or move the file, then mark the steps again with `hpc-onboard done`",
    check=lambda document: check_marks(document["accounts"]),
)


def read_marks() -> Marks:
    """Return the marks of all accounts; {} if no step was ever marked. Raise StateError."""
    document = DOCUMENT.read()
    marks: Marks = document["accounts"] if document else {}
    return marks


def set_mark(account: str, step: str, mark: StepMark | None) -> bool:
    """Mark a step as done, or remove its mark if `mark` is None. Raise StateError.

    Return True if the step changes from open to done, or back; False if only the mark's fields change.
    """
    holder = "another program is writing the list of completed steps"
    with as_state_error(FILE), open_folder() as folder, hold_lock(folder, LOCK, holder, WAIT_SECONDS):
        document = DOCUMENT.read_in(folder) or {"schema": SCHEMA, "accounts": {}}
        steps = document["accounts"].setdefault(account, {})
        was_done, is_done = step in steps, mark is not None
        if mark is None:
            steps.pop(step, None)
        else:
            steps[step] = mark
        # drop an account whose last mark was removed
        document["accounts"] = {name: marks for name, marks in document["accounts"].items() if marks}
        DOCUMENT.write_in(folder, document)
    return was_done != is_done


def merge(others: Marks) -> int:
    """Add the marks of another machine; of two marks of a step, the later one stays. Return the number of new marks."""
    new_marks = 0
    for account, steps in others.items():
        own_marks = read_marks().get(account, {})
        for step, mark in steps.items():
            if step not in own_marks or own_marks[step]["at"] < mark["at"]:
                set_mark(account, step, mark)
                new_marks += 1
    return new_marks
