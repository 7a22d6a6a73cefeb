# SPDX-License-Identifier: GPL-3.0-or-later
"""What pages promise of the command: each command line is valid, and what they quote of the screen is a text of it."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from ansible_collections.hpc.onboard.plugins.plugin_utils._command.accounts import CommandError
from ansible_collections.hpc.onboard.plugins.plugin_utils._command.parser import parse

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


def command_lines() -> Iterator[tuple[str, str]]:
    """Yield each command line of hpc-onboard on a page, with the page's name."""
    for page in (ROOT / "README.md", *ROOT.glob("docs/*.md"), *ROOT.glob("roles/*/README.md")):
        text = page.read_text(encoding="utf-8").replace("\\\n", " ")
        if page.name in ("mistakes.md", "options.md"):  # mistakes, and what the parser itself says
            continue
        for typed in re.findall(r"^ *(?:\w+)?\$ (hpc-onboard .*)|(?<!`)`(hpc-onboard [^`]+)`", text, re.MULTILINE):
            yield page.name, next(filter(None, typed)).replace("\n", " ")


def problem(line: str) -> str:
    """Return why a command line is invalid, or an empty text."""
    try:
        for part in re.split(r" && | \\?\| ", line):
            words = shlex.split(part, comments=True)
            if words[0] == "hpc-onboard" and not {"--help", "--version", "SUBCOMMAND", "…"} & set(words):
                parse(words[1:], "hpc-onboard")
    except CommandError as error:
        return "" if "arguments are required" in str(error) else str(error)  # a page may name a subcommand alone
    return ""


def test_each_command_line_on_a_page_is_valid() -> None:
    lines = list(command_lines())
    assert len(lines) > 100
    assert [f"{page}: {line}: {problem(line)}" for page, line in lines if problem(line)] == []


def test_each_option_on_a_page_is_listed_in_the_help_of_its_subcommand() -> None:
    """A page would otherwise send its reader to an option that neither --help nor docs/options.md shows."""
    sections = re.split(r"(?m)^## ", (ROOT / "docs" / "options.md").read_text(encoding="utf-8"))
    listed = {part.split("\n")[0]: set(re.findall(r"(?m)^\| `[^`]*?(--[\w-]+)", part)) for part in sections[1:]}
    lines = [(page, re.split(r" +#| && | \\?\| ", line)[0]) for page, line in command_lines()]
    typed = [(page, line, line.split()[1]) for page, line in lines if re.match(r"hpc-onboard [^-]", line)]
    missing = [
        f"{page}: {line}"
        for page, line, name in typed
        if not {*re.findall(r"(?<= )--[a-z][\w-]*", line)} - {"--help"} <= listed.get(name, listed["onboard"])
    ]
    assert missing == []
