"""Write the files that are generated from code, or check that they are up to date.

    python tools/generate.py            # make generate
    python tools/generate.py --check    # list the files that are out of date; exit code 1 if there are any

A subject is a path in the checkout, and the function that returns the text of this file. Generated files are committed,
so that reviewers see the effects of a change.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "collections")]

from tools import (  # noqa: E402  # the checkout comes first
    make_clusters,
    make_schema,
    module_pages,
    reference_pages,
    role_pages,
    rule_pages,
)

SUBJECTS: list[tuple[str, Callable[[], str]]] = [
    ("docs/schemas/cluster.schema.json", make_schema.cluster_page),
    ("docs/schemas/profile.schema.json", make_schema.profile_page),
    ("docs/rules.md", rule_pages.page),
    ("docs/options.md", reference_pages.options_page),
    ("docs/accounts_file.md", reference_pages.accounts_page),
    *make_clusters.subjects(),
    *module_pages.subjects(),
    *role_pages.subjects(),
]


def is_stale(path: Path, text: str) -> bool:
    """Return True if the file is missing or has a different text."""
    return not path.is_file() or path.read_text(encoding="utf-8") != text


def main(arguments: Sequence[str]) -> int:
    """Write each file that is out of date. With --check, list these files, and return 1 if there are any."""
    check = "--check" in arguments
    stale = [
        (name, text) for name, text in ((name, render()) for name, render in SUBJECTS) if is_stale(ROOT / name, text)
    ]
    for name, text in stale:
        if check:
            print(f"{name} is out of date. Run: make generate")
        else:
            (ROOT / name).parent.mkdir(parents=True, exist_ok=True)
            (ROOT / name).write_text(text, encoding="utf-8")
            print(f"Wrote {name}")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
