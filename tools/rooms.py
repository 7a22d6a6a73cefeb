"""The packages ("rooms") of plugins/ and their imports, read from the sources without running them.

A room is a folder below plugins/ with Python files; its name omits module_utils and plugin_utils ("_core",
"_audit/formats"). The measures and the tests of the conventions use this module.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ("ansible_collections", "hpc", "onboard")
PLUGINS = ".".join((*PACKAGE, "plugins", ""))
SHELVES = ("module_utils", "plugin_utils")  # contain rooms; the files next to these rooms are a room, too


class Import(NamedTuple):
    """One import. name: the full name. for_types: below "if TYPE_CHECKING", so that it is not executed."""

    name: str
    line: int
    for_types: bool


@dataclass(frozen=True)
class Source:
    """A Python file of plugins/. name: of its module, such as "plugin_utils._audit.run"."""

    name: str
    room: str
    path: Path

    @cached_property
    def text(self) -> str:
        """The content of the file."""
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def tree(self) -> ast.Module:
        """The syntax tree of the file."""
        return ast.parse(self.text)

    @cached_property
    def imports(self) -> list[Import]:
        """All imports of the file, also those within functions."""
        packages = [*PACKAGE, "plugins", *self.name.split(".")[:-1]]
        imports = []
        for node, for_types in _walk(self.tree, False):
            if isinstance(node, ast.Import):
                imports += [Import(alias.name, node.lineno, for_types) for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                stem = packages[: len(packages) - node.level + 1] if node.level else []
                module = ".".join([*stem, *([node.module] if node.module else [])])
                imports += [Import(f"{module}.{alias.name}", node.lineno, for_types) for alias in node.names]
        return imports


def _walk(node: ast.AST, for_types: bool) -> Iterator[tuple[ast.AST, bool]]:
    """Yield every node below this one, and True if it is only for type checkers."""
    for child in ast.iter_child_nodes(node):
        is_for_types = for_types or (
            isinstance(node, ast.If) and child in node.body and _tests_type_checking(node.test)
        )
        yield child, is_for_types
        yield from _walk(child, is_for_types)


def _tests_type_checking(test: ast.expr) -> bool:
    return isinstance(test, ast.Name | ast.Attribute) and "TYPE_CHECKING" in ast.unparse(test)


def read_sources(root: Path = ROOT) -> dict[str, Source]:
    """Return all Python files below plugins/, by name."""
    plugins = root / "plugins"
    sources = {}
    for path in sorted(plugins.rglob("*.py")):
        parts = path.relative_to(plugins).with_suffix("").parts
        name = ".".join(parts)
        sources[name] = Source(name, _name_room(parts[:-1]), path)
    return sources


def _name_room(folders: Sequence[str]) -> str:
    return "/".join(folders[1:] if len(folders) > 1 and folders[0] in SHELVES else folders)


def find_module(name: str, sources: Mapping[str, Source]) -> str | None:
    """Return the module of plugins/ that an imported name is or belongs to; None for other imports."""
    if not name.startswith(PLUGINS):
        return None
    local_name = name.removeprefix(PLUGINS)
    return next((module for module in (local_name, local_name.rpartition(".")[0]) if module in sources), None)


def file_graph(sources: Mapping[str, Source]) -> dict[str, set[str]]:
    """Return module -> modules that it imports when the code runs, also within functions."""
    graph: dict[str, set[str]] = {name: set() for name in sources}
    for name, source in sources.items():
        for imported in source.imports:
            module = find_module(imported.name, sources)
            if module and module != name and not imported.for_types:
                graph[name].add(module)
    return graph


def room_graph(sources: Mapping[str, Source]) -> dict[str, dict[str, int]]:
    """Return room -> room that it imports -> number of imports between their files."""
    graph: dict[str, dict[str, int]] = {source.room: {} for source in sources.values()}
    for name, used in file_graph(sources).items():
        importer = sources[name].room
        for imported in (sources[module].room for module in used):
            if imported != importer:
                graph[importer][imported] = graph[importer].get(imported, 0) + 1
    return graph


def find_circles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """Return the groups of names that reach each other, largest first (Tarjan's strongly connected components)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    circles: list[list[str]] = []

    def visit(name: str) -> None:
        index[name] = low[name] = len(index)
        stack.append(name)
        for other in sorted(graph[name]):
            if other not in index:
                visit(other)
                low[name] = min(low[name], low[other])
            elif other in stack:
                low[name] = min(low[name], index[other])
        if low[name] == index[name]:
            start = stack.index(name)
            group, stack[start:] = stack[start:], []
            if len(group) > 1:
                circles.append(sorted(group))

    for name in graph:
        if name not in index:
            visit(name)
    return sorted(circles, key=len, reverse=True)
