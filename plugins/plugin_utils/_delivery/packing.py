# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Packs the engine, hpc-onboard's program for accounts, for sending: without docstrings, comments and types.

If nothing has to change, an account spends most of its time on compiling. Types and docstrings are a third of the text,
and the types would load Python's 'typing'. Lines keep their numbers, so that tracebacks point to the sources.
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
RECORD = "record_"
PATTERN = "pattern_"
"""Names that the loader on the account defines in each module (payload.LOADER); no module uses such a name itself.

RECORD replaces NamedTuple as a base class. PATTERN replaces re.compile, and compiles a pattern at its first use: a run
uses few of them, and compiling all took a tenth of an audit's time.
"""


class Cut(NamedTuple):
    """A change of a source: the bytes from start to end are replaced by the new ones.

    line_end: takes the place of each line end in the bytes, so that the lines after them keep their numbers.
    """

    start: int
    end: int
    new: bytes = b""
    line_end: bytes = b" \\\n"  # the statement continues on the next line


class EngineSource:
    """A parsed source of the engine."""

    def __init__(self, code: bytes) -> None:
        self.code = code
        self.tree = ast.parse(code)
        self._line_starts = [0]
        for line in code.splitlines(keepends=True):
            self._line_starts.append(self._line_starts[-1] + len(line))
        blocks = [node.body for node in ast.walk(self.tree) if isinstance(node, ast.ClassDef | ast.FunctionDef)]
        # the first statement of each block that contains only docstrings and types of fields
        self._lone = {block[0] for block in blocks if all(map(_is_without_effect, block))}

    def find_start(self, node: ast.expr | ast.stmt | ast.arg) -> int:
        """Return the position of a node's first byte."""
        return self._line_starts[node.lineno - 1] + node.col_offset

    def find_end(self, node: ast.expr | ast.stmt | ast.arg) -> int:
        """Return the position after a node's last byte."""
        return self._line_starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)

    def replace_node(self, node: ast.expr | ast.stmt, new: str) -> Cut:
        """Return the cut that replaces a node by this text."""
        return Cut(self.find_start(node), self.find_end(node), new.encode())

    def remove_statement(self, node: ast.stmt) -> Cut:
        """Return the cut that removes a statement, or replaces it by "pass" if its block would be empty."""
        new = b"pass" if node in self._lone else b""
        return Cut(self.find_start(node), self.find_end(node), new, line_end=b"\n")

    def apply_cuts(self, cuts: Iterator[Cut]) -> bytes:
        """Return the code after the cuts."""
        code = self.code
        for start, end, new, line_end in sorted(set(cuts), reverse=True):  # from the end: earlier positions stay valid
            code = code[:start] + new + line_end * code.count(b"\n", start, end) + code[end:]
        return code


def pack_engine(module_utils: Path, source_digest: str) -> EngineParts:
    """Return the packed parts of the engine. module_utils: the folder of its sources. source_digest: of all sources."""
    sources = {
        ".".join(file.relative_to(module_utils).with_suffix("").parts): strip_types(file.read_text(encoding="utf-8"))
        for file in sorted(module_utils.glob("_[a-z]*/*.py"))
    }
    imports = {name: list_imports(name, source) for name, source in sources.items()}
    core = list_required(ENGINE, imports)  # what every plan needs
    needs = {name: [module for module in list_required(name, imports) if module not in core] for name in sources}
    packages = {PACKAGE, *(f"{PACKAGE}.{name.partition('.')[0]}" for name in sources)}
    package_entries = dict.fromkeys(sorted(packages))  # the value None marks a package (payload.LOADER)
    engine = pack({**package_entries, **{f"{PACKAGE}.{name}": sources[name] for name in core}})
    others, dictionary = [name for name in sources if name not in core], unpack(engine)
    return {
        "sources": source_digest,
        "engine": engine,
        "modules": {name: pack({f"{PACKAGE}.{name}": sources[name]}, dictionary) for name in others},
        "needs": needs,
    }


def write_cache(file: Path, content: bytes) -> None:
    """Write the cache, readable only by the user. If that fails, the next run packs the engine again."""
    with suppress(OSError):
        make_private(file.parent)
        folder = os.open(file.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            draft = f".{file.name}.{os.getpid()}"  # another run may write the cache at the same time
            files.write_draft(folder, draft, content, mode=0o600, attributes={})
            os.rename(draft, file.name, src_dir_fd=folder, dst_dir_fd=folder)
        finally:
            os.close(folder)


def list_imports(module: str, source: str) -> list[str]:
    """Return the modules that the source of a module imports anywhere, also by "from . import x"."""
    packages = module.split(".")[:-1]
    imported: dict[str, None] = {}  # in the order of the source
    for node in _walk_imports(ast.parse(source)):
        base = packages[: len(packages) + 1 - node.level]  # one dot (level 1) means the module's own package
        path = [part for part in (*base, *(node.module or "").split(".")) if part]
        is_package = len(path) < 2  # all modules are PACKAGE.MODULE, so the imported names are modules
        modules = [[*path, alias.name] for alias in node.names] if is_package else [path]
        imported.update(dict.fromkeys(map(".".join, modules)))
    return list(imported)


def _walk_imports(tree: ast.AST) -> Iterator[ast.ImportFrom]:
    """Yield the relative imports of a tree, except those for type checkers."""
    for node in ast.iter_child_nodes(tree):
        # strip_types replaces TYPE_CHECKING by False.
        if isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "False"):
            continue
        if isinstance(node, ast.ImportFrom) and node.level:
            yield node
        yield from _walk_imports(node)


