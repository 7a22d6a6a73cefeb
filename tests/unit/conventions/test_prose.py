# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sentences are for people: nothing is concluded from the words of a result, a note, a fix or a message."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tools.rooms import Source, read_sources

PROSE = {"error", "reason", "reasons", "remark", "remarks", "fix", "msg", "['text']", "sentence"}
"""Names of variables, attributes and members whose value was written for a person."""
RESULTS = {  # rooms in which a variable called text is a sentence; elsewhere it is what a file holds
    *("_roles", "_delivery", "_rotation", "_audit", "_audit/formats", "_terminal", "_readiness"),
    *("_documents", "action", "callback"),
}
METHODS = {
    "startswith",
    "endswith",
    "split",
    "rsplit",
    "splitlines",
    "partition",
    "rpartition",
    "find",
    "index",
    "count",
}
SAME = {"str", "clean", "clean_line", "harmless", "visible"}
"""Functions that leave a text as it is, as far as its words go."""
PATTERNS = {"match", "fullmatch", "search", "findall", "finditer", "split"}
ALLOWED: dict[str, set[str]] = {  # what is looked into is no sentence of ours, or is cut to be shown
    "plugin_utils._audit.findings": {"text"},  # a reason that it names already is not added
    "plugin_utils._readiness.doctor_checks": {"text"},  # a version
    "plugin_utils._rotation.options": {"error"},  # its last character, for the full stop
    "plugin_utils._text.profile_words": {"text"},  # of a profile, cut to its first sentence
    "plugin_utils._terminal.layout": {"text"},  # laid out in a terminal's width
    "plugin_utils._text.failure_reasons": {"reason"},  # cut to its first sentence, to stand in a list
}
SOURCES = read_sources()
EVERY_FILE = [pytest.param(source, id=name) for name, source in SOURCES.items()]


@pytest.mark.parametrize("source", EVERY_FILE)
def test_nothing_is_concluded_from_the_words_of_a_result(source: Source) -> None:
    prose = (PROSE | {"text"} if source.room in RESULTS else PROSE) - ALLOWED.get(source.name, set())
    found = {f"line {line}: {name}" for name, line in read_back(source.tree) if name in prose}
    assert found == set()


def test_an_exception_is_one_as_long_as_it_is_needed() -> None:
    for name, names in ALLOWED.items():
        assert names <= {one for one, _line in read_back(SOURCES[name].tree)}, name  # else it is taken out


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("outcome['reason'].startswith('no key')", ["reason"]),
        ("str(outcome['reason'] or '').partition(':')", ["reason"]),
        ("[one for one in remarks if one]", []),
        ("'x' in note['text'] or 'x' in finding.fix", ["['text']", "fix"]),
        ("re.search('x', finding['msg'])", ["msg"]),
        ("PATTERN.match(result.get('msg', ''))", ["msg"]),
        ("any(remark.startswith('x') for remark in remarks)", ["remark"]),
        ("fix[0].isupper()", ["fix"]),
        ("any(word in str(error) for word in NEVER_THERE)", ["error"]),
        ("errno_name(error) in ('EIO',)", []),
        ("outcome['reason'] == 'x'", ["reason"]),
        ("outcome['reason'] is None or not outcome['reason']", []),
        ("'reason' in outcome", []),
        ("f'{reason}.' + text.strip()", []),
        ("entry['remarks'][:20]", []),
        ("re.split('x', reason.strip())", ["reason"]),
    ],
)
def test_the_rule_finds_what_it_forbids(code: str, names: list[str]) -> None:
    assert [name for name, _line in read_back(ast.parse(code)) if name in PROSE] == names


def read_back(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """The prose that is looked into, and the line where that is done."""
    for node in ast.walk(tree):
        for one in looked_into(node):
            yield prose_of(one), one.lineno


def looked_into(node: ast.AST) -> list[ast.expr]:
    """The values whose text decides something here."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr in METHODS and not isinstance(node.func.value, ast.Constant):
            return [node.func.value, *(node.args if node.func.attr in PATTERNS else [])]
        return list(node.args) if node.func.attr in PATTERNS else []
    if isinstance(node, ast.Compare):
        pairs = zip(node.ops, [node.left, *node.comparators], node.comparators, strict=False)
        texts = [right for op, _left, right in pairs if isinstance(op, ast.In | ast.NotIn)]
        words = [node.left, *node.comparators]
        is_word = any(isinstance(one, ast.Constant) and isinstance(one.value, str) and one.value for one in words)
        return texts + ([node.left] if is_word and isinstance(node.ops[0], ast.Eq | ast.NotEq) else [])
    if isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Slice):
        is_name = isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str)
        return [] if is_name else [node.value]
    return []


def prose_of(node: ast.expr) -> str:
    """What a value is called: a variable, an attribute or a member, through str(), or, get() and their like."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.BoolOp):
        return prose_of(node.values[0])
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute) and node.func.attr == "get":
            return member(node.args[0])
        if isinstance(node.func, ast.Attribute) and not node.args:
            return prose_of(node.func.value)  # text.strip()
        return prose_of(node.args[0]) if ast.unparse(node.func) in SAME and node.args else ""
    if isinstance(node, ast.Subscript):
        return member(node.slice)
    return ""


def member(key: ast.expr) -> str:
    """The member of a document; a variable that is called text may be a file's, a member is somebody's sentence."""
    word = str(key.value) if isinstance(key, ast.Constant) else ""
    return "['text']" if word == "text" else word
