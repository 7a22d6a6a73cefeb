# SPDX-License-Identifier: GPL-3.0-or-later
"""The lines of a file that is run by hand: 80 columns, ASCII where the terminal has no more, and what counts as bad."""

from __future__ import annotations

import io
import os
from typing import Any

import pytest
from ansible_collections.hpc.onboard.plugins.module_utils._engine.script_output import ScriptOutput

LONG = "/dss/dssfs04/lwp-dss-0002/" + "pr12ab-dss-0000/" * 6 + "enroot"


def outcome(status: str = "ok", **more: Any) -> dict[str, Any]:
    """One of an answer."""
    known: dict[str, Any] = {"identity": "link ~/dss", "capability": "storage_links", "status": status, "reason": ""}
    known.update(before={"is": "link"}, after={}, remarks=[], evidence={})
    return {**known, **more}


def shown(part: str, work: str, *outcomes: dict[str, Any], encoding: str = "utf-8", problem: str = "") -> Any:
    """Whether it is bad, and the text."""
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    answer = {"outcomes": list(outcomes), "receipt": {"problem": problem}}
    bad = ScriptOutput(stream).print_account("ada@robot", part, work, answer, 1.0)
    stream.seek(0)
    return bad, stream.read()


@pytest.mark.parametrize(
    ("part", "found", "bad"),
    [
        ("onboard", outcome(), False),
        ("onboard", outcome("missing"), False),
        ("onboard", outcome("blocked", reason="a folder is there"), True),
        ("onboard", outcome("unknown"), True),
        ("audit", outcome("missing"), True),
        ("audit", outcome("different", capability="watch", evidence={"severities": {"~/.bashrc:2": "high"}}), True),
        ("audit", outcome("different", capability="watch", evidence={"severities": {"~/.bashrc": "low"}}), False),
        ("offboard", outcome("extra"), False),
    ],
)
def test_what_counts_as_bad(part: str, found: dict[str, Any], bad: bool) -> None:
    assert shown(part, "examine" if part == "audit" else "reconcile", found)[0] is bad


def test_a_receipt_that_cannot_be_noted_in_is_bad_and_said() -> None:
    bad, text = shown("onboard", "reconcile", outcome(), problem="the home is full")
    assert bad
    assert "the receipt: the home is full" in text


@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "latin-1"])
def test_every_line_fits_and_a_plain_terminal_gets_ascii(encoding: str) -> None:
    found = outcome("missing", after={"target": LONG}, reason="words " * 40, remarks=["é\x1b[2J is there " + LONG])
    _bad, text = shown("onboard", "reconcile", found, encoding=encoding)
    assert max(map(len, text.splitlines())) <= 80
    assert "\x1b" not in text
    assert encoding == "utf-8" or text.isascii()
    assert "".join(LONG.split("/")) in "".join(text.split()).replace("/", "")


@pytest.mark.parametrize(("work", "word"), [("reconcile", "created"), ("preview", "to create"), ("examine", "missing")])
def test_the_words_say_whether_it_was_done(work: str, word: str) -> None:
    text = shown("onboard", work, outcome("missing"))[1]
    assert f"1 {word}" in text
    assert f"+ {word}" in text


def test_what_was_gone_before_is_not_spoken_of_when_things_are_taken_out() -> None:
    text = shown("offboard", "reconcile", outcome("ok", before={}), outcome("extra", identity="file ~/x"))[1]
    assert "file ~/x" in text
    assert "in place" not in text


def test_an_error_is_written_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The script ends with os._exit, which drops what Python has not written yet."""
    written = io.BytesIO()
    monkeypatch.setattr("sys.stderr", io.TextIOWrapper(written, encoding="ascii"))
    ScriptOutput(io.StringIO()).print_error("set-up: no valid key was entered")
    assert written.getvalue() == b"set-up: no valid key was entered\n"


def test_an_output_that_no_program_reads_any_more_is_no_error(capsys: pytest.CaptureFixture[str]) -> None:
    """As with: python3 set-up | head -1."""
    reader, writer = os.pipe()
    os.close(reader)
    stream = io.TextIOWrapper(io.FileIO(writer, "w", closefd=False), encoding="utf-8")
    output = ScriptOutput(stream)
    output.print_line("a line")
    output.flush()
    output.print_error("set-up: EPIPE")
    assert capsys.readouterr().err == "set-up: EPIPE\n"
    os.close(writer)