def list_required(module: str, imports: Mapping[str, list[str]]) -> list[str]:
    """Return a module and all modules that it imports, directly or not."""
    required: dict[str, None] = {}
    pending = [module]
    while pending:
        name = pending.pop()
        if name not in required:
            required[name] = None
            pending += imports[name]
    return list(required)


def strip_types(source: str) -> str:
    """Return a source without docstrings, comments and types, with the same behaviour."""
    typed = EngineSource(_strip_comments(source).encode())
    untyped = EngineSource(typed.apply_cuts(_cut_types(typed)))
    return untyped.apply_cuts(_cut_unused_imports(untyped)).decode()


def _strip_comments(source: str) -> str:
    """Return a source without comments, on the same lines."""
    lines = source.split("\n")
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column].rstrip()
    return "\n".join(lines)


def _cut_types(source: EngineSource) -> Iterator[Cut]:
    """Yield cuts that remove docstrings and types, and that compile the patterns of constants at their first use."""
    typing_names = {name for node in source.tree.body for name in _list_typing_names(node)}
    tuple_fields = {field for node in ast.walk(source.tree) for field in _list_fields(node)}
    values = [node.value for node in source.tree.body if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value]
    nodes_of_constants = {part for value in values for part in ast.walk(value)}  # of the module's constants
    for node in ast.walk(source.tree):
        match node:
            case ast.Attribute(value=ast.Name(id="re"), attr="compile") if node in nodes_of_constants:  # re.compile
                yield source.replace_node(node, PATTERN)
            case ast.Expr(value=ast.Constant(value=str())):  # a docstring
                yield source.remove_statement(node)
            case ast.FunctionDef(returns=ast.expr() as types):
                yield Cut(source.code.rindex(b"->", 0, source.find_start(types)), source.find_end(types))
            case ast.arg(annotation=ast.expr() as types):
                yield Cut(source.find_start(node) + len(node.arg.encode()), source.find_end(types))
            case ast.ClassDef() if _list_fields(node):  # a named tuple
                yield source.replace_node(node.bases[0], _render_base(_list_fields(node)))
            case ast.AnnAssign() if node in tuple_fields or not node.value:  # a type without a value to assign
                yield source.remove_statement(node)
            case ast.AnnAssign(annotation=types):
                yield Cut(source.find_end(node.target), source.find_end(types))
            case ast.Assign(value=ast.Subscript(value=ast.Name(id=name)) as types) if name in typing_names:  # an alias
                yield source.replace_node(types, "None")
            case ast.If(test=ast.Name(id="TYPE_CHECKING") as test):
                yield source.replace_node(test, "False")


def _is_without_effect(node: ast.stmt) -> bool:
    """Return True for a docstring, and for a field of a class with only a type or in a named tuple."""
    return isinstance(node, ast.AnnAssign) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))


def _list_fields(node: ast.AST) -> list[ast.AnnAssign]:
    """Return the fields of a named tuple; [] for another node."""
    if isinstance(node, ast.ClassDef) and [ast.unparse(base) for base in node.bases] == ["NamedTuple"]:
        return [statement for statement in node.body if isinstance(statement, ast.AnnAssign)]
    return []


def _render_base(fields: list[ast.AnnAssign]) -> str:
    """Return the call, in one line, that makes the base class of a named tuple on the account."""
    required = [repr(ast.unparse(field.target)) for field in fields if not field.value]
    defaults = [f"{ast.unparse(field.target)}={ast.unparse(field.value)}" for field in fields if field.value]
    return f"{RECORD}({', '.join(required + defaults)})"


def _list_typing_names(node: ast.AST) -> list[str]:
    """Return the names that a statement imports from typing."""
    if isinstance(node, ast.ImportFrom) and node.module == "typing":
        return [alias.asname or alias.name for alias in node.names]
    return []


def _cut_unused_imports(source: EngineSource) -> Iterator[Cut]:
    """Yield cuts that remove the imports from typing that are no longer used."""
    used = {node.id for node in ast.walk(source.tree) if isinstance(node, ast.Name)}
    for node in source.tree.body:
        names = _list_typing_names(node)
        if names and not used.intersection(names):
            yield source.remove_statement(node)
