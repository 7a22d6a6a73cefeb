# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every module that a kind imports goes with it: Python's own parser is the judge."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.payload import (
    FOLDERS,
    MODULE_UTILS,
    PACKAGE,
    imports_of,
)

MODULE = f"{PACKAGE}._resources.thing"
SOURCES = {
    f"{PACKAGE}.{'.'.join(file.relative_to(MODULE_UTILS).with_suffix('').parts)}": file.read_text(encoding="utf-8")
    for file in MODULE_UTILS.glob("_*/*.py")
}

FORMS = {
    "plain": "from .._core.host import Host\n",
    "a module": "from .._core import host\n",
    "several modules": "from .._formats import netrc, enroot  # with a comment, and (more)\n",
    "of the same room": "from . import kept_key\nfrom .netrc_entry import NetrcEntry\n",
    "a room": "from .. import _core\n",
    "aliased": "from .._core import host as _host, files as resource\nfrom .._jobs.job import Job as as_job\n",
    "over lines": "from .._core import (\n    host,\n    files as names,\n)\n",
    "over lines with comments": "from .._core import (  # why (so)\n    host,  # and, not\n    files,\n)\nx = 1\n",
    "in one pair of brackets": "from .._core import (host)\nfrom .._scan import(walk)\n",
    "with a backslash": "from .._core import host, \\\n    files\n",
    "in a function": "def f():\n    from .._core.host import Host\n    return Host\n",
    "in a tab": "def f():\n\tfrom .._core.host import Host\n",
    "if need be": "import os\nif os.name:\n    from .._core import host\nelse:\n    from .._core import files\n",
    "behind a colon": "import sys\nif sys.argv: from .._core import host\n",
    "two in a line": "from .._core import host; from .._scan import walk\n",
    "where it may fail": "try:\n    from .._core import host\nexcept ImportError:\n    host = None\n",
    "for types alone": (
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .._core.host import Host\n\n"
        "    from .._scan.walk import Walk\nfrom .._core import files\n"
    ),
    "of Python": "import os\nfrom typing import Any\nfrom os import path\n",
}


def judged(module: str, source: str) -> set[str]:
    """The modules of ours that Python would import, but for those that only a type checker does."""
    folders = module.split(".")[:-1]
    found = set()
    for node in imports(ast.parse(source)):
        whole = folders[: len(folders) + 1 - node.level] + (node.module or "").split(".")
        whole = [part for part in whole if part]
        modules = [[*whole, alias.name] for alias in node.names] if whole[-1] in (PACKAGE, *FOLDERS) else [whole]
        found |= {".".join(one) for one in modules}
    return found


def imports(tree: ast.AST) -> Iterator[ast.ImportFrom]:
    """The relative imports of a tree."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.ImportFrom) and node.level:
            yield node
        yield from imports(node)


@pytest.mark.parametrize("form", FORMS)
def test_an_import_is_found_however_it_is_written(form: str) -> None:
    assert set(imports_of(MODULE, FORMS[form])) == judged(MODULE, FORMS[form])


@pytest.mark.parametrize("module", SOURCES)
def test_nothing_else_is_found_in_our_own_sources(module: str) -> None:
    assert set(imports_of(module, SOURCES[module])) == judged(module, SOURCES[module])


@pytest.mark.parametrize("module", SOURCES)
def test_our_sources_name_each_other_by_dots_alone(module: str) -> None:
    """An account knows them by another name than a controller."""
    assert not re.search(
        r"import_module|__import__|^\s*(import|from) (ansible_collections|hpc_onboard)", SOURCES[module], re.M
    )
