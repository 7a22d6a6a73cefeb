# SPDX-License-Identifier: GPL-3.0-or-later
"""The pictures of the documents: small, whole in themselves, and all of them shown."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

DOCS = Path(__file__).parent.parent.parent.parent / "docs"
PICTURES = sorted((DOCS / "screenshots").glob("*.svg"))


@pytest.mark.parametrize("picture", PICTURES, ids=lambda path: path.name)
def test_a_screenshot_is_small_and_needs_nothing_else(picture: Path) -> None:
    text = picture.read_text(encoding="utf-8")
    assert len(text) < 15_000
    assert not re.search(r"(?:href|src|url\()", text)
    assert not re.search(r"/(?:tmp|work|home|root)/(?!work1)\w*\.\w", text)
    words = ElementTree.fromstring(text).iter("{http://www.w3.org/2000/svg}text")
    assert max(float(word.attrib["x"]) + float(word.attrib["textLength"]) for word in words) <= 80 * 8.4 + 16.1


def test_every_screenshot_is_shown_on_a_page() -> None:
    pages = "".join((DOCS / name).read_text(encoding="utf-8") for name in ("console.md", "audit.md"))
    assert set(re.findall(r"\(screenshots/(\w+\.svg)\)", pages)) == {picture.name for picture in PICTURES}
