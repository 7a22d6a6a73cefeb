# SPDX-License-Identifier: GPL-3.0-or-later
"""docs/troubleshooting.md quotes what is on the screen: each quotation is part of a text of the program."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def text_of(node: ast.AST) -> str:
    """Return the text of a string with … for each value that is put in; empty for anything else."""
    if isinstance(node, ast.JoinedStr):
        return "".join(text_of(part) if isinstance(part, ast.Constant) else "…" for part in node.values)
    is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return re.sub(r"%(\(\w+\))?[sd]|\{\w*\}", "…", node.value) if is_text else ""


def quotations() -> Iterator[str]:
    """Yield the words between code marks in the first column, without what differs from run to run."""
    for line in (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8").splitlines():
        for quoted in re.findall(r"`([^`]+)`", line.split("|")[1]) if line.startswith("| `") else ():
            yield from (part.strip(" :") for part in quoted.replace("'ngc'", "'…'").split("…") if part.strip(" :'"))


def test_each_quotation_is_a_text_of_the_program() -> None:
    trees = [ast.parse(file.read_text(encoding="utf-8")) for file in ROOT.glob("plugins/**/*.py")]
    texts = "\n".join(text_of(node) for tree in trees for node in ast.walk(tree))
    quoted = list(quotations())
    assert len(quoted) > 25
    assert [one for one in quoted if one not in texts] == []
