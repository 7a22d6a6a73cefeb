# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lets Python keep our modules compiled, as it keeps all others: Ansible's loader compiles each one at every start."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from types import ModuleType

OURS = tuple(f"ansible_collections.hpc.onboard.plugins.{room}." for room in ("module_utils", "plugin_utils"))


class OurModules:
    """Finds our modules, for Python's own loader; folders and all else are left to the finders behind it."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Return the place of one of our modules, for Python's import; None for everything else."""
        if not path or not name.startswith(OURS):
            return None
        file = os.path.join(next(iter(path)), f"{name.rpartition('.')[2]}.py")
        return spec_from_file_location(name, file) if os.path.isfile(file) else None


def _find_position() -> int | None:
    """Return the position for OurModules in sys.meta_path: before Ansible's finder; None without Ansible."""
    finders = enumerate(sys.meta_path)
    return next((position for position, finder in finders if type(finder).__module__.startswith("ansible.")), None)


if (position := _find_position()) is not None:
    sys.meta_path.insert(position, OurModules())
