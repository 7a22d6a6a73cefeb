"""Write the skeleton of a capability: every file that it needs, and its line wherever all of them are listed.

    python -m tools.new_capability motd_files

The files are those of tools/capability, a capability that works (files with a stamp of ours), under the new name. What
passes the tests at once is then made into what is meant, from the unit table on.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MODEL = ROOT / "tools" / "capability"
NAME = re.compile(r"[a-z]+(_[a-z]+)*")
NEXT = """Written. Make it into what is meant, in this order:
  tests/unit/resources/test_{kind}.py   found, wanted, status, left
  plugins/module_utils/_resources/{kind}.py   and plugins/modules/{kind}.py, which documents its options
  roles/{name}/   the interface; README.md of the role, and its line in README.md
  plugins/plugin_utils/_roles/{name}.py   what is declared; parts/site.py gives it a site's facts
  plugins/plugin_utils/_audit/judges/{kind}.py   and its rules, {prefix}-001 and {prefix}-002: rules.py, docs/rules.md
  tests/integration/onboard/test_both_ways.py   its life; and an observer over real ssh
  changelogs/fragments/{name}.yml
Then: make format; HPC_ONBOARD_GOLDEN=write .venv/bin/pytest tests/golden, and read git diff tests/golden"""
PARAGRAPH = """The {kind} is {found}. Say here why that matters, to whom, and how it comes about, for one who is woken
by it. `ansible-playbook onboard.yml -l ACCOUNT --tags {name}` puts it right."""


class Refused(Exception):
    """The name cannot be taken. The message says why."""


class Names:
    """What a capability is called: in the model example_files, its kind example_file, its rules EXA-001 and EXA-002."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.kind = name.removesuffix("s")
        self.prefix = name.replace("_", "")[:3].upper()

    def renamed(self, text: str) -> str:
        """A text of the model with these names."""
        words = {
            "example_files": self.name,
            "example_file": self.kind,
            "ExampleFile": "".join(word.capitalize() for word in self.kind.split("_")),
            "EXA-": f"{self.prefix}-",
        }
        for word, own in words.items():
            text = text.replace(word, own)
        return text

    def filled(self, text: str, **more: str) -> str:
        """A text of this file with these names."""
        return text.format(name=self.name, kind=self.kind, prefix=self.prefix, **more)


def write(name: str, root: Path = ROOT) -> Names:
    """Write the skeleton below root. Raises Refused, before anything is written."""
    names = Names(name)
    files = {root / names.renamed(str(file.relative_to(MODEL))): file for file in MODEL.rglob("*") if file.is_file()}
    files = {there: file for there, file in files.items() if "__pycache__" not in there.parts}
    _check(names, root, files)
    for there, file in files.items():
        there.parent.mkdir(parents=True, exist_ok=True)
        there.write_text(names.renamed(file.read_text(encoding="utf-8")), encoding="utf-8")
    _enter(names, root)
    return names


def _check(names: Names, root: Path, files: Sequence[Path] | dict[Path, Path]) -> None:
    if not NAME.fullmatch(names.name) or len(names.prefix) < 3:
        raise Refused(f"{names.name!r} is not a name: small letters and _, a plural noun for what the user gets")
    taken = [str(file.relative_to(root)) for file in files if file.exists()]
    if taken:
        raise Refused(f"{names.name} is taken: there is {taken[0]}")
    if f'"{names.prefix}-001"' in _rules(root).read_text(encoding="utf-8"):
        raise Refused(f"rules {names.prefix}-... are taken: find a name that begins otherwise")


def _rules(root: Path) -> Path:
    return root / "plugins" / "plugin_utils" / "_audit" / "rules.py"


def _enter(names: Names, root: Path) -> None:
    """Write the lines into the files that list all capabilities, kinds or rules."""
    table = root / "plugins" / "plugin_utils" / "_roles" / "table.py"
    _insert(table, r"^ROLES = \{.*?(?=^\})", names.filled('    "{name}": Role(unless=("entries",)),\n'))
    _insert(table, r"^KINDS = \{.*?(?=^\})", names.filled('    "{kind}": "",\n'))
    route = "    {kind}:\n      action_plugin: hpc.onboard.converge\n"
    _insert(root / "meta" / "runtime.yml", r"^  modules:\n(?:    .*\n)*", names.filled(route))
    play = root / "playbooks" / "onboard.yml"
    _insert(play, r"^        capabilities:\n(?:          - .*\n)*", names.filled("          - {name}\n"))
    line = "| [{name}](roles/{name}/README.md) | say what in a few words |\n"
    _insert(root / "README.md", r"^\| role \| keeps \|\n(?:\|.*\n)*", names.filled(line))
    rules = '    "{prefix}-001": Rule("A {kind} is missing", "medium"),\n'
    rules += '    "{prefix}-002": Rule("A {kind} is another one than ours", "medium"),\n'
    _insert(_rules(root), r"^RULES = \{.*?(?=^    \"USE-001)", names.filled(rules))
    section = names.filled("## {name}\n\n")
    for number, title, found in ((1, "missing", "not there"), (2, "another one than ours", "not as we wrote it")):
        section += names.filled(f"### {{prefix}}-00{number}\n\n**A {{kind}} is {title}.** Medium.\n")
        section += names.filled(PARAGRAPH, found=found) + "\n\n"
    _insert(root / "docs" / "rules.md", r"\A.*?(?=^## Space)", section)
    life = '    "{kind}": [\n        {{"path": "~/made", "content": "# one\\ntwo\\n"}},\n'
    life += '        {{"path": "~/made", "state": "absent"}},\n    ],\n'
    lives = root / "tests" / "integration" / "onboard" / "test_both_ways.py"
    _insert(lives, r"^LIVES: .*?(?=^\})", names.filled(life))


def _insert(file: Path, before: str, line: str) -> None:
    """Put a line behind what the pattern finds."""
    text = file.read_text(encoding="utf-8")
    found = re.search(before, text, re.MULTILINE | re.DOTALL if ".*?" in before else re.MULTILINE)
    if found is None:
        raise AssertionError(f"{file} is not as tools/new_capability.py knows it")
    file.write_text(text[: found.end()] + line + text[found.end() :], encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the skeleton that the command line names."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.new_capability", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("name", metavar="NAME", help="a plural noun for what the user gets, such as motd_files")
    try:
        names = write(parser.parse_args(arguments).name)
    except Refused as error:
        parser.error(str(error))
    print(names.filled(NEXT))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
