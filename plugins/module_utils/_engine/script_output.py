# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The output of an exported script: the console's lines without colour, for 80 columns."""

import sys
import textwrap
from typing import Any, Dict, Iterator, List, Mapping, TextIO

from .._core.errors import printable
from .._core.resource import CHANGES, FAILURES

Document = Dict[str, Any]
WIDTH, COLUMN = 80, 17  # of a line, and of the column with the statuses, in front of the texts
WORDS = {  # the statuses as the user reads them, after a run
    "ok": "unchanged",
    "missing": "created",
    "different": "changed",
    "extra": "removed",
    "blocked": "blocked",
    "failed": "failed",
    "unknown": "unknown",
}
PLANNED = {"missing": "to create", "different": "to change", "extra": "to remove"}  # in a preview
FOUND = {"missing": "missing", "different": "different", "extra": "found"}  # in an audit
WORDS_OF_WORK = {"preview": dict(WORDS, **PLANNED), "examine": dict(WORDS, **FOUND)}  # by the engine's work
MARKS = {"ok": "=", "missing": "+", "different": "~", "extra": "-", "unknown": "?"}
GRAVE = ("critical", "high")  # severities that make an audit fail
AUDIT_CHECK = "watch"  # "capability" of an audit check's outcome, whose fields are findings; else it is a role


class ScriptOutput:
    """Prints to a stream, in ASCII if the stream's encoding is not UTF-8."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._is_ascii = (stream.encoding or "ascii").lower().replace("-", "") != "utf8"

    def print_line(self, line: str) -> None:
        """Print one line without wrapping it: it may be a command."""
        safe = line.encode("ascii", "replace").decode("ascii") if self._is_ascii else line
        self._stream.write(safe + "\n")

    def flush(self) -> None:
        """Write what is buffered. With a pipe to `head`, for example, the reader may have ended: then do nothing."""
        try:
            self._stream.flush()
        except OSError:
            pass

    def print_error(self, text: str) -> None:
        """Print to stderr, wrapped and in ASCII, why the program ends."""
        self.flush()
        for line in textwrap.wrap(text.strip(), WIDTH, break_long_words=False, break_on_hyphens=False):
            sys.stderr.write(line.encode("ascii", "replace").decode("ascii") + "\n")
        sys.stderr.flush()  # the script ends with os._exit, and Pythons before 3.9 buffer stderr

    def print_account(self, name: str, part: str, work: str, answer: Mapping[str, Any], seconds: float) -> bool:
        """Print the totals and the outcomes of an account; return True if the script must fail.

        name: of the account. part: onboard, audit or offboard. work: reconcile, preview or examine. answer: of the
        engine, with an outcome for each resource. seconds: the duration.
        """
        outcomes = answer["outcomes"]
        if part == "offboard":  # skip resources that did not exist
            outcomes = [
                outcome
                for outcome in outcomes
                if outcome["before"] or outcome["after"] or outcome["remarks"] or outcome["status"] != "ok"
            ]
        problem = (answer["receipt"] or {}).get("problem")
        has_failed = bool(problem) or any(_is_failure(outcome, part) for outcome in outcomes)
        words = WORDS_OF_WORK.get(work, WORDS)
        success, failure = ("*", "x") if self._is_ascii else ("\u2713", "\u2717")
        mark, totals = failure if has_failed else success, _format_totals(outcomes, words)
        self.print_line("%s %s  %s  (%.1f s)" % (mark, name, totals, seconds))
        lines = [line for outcome in outcomes for line in _render_outcome(outcome, words)]
        if problem:
            lines += _render_row("!", "failed", "the receipt: %s" % problem)
        for line in lines:
            self.print_line(line)
        return has_failed


def _format_totals(outcomes: List[Document], words: Mapping[str, str]) -> str:
    """Return how many outcomes have each status, problems first, such as "1 failed, 3 created". words: by status."""
    counts = [(sum(outcome["status"] == status for outcome in outcomes), word) for status, word in words.items()]
    return ", ".join("%d %s" % (count, word) for count, word in reversed(counts) if count) or "nothing to do"


def _is_failure(outcome: Mapping[str, Any], part: str) -> bool:
    """Return True if the outcome makes the script fail: a failure, or in an audit a difference or a grave finding."""
    if outcome["status"] in FAILURES:
        return True
    if part != "audit" or outcome["status"] == "ok":
        return False
    if outcome["capability"] != AUDIT_CHECK:  # a declared resource differs
        return True
    severities = outcome["evidence"].get("severities", {})
    return any(severity in GRAVE for severity in severities.values())


def _render_outcome(outcome: Mapping[str, Any], words: Mapping[str, str]) -> Iterator[str]:
    """Yield the lines of an outcome: its row if something differs or failed, and its notes.

    words: the word that the user reads for each status.
    """
    status = outcome["status"]
    if status in CHANGES or status in FAILURES:
        text = outcome["identity"]
        if outcome["after"].get("target"):  # of a link
            text += " -> " + outcome["after"]["target"]
        yield from _render_row(MARKS.get(status, "!"), words[status], text)
        if outcome["reason"]:
            yield from _render_row("", "", outcome["reason"])
        if outcome["capability"] == AUDIT_CHECK:
            for place, value in outcome["before"].items():  # one finding for each field
                yield from _render_row("", "", "%s: %s" % (place, value))
    for remark in outcome["remarks"]:
        yield from _render_row("", "note", remark)


def _render_row(mark: str, word: str, text: str) -> Iterator[str]:
    """Yield the lines of a row: mark and word in the first column, the text in the second.

    mark, word: the sign and the word for a status, or "".
    """
    head = ("  %s %s" % (mark or " ", word)).ljust(COLUMN)
    for line in _wrap(printable(text, 2000), WIDTH - COLUMN):
        yield (head + line).rstrip()
        head = " " * COLUMN


def _wrap(text: str, width: int) -> List[str]:
    """Return the text in lines. A word longer than a line is broken, after a slash if possible."""
    lines = [""]  # the last one is not complete yet
    for word in text.split(" "):
        joined = "%s %s" % (lines[-1], word) if lines[-1] else word
        if len(joined) <= width:
            lines[-1] = joined
            continue
        if lines[-1]:
            lines.append("")
        while len(word) > width:
            end = word.rfind("/", 1, width) + 1 or width  # rfind returns -1 without a slash
            lines[-1], word = word[:end], word[end:]
            lines.append("")
        lines[-1] = word
    return lines
