# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lines that a file prints which a person runs on the login node: those of the console, plain, for 80 columns."""

import sys
import textwrap
from typing import Any, Dict, Iterator, List, Mapping, TextIO

from .._core.errors import printable
from .._core.resource import CHANGES, FAILURES

Document = Dict[str, Any]
WIDTH, COLUMN = 80, 17
WORDS = {
    "ok": "unchanged",
    "missing": "created",
    "different": "changed",
    "extra": "removed",
    "blocked": "blocked",
    "failed": "failed",
    "unknown": "unknown",
}
FORESEEN = {"missing": "to create", "different": "to change", "extra": "to remove"}
FOUND = {"missing": "missing", "different": "different", "extra": "found"}
MARKS = {"ok": "=", "missing": "+", "different": "~", "extra": "-", "unknown": "?"}
GRAVE = ("critical", "high")  # of what is only watched: what fails an audit that was not told otherwise
WATCH = "watch"


class Page:
    """Where lines are printed."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._plain = (stream.encoding or "ascii").lower().replace("-", "") != "utf8"

    def say(self, line: str) -> None:
        """One line, as it is: a command is never broken."""
        safe = line.encode("ascii", "replace").decode("ascii") if self._plain else line
        self._stream.write(safe + "\n")

    def error(self, text: str) -> None:
        """What ends the program."""
        self._stream.flush()
        for line in textwrap.wrap(text.strip(), WIDTH, break_long_words=False, break_on_hyphens=False):
            sys.stderr.write(line.encode("ascii", "replace").decode("ascii") + "\n")

    def account(self, name: str, part: str, work: str, answer: Mapping[str, Any], seconds: float) -> bool:
        """What came of the account; whether something is not up to date."""
        outcomes = [one for one in answer["outcomes"] if part != "offboard" or _is_told(one)]
        problem = (answer["receipt"] or {}).get("problem")
        bad = bool(problem) or any(_is_bad(one, part) for one in outcomes)
        words = dict(WORDS, **(FOUND if work == "examine" else FORESEEN if work == "foresee" else {}))
        mark = ("x" if self._plain else "\u2717") if bad else ("*" if self._plain else "\u2713")
        self.say("%s %s  %s  (%.1f s)" % (mark, name, _counted(outcomes, words) or "nothing to do", seconds))
        for outcome in outcomes:
            for line in _lines(outcome, words):
                self.say(line)
        if problem:
            for line in _told("!", "failed", "the receipt: %s" % problem):
                self.say(line)
        return bad


def _is_told(outcome: Mapping[str, Any]) -> bool:
    """Whether something was there, or is to be said: what was gone before is not spoken of."""
    return bool(outcome["before"] or outcome["after"] or outcome["remarks"] or outcome["status"] != "ok")


def _is_bad(outcome: Mapping[str, Any], part: str) -> bool:
    if outcome["status"] in FAILURES:
        return True
    if part != "audit" or outcome["status"] == "ok":
        return False
    severities = outcome["evidence"].get("severities", {})
    return outcome["capability"] != WATCH or any(one in GRAVE for one in severities.values())


def _counted(outcomes: List[Document], words: Mapping[str, str]) -> str:
    counts = [(sum(one["status"] == status for one in outcomes), word) for status, word in words.items()]
    return ", ".join("%d %s" % pair for pair in reversed(counts) if pair[0])


def _lines(outcome: Mapping[str, Any], words: Mapping[str, str]) -> Iterator[str]:
    status = outcome["status"]
    if status in CHANGES or status in FAILURES:
        text = outcome["identity"]
        if outcome["after"].get("target"):
            text += " -> " + outcome["after"]["target"]
        yield from _told(MARKS.get(status, "!"), words[status], text)
        if outcome["reason"]:
            yield from _told("", "", outcome["reason"])
        if outcome["capability"] == WATCH:
            for place, seen in outcome["before"].items():
                yield from _told("", "", "%s: %s" % (place, seen))
    for remark in outcome["remarks"]:
        yield from _told("", "note", remark)


def _told(mark: str, word: str, text: str) -> Iterator[str]:
    """A mark and a word in their column, and a text in its own."""
    head = ("  %s %s" % (mark or " ", word)).ljust(COLUMN)
    for line in _wrapped(printable(text, 2000), WIDTH - COLUMN):
        yield (head + line).rstrip()
        head = " " * COLUMN


def _wrapped(text: str, room: int) -> List[str]:
    """The text in lines; what is longer than one is broken behind a slash where it has any."""
    lines = [""]
    for word in text.split(" "):
        joined = "%s %s" % (lines[-1], word) if lines[-1] else word
        if len(joined) <= room:
            lines[-1] = joined
            continue
        if lines[-1]:
            lines.append("")
        while len(word) > room:
            at = word.rfind("/", 1, room) + 1 or room
            lines[-1], word = word[:at], word[at:]
            lines.append("")
        lines[-1] = word
    return lines
