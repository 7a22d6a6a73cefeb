# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a login node asks is asked in its name, in every line."""

from __future__ import annotations

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._authentication.questions import mark_lines


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
