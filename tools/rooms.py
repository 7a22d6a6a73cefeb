"""The rooms of plugins/ and who imports whom, read from the sources: nothing of ours is run.

A room is a folder below plugins/ that holds Python files; a room is named without module_utils or plugin_utils
above it ("_core", "_audit/formats"). Both the measures and the tests of the conventions read the house this way.

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
SHELVES = ("module_utils", "plugin_utils")  # hold rooms; what lies in them beside the rooms is a room of its own


class Import(NamedTuple):
    """One imported name, in full. for_types: below "if TYPE_CHECKING", so that it is not done when the code runs."""

    name: str
    line: int
    for_types: bool


@dataclass(frozen=True)
class Source:
    """One Python file of the plugins. name: its module's name below plugins, "plugin_utils._audit.run"."""

    name: str
    room: str
    path: Path

    @cached_property
    def text(self) -> str:
        """What the file holds."""
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def tree(self) -> ast.Module:
        """The file as Python reads it."""
        return ast.parse(self.text)

    @cached_property
    def imports(self) -> list[Import]:
        """All that it imports, wherever it does so."""
        above = [*PACKAGE, "plugins", *self.name.split(".")[:-1]]
        found = []
        for node, for_types in _nodes(self.tree, False):
            if isinstance(node, ast.Import):
                found += [Import(alias.name, node.lineno, for_types) for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                stem = above[: len(above) - node.level + 1] if node.level else []
                whole = ".".join([*stem, *([node.module] if node.module else [])])
                found += [Import(f"{whole}.{alias.name}", node.lineno, for_types) for alias in node.names]
        return found


def _nodes(node: ast.AST, for_types: bool) -> Iterator[tuple[ast.AST, bool]]:
    """Every node below this one, and whether type checkers alone see it."""
    for child in ast.iter_child_nodes(node):
        hidden = for_types or (isinstance(node, ast.If) and child in node.body and "TYPE_CHECKING" in _word(node.test))
        yield child, hidden
        yield from _nodes(child, hidden)


def _word(test: ast.expr) -> str:
    return ast.unparse(test) if isinstance(test, ast.Name | ast.Attribute) else ""


def read(root: Path = ROOT) -> dict[str, Source]:
    """All Python files of the plugins by name, however deep they lie."""
    plugins = root / "plugins"
    found = {}
    for path in sorted(plugins.rglob("*.py")):
        parts = path.relative_to(plugins).with_suffix("").parts
        name = ".".join(parts)
        found[name] = Source(name, _room(parts[:-1]), path)
    return found


def _room(folders: Sequence[str]) -> str:
    return "/".join(folders[1:] if len(folders) > 1 and folders[0] in SHELVES else folders)


def module_of(name: str, sources: Mapping[str, Source]) -> str | None:
    """The module of ours that an imported name is, or lies in; None for what is not ours."""
    if not name.startswith(PLUGINS):
        return None
    inside = name.removeprefix(PLUGINS)
    return next((one for one in (inside, inside.rpartition(".")[0]) if one in sources), None)


def file_graph(sources: Mapping[str, Source]) -> dict[str, set[str]]:
    """Which file imports which when the code runs; imports within functions count."""
    graph: dict[str, set[str]] = {name: set() for name in sources}
    for name, source in sources.items():
        for one in source.imports:
            module = module_of(one.name, sources)
            if module and module != name and not one.for_types:
                graph[name].add(module)
    return graph


def room_graph(sources: Mapping[str, Source]) -> dict[str, dict[str, int]]:
    """Which room imports which other one, and from how many of its files to how many files there."""
    graph: dict[str, dict[str, int]] = {source.room: {} for source in sources.values()}
    for name, used in file_graph(sources).items():
        here = sources[name].room
        for there in (sources[one].room for one in used):
            if there != here:
                graph[here][there] = graph[here].get(there, 0) + 1
    return graph


def circles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """The groups of names that reach each other, largest first (Tarjan's strongly connected components)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

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
                found.append(sorted(group))

    for name in graph:
        if name not in index:
            visit(name)
    return sorted(found, key=len, reverse=True)
