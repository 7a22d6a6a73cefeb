# SPDX-License-Identifier: GPL-3.0-or-later
"""docs/start.md shows what is on the screen: recorded again, it says the same, whatever the numbers are."""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path

import pytest

from tools import transcripts
from tools.record_init import PAGE, recorded

pytestmark = [pytest.mark.testbed, pytest.mark.exhaustive]
VARYING = re.compile(r"\b[0-9a-f]{12}\b|[0-9]+(\.[0-9]+)*| +")


def lines(screens: dict[str, str]) -> list[str]:
    """What it says, but for numbers, keys by their fingerprints, and which of two accounts was ready first."""
    return sorted(VARYING.sub("", line) for line in "".join(screens.values()).splitlines())


def test_the_page_shows_what_is_on_the_screen() -> None:
    with tempfile.TemporaryDirectory(prefix="rec") as folder:  # short, as a home is: paths of sockets end at 108 bytes
        said = recorded(Path(folder) / "person", Path(sys.executable).parent)
    assert lines(said) == lines(transcripts.read(PAGE))
    assert max(len(line) for screen in said.values() for line in screen.splitlines()) <= 80
