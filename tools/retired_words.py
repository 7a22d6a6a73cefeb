"""Report words that the project no longer uses in text for users: messages, help, documentation, specs and playbooks.

    python tools/retired_words.py [FILE...]

RETIRED lists these words, each with its replacement. docs/glossary.md explains the replacements.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RETIRED = {  # pattern -> what to write
    r"doors?": "login, login method",
    r"archetypes?": "login method",
    r"trips?": "SSH session, connection",
    r"fores(ee|ees|een|aw|eeing)": "show, preview, plan",
    r"wish(es|ed)?": "setting, desired state",
    r"as wanted": "unchanged, up to date",
    r"(left|leaves?|leaving) out": "skip, omit",
    r"(take|takes|taken|taking|took) (it |them |that |this )?out": "remove",
    r"in the way": "conflict, blocked by",
    r"not measured": "unknown",
    r"mend(s|ed|ing)?": "fix",
    r"remed(y|ies)": "fix",
    r"capabilit(y|ies)": "role",
    r"verbs?": "subcommand",
    r"slips?": "mistake, typo",
    r"remarks?": "warning",
    r"(no|some)body('s)?": "no user, another user",
    r"an?other's": "of another user",
    r"(a|the|which) persons?": "you, the user",
    r"pretend(s|ed)?": "simulated",
    r"(lead|leads|led) to": "point to",
    r"stands?(?! for)": "is",
    r"lies": "is",
    r"anew": "again",
    r"(beside|beforehand|meanwhile)": "next to, in addition to; before; since then",
    r"(theirs|one's own)": "of another user; your own",
    r"of ours": "of hpc-onboard",
    r"no such": "not found",
    r"unseen": "hidden",
    r"put that right": "fix that",
    r"is amiss": "is wrong",
}
PATTERN = re.compile(rf"(?<![\w/.`-])(?:{'|'.join(f'(?:{one})' for one in RETIRED)})(?![\w/`=(-]|\.\w)", re.IGNORECASE)
CODE_IN_DOCS = r"\b[CEIOV]\([^)]*\)|^ *[a-z_]+:"
"""Markup and keys in the documentation of modules, which count as code."""
PAGES = ("*.md", "docs/*.md", "roles/*/README.md", "roles/*/files/*.template")
SPECS = ("playbooks/*.yml", "roles/*/meta/argument_specs.yml", "roles/*/defaults/main.yml")
RECORDED = {"CHANGELOG.md"}
"""Files that a tool writes."""
QUOTING = {
    "docs/mistakes.md",  # the system's error messages, and the name of an account
    "plugins/module_utils/_jobs/modules.py",  # what pip prints
    "plugins/module_utils/_slurm/slurm_test_job.py",  # what a container tool prints
    "plugins/plugin_utils/_accounts/new_profile.py",  # a key of profiles
    "plugins/plugin_utils/_authentication/credential.py",  # what klist prints
}
"""Files that quote a retired word from another program."""


def find_files() -> Iterator[Path]:
    """Yield the files with text for users."""
    for pattern in (*PAGES, *SPECS, "plugins/**/*.py"):
        for file in sorted(ROOT.glob(pattern)):
            path = str(file.relative_to(ROOT))
            if path not in RECORDED | QUOTING:
                yield file


def read_texts(file: Path) -> Iterator[tuple[int, str]]:
    """Yield the texts of a file with their line numbers: each line of a page, or the sentences among its strings."""
    source = file.read_text(encoding="utf-8")
    if file.suffix != ".py":
        key = r"^\s*(- )?(register: .*|\w+:(?= |$))" if file.suffix == ".yml" else "^$"
        for number, line in enumerate(source.splitlines(), 1):
            yield number, re.sub(key, "", re.sub(r"`[^`]*`", "", line))  # code may use any word
        return
    tree = ast.parse(source)
    docstrings = {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    strings = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    for node in strings:
        if id(node) not in docstrings and re.search(r"[a-z]{2,}[,:;]? [a-z(']{2,}", str(node.value)):
            yield node.lineno, re.sub(CODE_IN_DOCS, "", str(node.value), flags=re.MULTILINE)


def find_retired(file: Path) -> Iterator[str]:
    """Yield a message for each retired word in a file."""
    for number, text in read_texts(file):
        for found in PATTERN.finditer(text):
            advice = next(new for old, new in RETIRED.items() if re.fullmatch(old, found[0], re.IGNORECASE))
            yield f'{file.relative_to(ROOT)}:{number}: "{found[0]}" is retired; write: {advice}'


def main(names: list[str]) -> int:
    """Check the files; all files with text for users if names is empty. Return 1 if a retired word was found."""
    files = [Path(name).resolve() for name in names] or list(find_files())
    lines = [line for file in files for line in find_retired(file)]
    print(*lines, sep="\n")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
