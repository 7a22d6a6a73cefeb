"""Draw random functions, messages and paragraphs for a reader who does not know the code.

    python tools/sample.py --seed 7

The same seed and checkout give the same draw: 60 functions and 60 messages from plugins/, and 20 paragraphs from
README.md and docs/. The reader grades each item: 3 for clear, 2 for clear when read twice, 1 for unclear.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import argparse
import ast
import random
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FUNCTIONS, MESSAGES, PARAGRAPHS = 60, 60, 20
WORDS = 4  # a literal with at least this number of words counts as a message
IS_CODE = re.compile(r"[{}$\\]\w*|^\s*(if|for|while|case|export)\b|[;|&<>]{1,2}\s")


def main(arguments: Sequence[str]) -> None:
    """Print the draw for the seed in the arguments."""
    parser = argparse.ArgumentParser(description="Draw random functions, messages and paragraphs.")
    parser.add_argument("--seed", type=int, required=True, help="seed of the random numbers")
    chance = random.Random(parser.parse_args(arguments).seed)
    draws = [("F", list_functions(), FUNCTIONS), ("M", list_messages(), MESSAGES), ("P", list_paragraphs(), PARAGRAPHS)]
    for letter, found, count in draws:
        for number, (where, text) in enumerate(chance.sample(sorted(found), count), 1):
            print(f"## {letter}{number:02} {where}\n{text}\n")


def list_functions() -> Iterator[tuple[str, str]]:
    """Yield place and source of each function with more than one statement."""
    for path, tree, lines in parse_sources():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and len(node.body) > 1:
                yield f"{path}:{node.lineno}", "\n".join(lines[node.lineno - 1 : node.end_lineno])


def list_messages() -> Iterator[tuple[str, str]]:
    """Yield place and text of each literal that reads like a sentence; values appear as {…}."""
    for path, tree, _lines in parse_sources():
        docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        parts = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant | ast.JoinedStr) and id(node) not in docstrings | parts:
                text = join_parts(node)
                if len(re.findall(r"(?<!\S)[A-Za-z]{2,}", text)) >= WORDS and not IS_CODE.search(
                    text.replace("{…}", "")
                ):
                    yield f"{path}:{node.lineno}", text


def join_parts(node: ast.Constant | ast.JoinedStr) -> str:
    """Return the text of a literal, or of an f-string with {…} for its values; empty for other literals."""
    parts = node.values if isinstance(node, ast.JoinedStr) else [node]
    return "".join(
        (part.value if isinstance(part.value, str) else "") if isinstance(part, ast.Constant) else "{…}"
        for part in parts
    )


def list_paragraphs() -> Iterator[tuple[str, str]]:
    """Yield place and text of each paragraph of prose in the README and the documentation.

    A list after a colon belongs to its paragraph. Code blocks are omitted.
    """
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        prose = re.sub(r"(?ms)^```.*?^```$", "", path.read_text(encoding="utf-8"))
        prose = re.sub(r":\n\n(?=[*-] |1\. )", ":\n", prose)
        for number, block in enumerate(prose.split("\n\n")):
            is_prose = not block.strip("\n").startswith(("    ", "#", "|", "<", "!", "`"))
            if is_prose and len(block.split()) > 12:
                yield f"{path.relative_to(ROOT)}, block {number}", block.strip()


def parse_sources() -> Iterator[tuple[Path, ast.Module, list[str]]]:
    """Yield path, tree and lines of each Python file of plugins/."""
    for path in sorted((ROOT / "plugins").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        yield path.relative_to(ROOT), ast.parse(text), text.splitlines()


if __name__ == "__main__":
    main(sys.argv[1:])
