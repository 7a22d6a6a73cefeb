# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lets Python keep our modules compiled, as it keeps all others: Ansible's loader compiles each one at every start."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import SOURCE_SUFFIXES, FileFinder, ModuleSpec, SourceFileLoader
from types import ModuleType

OURS = tuple(f"ansible_collections.hpc.onboard.plugins.{room}." for room in ("module_utils", "plugin_utils"))


class _OurModules(MetaPathFinder):
    """Finds them as Python would; what it does not find is left to the finders behind it."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if not path or not name.startswith(OURS):
            return None
        return FileFinder(next(iter(path)), (SourceFileLoader, SOURCE_SUFFIXES)).find_spec(name, target)


sys.meta_path.insert(0, _OurModules())
