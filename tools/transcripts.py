"""The transcripts on documentation pages: recorded blocks, each below a line <!-- recorded: NAME -->.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import re
from pathlib import Path

BLOCK = re.compile(r"(<!-- recorded: (?P<name>[a-z_]+) -->\n+```console\n)(?P<screen>.*?)(```\n)", re.DOTALL)


def read(page: Path) -> dict[str, str]:
    """Return the transcripts of a page, by name."""
    return {found["name"]: found["screen"] for found in BLOCK.finditer(page.read_text(encoding="utf-8"))}


def write(page: Path, screens: dict[str, str]) -> None:
    """Replace the transcripts of a page, by name. Raise KeyError if the page has no transcript of a name."""
    text = page.read_text(encoding="utf-8")
    for name in screens.keys() - read(page).keys():
        raise KeyError(f"{page.name} has no line <!-- recorded: {name} -->")
    page.write_text(BLOCK.sub(lambda one: one[1] + screens.get(one["name"], one["screen"]) + one[4], text), "utf-8")
