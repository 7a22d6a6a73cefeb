# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The engine as it travels: without what only people and type checkers read, line for line.

Where there is nothing to do, an account is busy with compiling more than with anything else. Types and docstrings are
a third of the text, and for the types alone Python's own 'typing' would be loaded. A line keeps its number, so that a
bug is told where it is.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from ...module_utils._core import files
from .._state.fingerprint_key import make_private
from .engine_parts import Parts, packed

PACKAGE = "hpc_onboard"
ENGINE = "_engine.engine"
RECORD = "record"
"""What the loader on the account gives to every module: it makes the base of a named tuple (payload.py)."""


class Cut(NamedTuple):
    """Bytes of a source, from start to end, that others stand for."""

    start: int
    end: int
    new: bytes = b""


class Source:
    """A source of the engine, parsed."""

    def __init__(self, code: bytes) -> None:
        self.code = code
        self.tree = ast.parse(code)
        self._lines = [0]
        for line in code.splitlines(keepends=True):
            self._lines.append(self._lines[-1] + len(line))

    def start(self, node: ast.expr | ast.stmt | ast.arg) -> int:
        """Where a node begins."""
        return self._lines[node.lineno - 1] + node.col_offset

    def end(self, node: ast.expr | ast.stmt | ast.arg) -> int:
        """Where a node ends."""
        return self._lines[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)

    def whole(self, node: ast.expr | ast.stmt, new: str) -> Cut:
        """The cut of a node."""
        return Cut(self.start(node), self.end(node), new.encode())

    def without(self, cuts: Iterator[Cut]) -> bytes:
        """What is left, on the same lines."""
        code = self.code
        for start, end, new in sorted(set(cuts), reverse=True):
            code = code[:start] + new + b" \\\n" * code.count(b"\n", start, end) + code[end:]
        return code


def parts(module_utils: Path) -> Parts:
    """All parts of the engine, packed."""
    sources = {
        ".".join(file.relative_to(module_utils).with_suffix("").parts): bare(file.read_text(encoding="utf-8"))
        for file in sorted(module_utils.glob("_[a-z]*/*.py"))
    }
    imports = {name: imports_of(name, source) for name, source in sources.items()}
    engine = reached(ENGINE, imports)
    needs = {name: [one for one in reached(name, imports) if one not in engine] for name in sources}
    packages = {PACKAGE, *(f"{PACKAGE}.{name.partition('.')[0]}" for name in sources)}
    return {
        "engine": packed(
            {**dict.fromkeys(sorted(packages)), **{f"{PACKAGE}.{name}": sources[name] for name in engine}}
        ),
        "modules": {name: packed({f"{PACKAGE}.{name}": sources[name]}) for name in sources if name not in engine},
        "needs": needs,
    }


def keep(file: Path, content: bytes) -> None:
    """Keep it for the next run, for the user alone; where that cannot be, the next run does the work again."""
    with suppress(OSError):
        make_private(file.parent)
        folder = os.open(file.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            draft = f".{file.name}.{os.getpid()}"  # another run may be at it, too
            files.write_draft(folder, draft, content, 0o600, {})
            os.rename(draft, file.name, src_dir_fd=folder, dst_dir_fd=folder)
        finally:
            os.close(folder)


def imports_of(module: str, source: str) -> list[str]:
    """The modules that this source of a module imports, wherever it does so; "from . import x" names one, too."""
    folders = module.split(".")[:-1]
    found: dict[str, None] = {}
    for node in _imports(ast.parse(source)):
        whole = [*folders[: len(folders) + 1 - node.level], *(node.module or "").split(".")]
        whole = [part for part in whole if part]
        modules = [[*whole, alias.name] for alias in node.names] if len(whole) < 2 else [whole]
        found.update(dict.fromkeys(".".join(one) for one in modules))
    return list(found)


def _imports(tree: ast.AST) -> Iterator[ast.ImportFrom]:
    """The relative imports of a tree, but for those that only a type checker does."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "False"):
            continue
        if isinstance(node, ast.ImportFrom) and node.level:
            yield node
        yield from _imports(node)


def reached(module: str, imports: Mapping[str, list[str]]) -> list[str]:
    """A module of the account, and all those that it cannot do without."""
    found: dict[str, None] = {}
    to_do = [module]
    while to_do:
        name = to_do.pop()
        if name not in found:
            found[name] = None
            to_do += imports[name]
    return list(found)


def bare(source: str) -> str:
    """A source of the engine without docstrings and types; what it does stays the same."""
    untyped = Source(source.encode())
    loose = Source(untyped.without(_types(untyped)))
    return loose.without(_unused(loose)).decode()


def _types(source: Source) -> Iterator[Cut]:
    typing = {name for node in source.tree.body for name in _of_typing(node)}
    fields = {field for node in ast.walk(source.tree) for field in _fields(node)}
    for node in ast.walk(source.tree):
        match node:
            case ast.Expr(value=ast.Constant(value=str())):
                yield source.whole(node, "pass")
            case ast.FunctionDef(returns=ast.expr() as types):
                yield Cut(source.code.rindex(b"->", 0, source.start(types)), source.end(types))
            case ast.arg(annotation=ast.expr() as types):
                yield Cut(source.start(node) + len(node.arg.encode()), source.end(types))
            case ast.ClassDef() if _fields(node):
                yield source.whole(node.bases[0], _record(_fields(node)))
            case ast.AnnAssign() if node in fields or not node.value:
                yield source.whole(node, "pass")
            case ast.AnnAssign(annotation=types):
                yield Cut(source.end(node.target), source.end(types))
            case ast.Assign(value=ast.Subscript(value=ast.Name(id=name)) as types) if name in typing:
                yield source.whole(types, "None")
            case ast.If(test=ast.Name(id="TYPE_CHECKING") as test):
                yield source.whole(test, "False")


def _fields(node: ast.AST) -> list[ast.AnnAssign]:
    """The fields of a named tuple; none of another class."""
    if isinstance(node, ast.ClassDef) and [ast.unparse(base) for base in node.bases] == ["NamedTuple"]:
        return [one for one in node.body if isinstance(one, ast.AnnAssign)]
    return []


def _record(fields: list[ast.AnnAssign]) -> str:
    """The call that makes the base of a named tuple, in one line."""
    plain = [repr(ast.unparse(one.target)) for one in fields if not one.value]
    given = [f"{ast.unparse(one.target)}={ast.unparse(one.value)}" for one in fields if one.value]
    return f"{RECORD}({', '.join(plain + given)})"


def _of_typing(node: ast.AST) -> list[str]:
    """The names that this statement imports from typing."""
    if isinstance(node, ast.ImportFrom) and node.module == "typing":
        return [alias.asname or alias.name for alias in node.names]
    return []


def _unused(source: Source) -> Iterator[Cut]:
    """The imports of types that nothing needs any more."""
    used = {node.id for node in ast.walk(source.tree) if isinstance(node, ast.Name)}
    for node in source.tree.body:
        if isinstance(node, ast.ImportFrom) and _of_typing(node) and not used.intersection(_of_typing(node)):
            yield source.whole(node, "pass")
