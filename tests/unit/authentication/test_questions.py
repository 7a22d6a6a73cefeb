# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a login node asks is asked in its name, in every line."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._authentication.questions import mark_lines
from ansible_collections.hpc.onboard.plugins.plugin_utils._authentication.ssh_login import answer_questions

KEY, OTHER_KEY = "Enter passphrase for key '/home/ada/.ssh/id': ", "Enter passphrase for key '/home/ada/.ssh/other': "


@pytest.mark.parametrize(
    ("asked", "shown"),
    [
        ("Code:", "ada@lrz: Code:"),
        ("", "ada@lrz: "),
        ("Code:\n\nPassphrase of the encrypted file:", "ada@lrz: Code:\nada@lrz: Passphrase of the encrypted file:"),
        ("Code:" + " " * 70 + "Passphrase:", "ada@lrz: Code: Passphrase:"),
        ("\n" * 900 + "PLAY RECAP ***", "ada@lrz: PLAY RECAP ***"),
    ],
)
def test_no_line_of_a_question_begins_with_words_of_a_login_node(asked: str, shown: str) -> None:
    assert mark_lines("ada@lrz", asked) == shown


def test_only_the_passphrase_of_the_same_key_is_given_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One key opens jump host and host by one answer; any other question that is repeated goes to the user again."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    asked: list[str] = []

    def ask(question: str) -> str:
        asked.append(question)
        return f"answer {len(asked)}"

    questions = [KEY, KEY, OTHER_KEY, "Password:", "Password:", KEY]
    with answer_questions(ask, asked.append):
        answers = [
            subprocess.run([os.environ["SSH_ASKPASS"], one], stdout=subprocess.PIPE, text=True, check=True).stdout
            for one in questions
        ]
    assert asked == [KEY.strip(), OTHER_KEY.strip(), "Password:", "Password:"]
    assert [answer.split()[-1] for answer in answers] == ["1", "1", "2", "3", "4", "1"]
