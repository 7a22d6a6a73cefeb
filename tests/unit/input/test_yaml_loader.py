# SPDX-License-Identifier: GPL-3.0-or-later
"""A document of others is bounded: one mistake with its line, no hang, no exhausted stack, no traceback."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts import quick_look
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.diagnostics import Lines, Mistakes
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.yaml_loader import DEPTH, excess

from tests.hostile_words import DOCUMENTS


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_without_bounds_is_one_mistake_with_its_line(tmp_path: Path, name: str) -> None:
    file = tmp_path / "accounts.yml"
    file.write_text(DOCUMENTS[name])
    for read in (lambda: Lines(file, DOCUMENTS[name]).document(), lambda: quick_look.accounts(file)):
        with pytest.raises(Mistakes) as refused:
            read()
        (mistake,) = refused.value.found
        assert mistake.line


@pytest.mark.parametrize(
    "text",
    [
        "a: &x {b: 1}\nc: *x\nd: {<<: *x}\n",
        "a: 0123456789abcdef0123456789abcdef\n",
        'a: "' + "1" * 5000 + '"\n',
        "a: !!str 1\nb: !vault |\n  1\n",
        "[" * DEPTH + "]" * DEPTH,
        "not: [yaml",
    ],
)
def test_what_people_write_is_within_the_bounds(text: str) -> None:
    assert excess(text) is None
