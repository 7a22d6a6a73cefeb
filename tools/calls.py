"""Who calls whom in plugins/, as far as the sources say it: by name, by import, by self, or by a name that is unique.

What is handed over and called later (a callback, a subclass by its base) is not seen; the depth is a lower bound.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from tools.rooms import PLUGINS, Source, circles

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass
class Scope:
    """One function. name: where it is defined, "plugin_utils._audit.run.prepared.work"; owner: its class, or empty."""

    name: str
    node: Function
    module: str
    owner: str = ""


@dataclass
class Calls:
    """The functions of all files, and the calls among them."""

    sources: Mapping[str, Source]
    scopes: dict[str, Scope] = field(default_factory=dict)
    classes: dict[str, ast.ClassDef] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, source in self.sources.items():
            self._enter(source.tree, name, name, "")

    def _enter(self, node: ast.AST, prefix: str, module: str, owner: str) -> None:
        """Note each function and class below this node."""
        for child in ast.iter_child_nodes(node):
            if isinstance(child, Function):
                name = f"{prefix}.{child.name}"
                self.scopes[name] = Scope(name, child, module, owner)
                self._enter(child, name, module, owner)
            elif isinstance(child, ast.ClassDef):
                name = f"{prefix}.{child.name}"
                self.classes[name] = child
                self._enter(child, name, module, name)
            else:
                self._enter(child, prefix, module, owner)

    @cached_property
    def sites(self) -> Counter[tuple[str, str]]:
        """(caller, called) -> in how many places. Of calls outside of any function the caller is the module."""
        found: Counter[tuple[str, str]] = Counter()
        for module, source in self.sources.items():
            for where, call in self._calls(source.tree, module):
                called = self._called(call.func, where, module)
                if called:
                    found[where, called] += 1
        return found

    def _calls(self, node: ast.AST, where: str) -> Iterator[tuple[str, ast.Call]]:
        """Every call below the node, with the innermost function that it stands in."""
        for child in ast.iter_child_nodes(node):
            inner = f"{where}.{child.name}" if isinstance(child, Function | ast.ClassDef) else where
            if isinstance(child, ast.Call):
                yield where, child
            yield from self._calls(child, inner)

    def _called(self, word: ast.expr, where: str, module: str) -> str | None:
        """The function of ours that is called, or None."""
        if isinstance(word, ast.Name):
            return self._named(word.id, where, module)
        if not isinstance(word, ast.Attribute):
            return None
        if isinstance(word.value, ast.Name):
            if word.value.id in ("self", "cls") and where in self.scopes:
                method = self._method(self.scopes[where].owner, word.attr)
                if method:
                    return method
            imported = self._imported[module].get(word.value.id)
            if imported:
                return self._known(f"{imported}.{word.attr}")
        return self._unique.get(word.attr)

    def _named(self, word: str, where: str, module: str) -> str | None:
        while where.startswith(module):  # nested functions first, then those of the file
            found = self._known(f"{where}.{word}")
            if found:
                return found
            where = where.rpartition(".")[0]
        return self._known(self._imported[module].get(word, ""))

    def _known(self, name: str) -> str | None:
        """The function of this name; of a class the one that makes it."""
        if name in self.scopes:
            return name
        return self._method(name, "__init__") if name in self.classes else None

    def _method(self, owner: str, name: str) -> str | None:
        """The method of a class, or of those that it inherits from."""
        if f"{owner}.{name}" in self.scopes:
            return f"{owner}.{name}"
        node = self.classes.get(owner)
        module = next((one for one in self.sources if node and owner.startswith(f"{one}.")), "")
        for base in node.bases if node else []:
            word = ast.unparse(base)
            for above in (f"{module}.{word}", self._imported.get(module, {}).get(word, "")):
                found = self._method(above, name) if above in self.classes and above != owner else None
                if found:
                    return found
        return None

    @cached_property
    def _imported(self) -> dict[str, dict[str, str]]:
        """Of each file: word -> what of ours it stands for."""
        found: dict[str, dict[str, str]] = {}
        for module, source in self.sources.items():
            lines = {one.line: one for one in source.imports}
            words = found.setdefault(module, {})
            for node in ast.walk(source.tree):
                if isinstance(node, ast.ImportFrom) and node.lineno in lines:
                    stem = lines[node.lineno].name.rpartition(".")[0]
                    for alias in node.names:
                        if stem.startswith(PLUGINS[:-1]):
                            words[alias.asname or alias.name] = f"{stem}.{alias.name}".removeprefix(PLUGINS)
        return found

    @cached_property
    def _unique(self) -> dict[str, str]:
        """Method -> its one definition, of names that one class alone has, and none of Python's own types."""
        methods = [scope for scope in self.scopes.values() if scope.owner]
        often = Counter(scope.node.name for scope in methods)
        common = {name for kind in (str, bytes, dict, list, set, tuple, object, int, float) for name in dir(kind)}
        return {one.node.name: one.name for one in methods if often[one.node.name] == 1 and one.node.name not in common}

    @cached_property
    def depths(self) -> dict[str, int]:
        """Function -> how many functions of ours stand on the longest chain of calls that it begins.

        A circle counts as one.
        """
        graph: dict[str, set[str]] = {name: set() for name in self.scopes}
        for caller, called in self.sites:
            if caller in graph:
                graph[caller].add(called)
        groups = {name: group for group in circles(graph) for name in group}
        depths: dict[str, int] = {}

        def depth(name: str) -> int:
            if name not in depths:
                mine = groups.get(name, [name])
                below = {other for one in mine for other in graph[one]} - {*mine}
                depths.update(dict.fromkeys(mine, 1 + max(map(depth, sorted(below)), default=0)))
            return depths[name]

        for name in graph:
            depth(name)
        return depths

    @cached_property
    def callers(self) -> Counter[str]:
        """Function -> in how many places it is called."""
        found: Counter[str] = Counter()
        for (_caller, called), number in self.sites.items():
            found[called] += number
        return found
