# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What travels of the engine does what its sources do, on the same lines, and nothing that it needs stays behind."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.engine_parts import MODULE_UTILS
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.packing import (
    list_imports,
    list_required,
    strip_types,
)

SOURCES = {
    ".".join(file.relative_to(MODULE_UTILS).with_suffix("").parts): file.read_text(encoding="utf-8")
    for file in MODULE_UTILS.glob("_*/*.py")
}
FORMS = {
    "from .._core.host import Host\n": {"_core.host"},
    "from .._core import host\n": {"_core.host"},
    "from .._formats import netrc, enroot  # with a comment, and (more)\n": {"_formats.netrc", "_formats.enroot"},
    "from . import kept_key\nfrom .netrc_entry import NetrcEntry\n": {"_resources.kept_key", "_resources.netrc_entry"},
    "from .._core import (\n    host,  # and, not\n    files as names,\n)\n": {"_core.host", "_core.files"},
    "def f():\n    from .._core.host import Host\n    return Host\n": {"_core.host"},
    "import sys\nif sys.argv: from .._core import host\n": {"_core.host"},
    "if TYPE_CHECKING:\n    from .._core.host import Host\nfrom .._core import files\n": {"_core.files"},
    "import os\nfrom typing import Any\nfrom os import path\n": set(),
}
BARE = {
    '"""Said."""\nx = 1\n': "\nx = 1\n",
    'def f(a: int, *b: "A", c: Any = 1, **d: B) -> Dict[str, int]:\n    """It\n    does."""\n': (
        "def f(a, *b, c = 1, **d) :\n    pass\n\n"
    ),
    'def f():\n    """It\n    does."""\n    return 1\n': "def f():\n    \n\n    return 1\n",
    'class P(NamedTuple):\n    """It."""\n    a: int\n': "class P(record_('a')):\n    pass\n    \n",
    "def f(\n    a: Tuple[\n        int\n    ] = 1\n) -> Dict[\n    str, int\n]:\n    return a\n": (
        "def f(\n    a \\\n \\\n = 1\n)  \\\n \\\n:\n    return a\n"
    ),
    "class A:\n    x: int\n    def f(self) -> None:\n        self.é: Set[str] = {'é'}; y: int = 2\n": (
        "class A:\n    \n    def f(self) :\n        self.é = {'é'}; y = 2\n"
    ),
    "from typing import Any, Dict\nD = Dict[str, Any]\nE: D = {'a': 1}\n": "\nD = None\nE = {'a': 1}\n",
    "# Said\nx = '#'  # of it\n\n    # more\ny = 1\n": "\nx = '#'\n\n\ny = 1\n",
    "from typing import List, TypeVar\nT = TypeVar('T')\n": "from typing import List, TypeVar\nT = TypeVar('T')\n",
    "class P(NamedTuple):\n    a: int  # so\n    b: str = 'x'\n\n    def f(self) -> int:\n        return 1\n": (
        "class P(record_('a', b='x')):\n    \n    \n\n    def f(self) :\n        return 1\n"
    ),
    "A: Dict[str, P] = {'a': re.compile('a', re.I)}\ndef f():\n    return re.compile('b')\n": (
        "A = {'a': pattern_('a', re.I)}\ndef f():\n    return re.compile('b')\n"
    ),
    "if TYPE_CHECKING:  # types\n    from .a import B\n": "if False:\n    from .a import B\n",
}


@pytest.mark.parametrize("form", FORMS)
def test_an_import_is_found_however_it_is_written(form: str) -> None:
    assert set(list_imports("_resources.thing", form)) == FORMS[form]
    assert set(list_imports("_resources.thing", strip_types(form))) == FORMS[form]


@pytest.mark.parametrize("form", BARE)
def test_types_and_docstrings_go_and_the_lines_stay(form: str) -> None:
    assert strip_types(form) == BARE[form]
    ast.parse(strip_types(form))


def test_what_is_needed_is_followed_to_its_end() -> None:
    imports = {"a": ["b"], "b": ["c", "a"], "c": [], "d": ["a"]}
    assert set(list_required("a", imports)) == {"a", "b", "c"}


@pytest.mark.parametrize("module", SOURCES)
def test_of_our_sources_everything_stays_but_types_and_docstrings(module: str) -> None:
    before, after = SOURCES[module], strip_types(SOURCES[module])
    ast.parse(after, feature_version=(3, 6))
    assert "typing" not in after.replace("for typing", "")
    assert list(code(ast.parse(after))) == list(code(ast.parse(before)))


@pytest.mark.parametrize("module", SOURCES)
def test_our_sources_name_each_other_by_dots_alone(module: str) -> None:
    """An account knows them by another name than a controller."""
    assert not re.search(
        r"import_module|__import__|^\s*(import|from) (ansible_collections|hpc_onboard)", SOURCES[module], re.M
    )


def code(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """What the functions do and on which line."""
    for function in [one for one in ast.walk(tree) if isinstance(one, ast.FunctionDef)]:
        arguments = [one.arg for one in ast.walk(function.args) if isinstance(one, ast.arg)]
        yield f"{function.name} {arguments} {[ast.unparse(one) for one in function.args.defaults]}", function.lineno
        for node in ast.walk(function):
            if isinstance(node, ast.Call | ast.Return | ast.Raise | ast.Compare):
                yield ast.unparse(node), node.lineno
            elif isinstance(node, ast.If | ast.For | ast.While | ast.With | ast.Try):
                yield type(node).__name__, node.lineno
