# SPDX-License-Identifier: GPL-3.0-or-later
"""A file that a person wrote and that is no text: which line, and what to do."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.diagnostics import (
    Mistakes,
    YamlText,
    nearest,
    read_text,
)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"a: 1\nb: gr\xfcn\n", "accounts.yml:2: the file is not UTF-8: invalid byte 0xfc. Save the file as UTF-8."),
        (None, "accounts.yml: file not found."),
        ("a folder", "accounts.yml: this is a folder; give the path of a file."),
    ],
)
def test_a_file_that_cannot_be_read_is_one_mistake(
    content: bytes | str | None, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "accounts.yml"
    if isinstance(content, bytes):
        file.write_bytes(content)
    elif content:
        file.mkdir()
    with pytest.raises(Mistakes) as caught:
        read_text(file)
    assert str(caught.value).startswith(said)


def test_the_command_for_an_unreadable_file_can_be_copied(tmp_path: Path) -> None:
    (tmp_path / "my file").touch()
    with pytest.raises(Mistakes, match=r"ENOTDIR\. To check permissions, run:  ls -ld '.*/my file/a\.yml'"):
        read_text(tmp_path / "my file" / "a.yml")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a:\n\tb: 1\n", "x.yml:2: this is not valid YAML: the line is indented with a tab. Use spaces instead."),
        ("a:\n  b: 1\n \t c: 1\n", "x.yml:3: this is not valid YAML: the line is indented with a tab."),
        ("a: {b\n", "this is not valid YAML: "),
        ("---\na: 1\n---\nb: 2\n", "x.yml:3: a second YAML document begins here. Remove the line ---"),
    ],
)
def test_a_syntax_error_says_what_to_change(text: str, said: str) -> None:
    with pytest.raises(Mistakes) as caught:
        YamlText(Path("x.yml"), text).root()
    assert said in str(caught.value)


def test_without_known_words_no_suggestion_is_made() -> None:
    assert nearest("x", []) == "the list of valid names is empty."
    assert nearest("x", ["long"], listed=()) == "no known name is similar."


def test_a_tab_between_words_does_no_harm() -> None:
    assert YamlText(Path("x.yml"), "a:\t1\n").document() == {"a": 1}


def test_a_text_of_a_mistake_moves_no_cursor(tmp_path: Path) -> None:
    file = tmp_path / "own.yml"
    said = str(YamlText(file, "a: 1").mistake(("a",), "what is \x1b]0;pwn\x07 \u2800 here?"))
    assert said.endswith(r"what is \u001b]0;pwn\u0007 \u2800 here?")
