# SPDX-License-Identifier: GPL-3.0-or-later
"""The one rule for all documents: one of another version is refused by name."""

from __future__ import annotations

import pytest
from ansible_collections.hpc.onboard.plugins.module_utils._core.document_version import refusal

KNOWN = "hpc.onboard/audit/known/2.3"


def test_the_known_version_is_read() -> None:
    assert refusal(KNOWN, KNOWN, "it", "") is None


@pytest.mark.parametrize("version", ["3.0", "2.4", "1.0", "2.10"])
def test_another_version_is_refused_by_name_with_the_next_step(version: str) -> None:
    assert refusal(f"hpc.onboard/audit/known/{version}", KNOWN, "the file", "") == (
        f"the file was written by a newer hpc-onboard (audit/known {version}; this version reads 2.3)."
        " Upgrade this one: run 'git pull' and 'pip install .' in its clone"
        " (or, for a file from before the first release, use commit 90de12b)"
    )


@pytest.mark.parametrize(
    "schema",
    [
        *(None, "", 0, 1, True, 2.3, [], "hpc.onboard/labels/2.3", "known/2.3"),
        *(f"hpc.onboard/audit/known/{numbers}" for numbers in ("2", "2.", ".3", "-2.3", "2.x", "2.²", "0.9", "9" * 9)),
    ],
)
def test_one_without_a_version_is_damaged_and_the_advice_is_given(schema: object) -> None:
    assert refusal(schema, KNOWN, "the file", "move it away") == (
        "the file is damaged: its version is missing or invalid; move it away"
    )
