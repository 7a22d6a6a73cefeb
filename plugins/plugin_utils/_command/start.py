# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The program that scripts/hpc-onboard runs: it finds the collection that contains it, and runs its main.py.

The first argument is the path by which the command was called; the user's arguments follow.
"""

from __future__ import annotations

import sys
import types
from importlib import import_module
from pathlib import Path

PACKAGE = "ansible_collections"


def main() -> int:
    """Run main.py of this collection, even if another copy of the collection is installed. Return the exit code."""
    if sys.version_info < (3, 11):  # noqa: UP036  # the Python of ansible-playbook runs this file
        print(f"hpc-onboard needs Python 3.11 or newer; ansible-playbook runs with {sys.executable}", file=sys.stderr)
        return 2
    del sys.argv[0]
    root = Path(__file__).resolve().parents[3]  # of the collection
    is_installed = root.parent.parent.name == PACKAGE
    top = root.parents[2] if is_installed else root / "collections"  # a checkout has a link to itself there
    sys.path[0] = str(top)
    # The distribution "ansible" installs a regular package of this name, which would hide this folder.
    package = types.ModuleType(PACKAGE)
    package.__path__ = [str(top / PACKAGE)]
    sys.modules[PACKAGE] = package
    program = import_module(f"{PACKAGE}.hpc.onboard.plugins.plugin_utils._command.main")
    return int(program.main())


if __name__ == "__main__":
    sys.exit(main())
