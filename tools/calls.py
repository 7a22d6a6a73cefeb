"""The calls among the functions of plugins/, as far as names, imports, self and unique method names show them.

Calls of callbacks and of methods of subclasses are not found, so the depth of calls is a lower bound.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import argparse
import ast
import re
import socket
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from io import BytesIO
from pathlib import Path

from tools.rooms import PLUGINS, Source, find_circles

Function = ast.FunctionDef | ast.AsyncFunctionDef
BUILT_IN = (str, bytes, dict, list, set, tuple, object, int, float)
LIBRARY = (argparse.ArgumentParser, Path, re.Pattern, re.Match, socket.socket, subprocess.Popen, datetime, BytesIO)
"""Python's types: without them, `pattern.search(text)` would count as a call of the one method `search` of plugins/."""


@dataclass
class Scope:
    """A function. name: its full name, such as "plugin_utils._audit.run.prepared.work". owner: its class, or empty."""

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
            self._add_definitions(source.tree, name, name, "")

    def _add_definitions(self, node: ast.AST, prefix: str, module: str, owner: str) -> None:
        """Add each function and class below this node to scopes and classes."""
        for child in ast.iter_child_nodes(node):
            if isinstance(child, Function):
                name = f"{prefix}.{child.name}"
                self.scopes[name] = Scope(name, child, module, owner)
                self._add_definitions(child, name, module, owner)
            elif isinstance(child, ast.ClassDef):
                name = f"{prefix}.{child.name}"
                self.classes[name] = child
                self._add_definitions(child, name, module, name)
            else:
                self._add_definitions(child, prefix, module, owner)

    @cached_property
    def sites(self) -> Counter[tuple[str, str]]:
        """(caller, called) -> number of places. The caller of a call outside of functions is the module."""
        sites: Counter[tuple[str, str]] = Counter()
        for module, source in self.sources.items():
            for caller, call in self._find_calls(source.tree, module):
                called = self._resolve_call(call.func, caller, module)
                if called:
                    sites[caller, called] += 1
        return sites

    def _find_calls(self, node: ast.AST, caller: str) -> Iterator[tuple[str, ast.Call]]:
        """Yield every call below the node, with the innermost function around it."""
        for child in ast.iter_child_nodes(node):
            inner = f"{caller}.{child.name}" if isinstance(child, Function | ast.ClassDef) else caller
            if isinstance(child, ast.Call):
                yield caller, child
            yield from self._find_calls(child, inner)

    def _resolve_call(self, called: ast.expr, caller: str, module: str) -> str | None:
        """Return the function of plugins/ that an expression calls, or None."""
        if isinstance(called, ast.Name):
            return self._resolve_name(called.id, caller, module)
        if not isinstance(called, ast.Attribute):
            return None
        if isinstance(called.value, ast.Name):
            if called.value.id in ("self", "cls") and caller in self.scopes:
                method = self._find_method(self.scopes[caller].owner, called.attr)
                if method:
                    return method
            imported = self._imports[module].get(called.value.id)
            if imported:
                return self._find_function(f"{imported}.{called.attr}")
        return self._unique_methods.get(called.attr)

    def _resolve_name(self, name: str, caller: str, module: str) -> str | None:
        while caller.startswith(module):  # nested functions first, then those of the file
            function = self._find_function(f"{caller}.{name}")
            if function:
                return function
            caller = caller.rpartition(".")[0]
        return self._find_function(self._imports[module].get(name, ""))

    def _find_function(self, name: str) -> str | None:
        """Return the function of this full name; for a class, its __init__."""
        if name in self.scopes:
            return name
        return self._find_method(name, "__init__") if name in self.classes else None

    def _find_method(self, owner: str, name: str) -> str | None:
        """Return the method of a class or of its bases."""
        if f"{owner}.{name}" in self.scopes:
            return f"{owner}.{name}"
        node = self.classes.get(owner)
        module = next((source for source in self.sources if node and owner.startswith(f"{source}.")), "")
        for base in node.bases if node else []:
            word = ast.unparse(base)
            for parent in (f"{module}.{word}", self._imports.get(module, {}).get(word, "")):
                method = self._find_method(parent, name) if parent in self.classes and parent != owner else None
                if method:
                    return method
        return None

    @cached_property
    def _imports(self) -> dict[str, dict[str, str]]:
        """Module -> local name -> full name of an import from plugins/."""
        imports: dict[str, dict[str, str]] = {}
        for module, source in self.sources.items():
            lines = {imported.line: imported for imported in source.imports}
            words = imports.setdefault(module, {})
            for node in ast.walk(source.tree):
                if isinstance(node, ast.ImportFrom) and node.lineno in lines:
                    stem = lines[node.lineno].name.rpartition(".")[0]
                    for alias in node.names:
                        if stem.startswith(PLUGINS[:-1]):
                            words[alias.asname or alias.name] = f"{stem}.{alias.name}".removeprefix(PLUGINS)
        return imports

    @cached_property
    def _unique_methods(self) -> dict[str, str]:
        """Method -> its full name, for names that only one class has, and none of Python's own types."""
        methods = [scope for scope in self.scopes.values() if scope.owner]
        numbers = Counter(scope.node.name for scope in methods)
        common = {name for kind in (*BUILT_IN, *LIBRARY) for name in dir(kind)}
        unique = [scope for scope in methods if numbers[scope.node.name] == 1 and scope.node.name not in common]
        return {scope.node.name: scope.name for scope in unique}

    @cached_property
    def depths(self) -> dict[str, int]:
        """Function -> number of functions in the longest chain of calls from it; a circle counts as one."""
        graph: dict[str, set[str]] = {name: set() for name in self.scopes}
        for caller, called in self.sites:
            if caller in graph:
                graph[caller].add(called)
        groups = {name: group for group in find_circles(graph) for name in group}
        depths: dict[str, int] = {}

        def find_depth(name: str) -> int:
            if name not in depths:
                circle = groups.get(name, [name])
                below = {called for member in circle for called in graph[member]} - {*circle}
                depths.update(dict.fromkeys(circle, 1 + max(map(find_depth, sorted(below)), default=0)))
            return depths[name]

        for name in graph:
            find_depth(name)
        return depths

    @cached_property
    def callers(self) -> Counter[str]:
        """Function -> number of places that call it."""
        callers: Counter[str] = Counter()
        for (_caller, called), number in self.sites.items():
            callers[called] += number
        return callers
