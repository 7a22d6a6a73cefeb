"""Write the files of a new role with one resource type: a copy of a working model, and entries in tables.

    python -m tools.new_role motd_files

The model is tools/role_template, a role that manages files with a mark. The copy passes the tests. Then change the copy
to the role that you need, beginning with the unit table.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TEMPLATE = ROOT / "tools" / "role_template"
RULES = "plugins/plugin_utils/_audit/rules/place_rules.py"
RESOURCE_RULES = "plugins/plugin_utils/_audit/resource_rules.py"
NAME = re.compile(r"[a-z]+(_[a-z]+)*")
NEXT = """Written. Change these files, in this order:
  tests/unit/resources/test_{resource_type}.py   existing, desired, status, remaining
  plugins/module_utils/_resources/{resource_type}.py   the resource type; its docstring documents its options
  tools/role_settings/{role}.py   the role's settings
  roles/{role}/README.md
  plugins/plugin_utils/_roles/{role}.py   the resources for given settings; _roles/site.py adds facts of the site
  plugins/plugin_utils/_audit/rules/place_rules.py   the rules {prefix}-001 and {prefix}-002
  plugins/plugin_utils/_audit/resource_rules.py   which of them a difference breaks
  tests/integration/onboard/test_both_ways.py   the life of a resource; add a test over real ssh
  changelogs/fragments/{role}.yml
Then: make generate format; HPC_ONBOARD_GOLDEN=write .venv/bin/pytest tests/golden, and read git diff tests/golden"""
RULE_TABLE = """    "{prefix}-001": Rule(
        title="A {resource_type} is missing",
        severity="medium",
        reported_by="the Ansible role `{role}`",
        why="Explain who is affected, how, and the usual cause.",
        fix="Run `hpc-onboard onboard ACCOUNT --tags {role}` to create it.",
    ),
    "{prefix}-002": Rule(
        title="A {resource_type} was changed",
        severity="medium",
        reported_by="the Ansible role `{role}`",
        why="Explain who is affected, how, and the usual cause.",
        fix="Run `hpc-onboard onboard ACCOUNT --tags {role}` to restore it.",
    ),
"""


class NameRefused(Exception):
    """The name cannot be used. The message says why."""


class Names:
    """The names of a role: in the model example_files, its resource type example_file, its rules EXA-001, EXA-002."""

    def __init__(self, role: str, resource_type: str = "") -> None:
        self.role = role
        self.resource_type = resource_type or singular(role)
        self.prefix = role.replace("_", "")[:3].upper()

    def rename(self, text: str) -> str:
        """Return a text of the model with these names."""
        replacements = {
            "example_files": self.role,
            "example_file": self.resource_type,
            "ExampleFile": "".join(word.capitalize() for word in self.resource_type.split("_")),
            "EXA-": f"{self.prefix}-",
        }
        for model, name in replacements.items():
            text = text.replace(model, name)
        return text

    def fill(self, text: str, **more: str) -> str:
        """Return a text of this file with these names."""
        return text.format(role=self.role, resource_type=self.resource_type, prefix=self.prefix, **more)


def singular(noun: str) -> str:
    """Return the singular of a plural noun.

    >>> [singular(noun) for noun in ("motd_files", "git_identities", "addresses", "tool_caches", "motd")]
    ['motd_file', 'git_identity', 'address', 'tool_cache', 'motd']
    """
    for ending, replacement in (("ies", "y"), ("sses", "ss"), ("xes", "x"), ("ss", "ss"), ("s", "")):
        if noun.endswith(ending):
            return noun.removesuffix(ending) + replacement
    return noun


def write(names: Names, root: Path = ROOT) -> None:
    """Write the skeleton below root. Raises NameRefused before anything is written."""
    files = {
        root / names.rename(str(file.relative_to(TEMPLATE))): file
        for file in TEMPLATE.rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }
    _check(names, root, files)
    for target, model in files.items():
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(names.rename(model.read_text(encoding="utf-8")), encoding="utf-8")
    _add_entries(names, root)


def _check(names: Names, root: Path, files: Iterable[Path]) -> None:
    if not NAME.fullmatch(names.role) or len(names.prefix) < 3:
        raise NameRefused(f"{names.role!r} is invalid; expected a plural noun of lower-case letters and _")
    existing = [str(file.relative_to(root)) for file in files if file.exists()]
    if existing:
        raise NameRefused(f"{names.role} already exists: {existing[0]}")
    tables = (root / RULES).parent.glob("*_rules.py")
    if any(f'"{names.prefix}-001"' in table.read_text(encoding="utf-8") for table in tables):
        raise NameRefused(f"rules {names.prefix}-... already exist; choose a name that begins with other letters")


def _add_entries(names: Names, root: Path) -> None:
    """Add the lines to the files that list all roles, resource types or rules."""
    table = root / "plugins" / "plugin_utils" / "_roles" / "table.py"
    _insert(table, r"^ROLES = \{.*?(?=^\})", names.fill('    "{role}": Role(turned_on_by=("entries",)),\n'))
    _insert(table, r"^KINDS = \{.*?(?=^\})", names.fill('    "{resource_type}": "",\n'))
    _insert(root / RULES, r"^PLACE_RULES = \{.*?(?=^\})", names.fill(RULE_TABLE))
    rules = '    "{resource_type}": ResourceRules("{prefix}-001", "{prefix}-002"),\n'
    _insert(root / RESOURCE_RULES, r"^RULES_BY_TYPE.*?(?=^\})", names.fill(rules))
    life = '    "{resource_type}": [\n        {{"path": "~/made", "content": "# one\\ntwo\\n"}},\n'
    life += '        {{"path": "~/made", "state": "absent"}},\n    ],\n'
    _insert(root / "tests/integration/onboard/test_both_ways.py", r"^LIVES: .*?(?=^\})", names.fill(life))


def _insert(file: Path, pattern: str, lines: str) -> None:
    """Insert lines after the text that the pattern matches."""
    text = file.read_text(encoding="utf-8")
    match = re.search(pattern, text, re.MULTILINE | re.DOTALL)
    if match is None:
        raise AssertionError(f"{file} does not contain {pattern}, which tools/new_role.py needs")
    file.write_text(text[: match.end()] + lines + text[match.end() :], encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the role that the command line names, and the files that are generated from it."""
    parser = argparse.ArgumentParser(prog="python -m tools.new_role", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("name", metavar="NAME", help="a plural noun for what the user gets, such as motd_files")
    parser.add_argument("--resource-type", metavar="NAME", default="", help="the singular, if it is irregular")
    parsed = parser.parse_args(arguments)
    names = Names(parsed.name, parsed.resource_type)
    try:
        write(names)
    except NameRefused as error:
        parser.error(str(error))
    subprocess.run([sys.executable, ROOT / "tools" / "generate.py"], check=True, stdout=subprocess.DEVNULL)
    print(names.fill(NEXT))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
