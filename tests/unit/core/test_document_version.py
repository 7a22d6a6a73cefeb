# SPDX-License-Identifier: GPL-3.0-or-later
"""The one rule for all documents of ours: older ones are read, newer ones are refused by name."""

from __future__ import annotations

import pytest
from ansible_collections.hpc.onboard.plugins.module_utils._core.document_version import compare, parse, refusal

KNOWN = "hpc.onboard/receipt/2.3"


@pytest.mark.parametrize(
    ("said", "standing"),
    [
        ("hpc.onboard/receipt/1.0", "older"),
        ("hpc.onboard/receipt/2.2", "older"),
        (1, "older"),
        (KNOWN, "same"),
        ("hpc.onboard/receipt/2.10", "later"),
        ("hpc.onboard/receipt/3.0", "newer"),
        (3, "newer"),
        *((said, "foreign") for said in (None, "", 0, True, 2.3, [], "hpc.onboard/labels/2.3", "receipt/2.3")),
        *(
            (f"hpc.onboard/receipt/{numbers}", "foreign")
            for numbers in ("2", "2.", ".3", "-2.3", "2.x", "2.²", "0.9", "9" * 9)
        ),
    ],
)
def test_versions_are_compared_by_their_numbers(said: object, standing: str) -> None:
    assert compare(said, KNOWN) == standing


def test_a_name_may_have_parts() -> None:
    assert parse("hpc.onboard/audit/known/2.0") == ("audit/known", 2, 0)


def test_a_newer_one_is_refused_by_name_with_the_next_step() -> None:
    assert refusal("hpc.onboard/receipt/3.0", KNOWN, "the receipt on this account", "") == (
        "the receipt on this account was written by a newer hpc.onboard (receipt 3.0; this one knows 2.3): update it:"
        " pip install -U hpc-onboard"
    )
    assert "receipt 7.0;" in str(refusal(7, KNOWN, "it", ""))


@pytest.mark.parametrize("said", [1, "hpc.onboard/receipt/1.9", KNOWN, "hpc.onboard/receipt/2.4"])
def test_older_ones_and_later_minors_are_read(said: object) -> None:
    assert refusal(said, KNOWN, "it", "") is None


def test_what_says_nothing_is_damaged_and_the_advice_is_given() -> None:
    assert str(refusal(None, KNOWN, "the receipt", "move it away")).endswith(": move it away")
