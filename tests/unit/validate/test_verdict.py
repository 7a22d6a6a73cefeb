# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What several findings come to: nothing is called verified that was not measured, and no refusal is outvoted."""

from __future__ import annotations

import itertools

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._validate.validate import ValidationSettings
from ansible_collections.hpc.onboard.plugins.plugin_utils._validate.verdict import (
    LEVELS,
    Judgement,
    KeyVerdict,
    LevelFinding,
)

VALID, INVALID, NOT_ENTITLED, UNREACHABLE, NOT_MEASURED = KeyVerdict
TABLE = [  # issuer, token, manifest -> verdict, agreed, dead
    ((VALID, VALID, VALID), VALID, True, False),
    ((VALID, NOT_MEASURED, NOT_MEASURED), VALID, True, False),
    ((NOT_MEASURED, VALID, UNREACHABLE), VALID, True, False),
    ((VALID, VALID, NOT_ENTITLED), NOT_ENTITLED, True, False),
    ((UNREACHABLE, NOT_ENTITLED, NOT_MEASURED), NOT_ENTITLED, True, False),
    ((INVALID, INVALID, INVALID), INVALID, True, True),
    ((INVALID, NOT_MEASURED, NOT_MEASURED), INVALID, True, True),
    ((INVALID, UNREACHABLE, NOT_MEASURED), INVALID, True, False),
    ((INVALID, VALID, NOT_MEASURED), INVALID, False, False),
    ((VALID, INVALID, NOT_MEASURED), NOT_ENTITLED, False, False),
    ((NOT_MEASURED, VALID, INVALID), NOT_ENTITLED, False, False),
    ((UNREACHABLE, UNREACHABLE, NOT_MEASURED), UNREACHABLE, True, False),
    ((NOT_MEASURED, NOT_MEASURED, NOT_MEASURED), NOT_MEASURED, True, False),
]


def judgement(verdicts: tuple[KeyVerdict, ...]) -> Judgement:
    """The judgement of a key."""
    levels = zip(LEVELS, verdicts, strict=True)
    return Judgement(tuple(LevelFinding(level, verdict, f"{level} says {verdict}") for level, verdict in levels))


@pytest.mark.parametrize(("verdicts", "wanted", "agreed", "dead"), TABLE, ids=["-".join(row[0]) for row in TABLE])
def test_the_verdict_of_all_levels(
    verdicts: tuple[KeyVerdict, ...], wanted: KeyVerdict, agreed: bool, dead: bool
) -> None:
    found = judgement(verdicts)
    assert (found.verdict, found.is_agreed, found.is_dead) == (wanted, agreed, dead)


@pytest.mark.parametrize("verdicts", list(itertools.product(KeyVerdict, repeat=3)), ids="-".join)
def test_valid_means_that_a_service_said_so_and_none_refused(verdicts: tuple[KeyVerdict, ...]) -> None:
    found = judgement(verdicts)
    if found.verdict == VALID:
        assert VALID in verdicts
        assert not {INVALID, NOT_ENTITLED} & set(verdicts)
    assert not (found.is_dead and found.verdict != INVALID)
    for level, verdict in zip(LEVELS, verdicts, strict=True):
        assert (level in [one.level for one in found.findings if one.is_measured]) == (
            verdict in (VALID, INVALID, NOT_ENTITLED)
        )
        assert f"{level} says {verdict}" in found.sentence


def test_a_level_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match="issuer, token, manifest"):
        ValidationSettings(levels=("issuer", "everything"))


def test_settings_refuse_what_is_no_image() -> None:
    with pytest.raises(ValueError, match="is not an image"):
        ValidationSettings(canary="nvcr.io/nvidia/cuda")


@pytest.mark.parametrize("address", ["", "http://a/", "https://", "https://[", "https://u:p@a/", "https://a b/", "a/b"])
def test_settings_refuse_an_address_that_no_key_may_go_to(address: str) -> None:
    with pytest.raises(ValueError, match="expected https://"):
        ValidationSettings(issuer=address)
