# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Packs the engine for sending, without docstrings, comments and types.

If there is nothing to do, an account spends most time on compiling. Types and docstrings are a third of the text, and
the types would load Python's 'typing'. Lines keep their numbers, so that tracebacks point to the sources.
"""

from __future__ import annotations

import ast
import io
import os
import tokenize
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from ...module_utils._core import files
from .._state.fingerprint_key import make_private
from .engine_parts import EngineParts, pack, unpack

PACKAGE = "hpc_onboard"
ENGINE = "_engine.engine"
RECORD = "record"
PATTERN = "pattern"
"""What the loader on the account gives to modules (payload.py). The first makes the base of a named tuple. The second
stands for re.compile and compiles a pattern when it is used: few are in one run, and all took a tenth of an audit.
"""


class Cut(NamedTuple):
    """Bytes of a source, from start to end, that are replaced."""

    start: int
    end: int
    new: bytes = b""


class EngineSource:
    """A parsed source of the engine."""

    def __init__(self, code: bytes) -> None:
        self.code = code
        self.tree = ast.parse(code)
        self._lines = [0]
        for line in code.splitlines(keepends=True):
            self._lines.append(self._lines[-1] + len(line))

    def start(self, node: ast.expr | ast.stmt | ast.arg) -> int:
        """Return the byte where a node begins."""
        return self._lines[node.lineno - 1] + node.col_offset

    def end(self, node: ast.expr | ast.stmt | ast.arg) -> int:
        """Return the byte where a node ends."""
        return self._lines[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)

    def whole(self, node: ast.expr | ast.stmt, new: str) -> Cut:
        """Return the cut that replaces a node."""
        return Cut(self.start(node), self.end(node), new.encode())

    def apply(self, cuts: Iterator[Cut]) -> bytes:
        """Return the code after the cuts, on the same lines."""
        code = self.code
        for start, end, new in sorted(set(cuts), reverse=True):
            code = code[:start] + new + b" \\\n" * code.count(b"\n", start, end) + code[end:]
        return code


def pack_engine(module_utils: Path, digest: str) -> EngineParts:
    """Return the packed parts of the engine. digest: of its sources."""
    sources = {
        ".".join(file.relative_to(module_utils).with_suffix("").parts): strip_types(file.read_text(encoding="utf-8"))
        for file in sorted(module_utils.glob("_[a-z]*/*.py"))
    }
    imports = {name: list_imports(name, source) for name, source in sources.items()}
    engine = list_required(ENGINE, imports)
    needs = {name: [one for one in list_required(name, imports) if one not in engine] for name in sources}
    packages = {PACKAGE, *(f"{PACKAGE}.{name.partition('.')[0]}" for name in sources)}
    first = pack({**dict.fromkeys(sorted(packages)), **{f"{PACKAGE}.{name}": sources[name] for name in engine}})
    others, known = [name for name in sources if name not in engine], unpack(first)
    return {
        "sources": digest,
        "engine": first,
        "modules": {name: pack({f"{PACKAGE}.{name}": sources[name]}, known) for name in others},
        "needs": needs,
    }


def write_cache(file: Path, content: bytes) -> None:
    """Write the cache, readable only by the user. If that fails, the next run packs the engine again."""
    with suppress(OSError):
        make_private(file.parent)
        folder = os.open(file.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            draft = f".{file.name}.{os.getpid()}"  # another run may write it as well
            files.write_draft(folder, draft, content, 0o600, {})
            os.rename(draft, file.name, src_dir_fd=folder, dst_dir_fd=folder)
        finally:
            os.close(folder)


def list_imports(module: str, source: str) -> list[str]:
    """Return the modules that the source of a module imports anywhere, also by "from . import x"."""
    folders = module.split(".")[:-1]
    found: dict[str, None] = {}
    for node in _imports(ast.parse(source)):
        whole = [*folders[: len(folders) + 1 - node.level], *(node.module or "").split(".")]
        whole = [part for part in whole if part]
        modules = [[*whole, alias.name] for alias in node.names] if len(whole) < 2 else [whole]
        found.update(dict.fromkeys(".".join(one) for one in modules))
    return list(found)


def _imports(tree: ast.AST) -> Iterator[ast.ImportFrom]:
    """Yield the relative imports of a tree, except those for type checkers."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "False"):
            continue
        if isinstance(node, ast.ImportFrom) and node.level:
            yield node
        yield from _imports(node)


def list_required(module: str, imports: Mapping[str, list[str]]) -> list[str]:
    """Return a module and all modules that it imports, directly or not."""
    found: dict[str, None] = {}
    to_do = [module]
    while to_do:
        name = to_do.pop()
        if name not in found:
            found[name] = None
            to_do += imports[name]
    return list(found)


def strip_types(source: str) -> str:
    """Return a source without docstrings, comments and types, with the same behaviour."""
    untyped = EngineSource(_strip_comments(source).encode())
    loose = EngineSource(untyped.apply(_cut_types(untyped)))
    return loose.apply(_cut_unused_imports(loose)).decode()


def _strip_comments(source: str) -> str:
    """Return a source without comments, on the same lines."""
    lines = source.split("\n")
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column].rstrip()
    return "\n".join(lines)


def _cut_types(source: EngineSource) -> Iterator[Cut]:
    typing = {name for node in source.tree.body for name in _typing_names(node)}
    fields = {field for node in ast.walk(source.tree) for field in _fields(node)}
    values = [node.value for node in source.tree.body if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value]
    constants = {part for value in values for part in ast.walk(value)}
    for node in ast.walk(source.tree):
        match node:
            case ast.Attribute(value=ast.Name(id="re"), attr="compile") if node in constants:
                yield source.whole(node, PATTERN)
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
    """Return the fields of a named tuple; [] for another node."""
    if isinstance(node, ast.ClassDef) and [ast.unparse(base) for base in node.bases] == ["NamedTuple"]:
        return [one for one in node.body if isinstance(one, ast.AnnAssign)]
    return []


def _record(fields: list[ast.AnnAssign]) -> str:
    """Return the call that makes the base of a named tuple, in one line."""
    plain = [repr(ast.unparse(one.target)) for one in fields if not one.value]
    given = [f"{ast.unparse(one.target)}={ast.unparse(one.value)}" for one in fields if one.value]
    return f"{RECORD}({', '.join(plain + given)})"


def _typing_names(node: ast.AST) -> list[str]:
    """Return the names that a statement imports from typing."""
    if isinstance(node, ast.ImportFrom) and node.module == "typing":
        return [alias.asname or alias.name for alias in node.names]
    return []


def _cut_unused_imports(source: EngineSource) -> Iterator[Cut]:
    """Yield cuts of the imports from typing that are no longer used."""
    used = {node.id for node in ast.walk(source.tree) if isinstance(node, ast.Name)}
    for node in source.tree.body:
        if isinstance(node, ast.ImportFrom) and _typing_names(node) and not used.intersection(_typing_names(node)):
            yield source.whole(node, "pass")
