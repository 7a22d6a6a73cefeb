# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What scripts/hpc-onboard runs, by its path: finds the collection around itself and hands over to main.py.

The first argument is how the command was called, the others are its own.
"""

from __future__ import annotations

import sys
import types
from importlib import import_module
from pathlib import Path

PACKAGE = "ansible_collections"


def main() -> int:
    """Run the command from this very collection, whatever else of that name this Python has."""
    if sys.version_info < (3, 11):  # noqa: UP036  # this file is run by whatever ansible-playbook runs with
        print(f"hpc-onboard: needs Python 3.11 or newer; ansible-playbook runs with {sys.executable}", file=sys.stderr)
        return 2
    del sys.argv[0]
    root = Path(__file__).resolve().parents[3]
    installed = root.parent.parent.name == PACKAGE
    top = root.parents[2] if installed else root / "collections"  # a checkout holds a link to itself
    sys.path[0] = str(top)
    # The distribution "ansible" makes a real package of what is else a mere folder, and would hide all others.
    package = types.ModuleType(PACKAGE)
    package.__path__ = [str(top / PACKAGE)]
    sys.modules[PACKAGE] = package
    program = import_module(f"{PACKAGE}.hpc.onboard.plugins.plugin_utils._command.main")
    return int(program.main())


if __name__ == "__main__":
    sys.exit(main())
