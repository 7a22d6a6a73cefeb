# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes Python's own loader import the modules of hpc-onboard, because it keeps them compiled.

Ansible's loader would compile each module again at every start.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from types import ModuleType

PACKAGES = tuple(f"ansible_collections.hpc.onboard.plugins.{name}." for name in ("module_utils", "plugin_utils"))


class ModuleFinder:
    """Finds the modules of hpc-onboard. Packages, and all other modules, are left to the finders that follow."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Return how to load a module of hpc-onboard, or None for any other name. Python calls this at an import.

        name: the full name of the module. path: the folders of its package. target: not used.
        """
        if not path or not name.startswith(PACKAGES):
            return None
        file = os.path.join(next(iter(path)), f"{name.rpartition('.')[2]}.py")
        return spec_from_file_location(name, file) if os.path.isfile(file) else None  # not a file: a package


def _find_ansible_finder() -> int | None:
    """Return the position of Ansible's first finder in sys.meta_path, or None if Ansible has not been loaded."""
    finders = enumerate(sys.meta_path)
    return next((position for position, finder in finders if type(finder).__module__.startswith("ansible.")), None)


if (position := _find_ansible_finder()) is not None:
    sys.meta_path.insert(position, ModuleFinder())  # Python asks the finders in this order
