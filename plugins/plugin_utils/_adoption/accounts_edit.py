# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""An accounts file with further settings of its accounts; every byte of the user's that is not one of them stays.

The changed text is read again: it must say what was desired and nothing else, or the file is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from .._init.accounts_text import NotAdded, find_last_line, find_value, render_lines, render_value
from .._input.diagnostics import YamlText
from .._input.yaml_loader import Loader

Settings = Mapping[str, Any]


class Edit(NamedTuple):
    """A replacement of the text between two positions."""

    start: int
    end: int
    text: str


def add_settings(file: Path, text: str, settings: Mapping[str, Settings]) -> str:
    """Return the text with further settings, by account. Raise NotAdded, Mistakes."""
    lines = YamlText(file, text)
    root, document = lines.root(), lines.document()
    edits = [edit for name, one in settings.items() for edit in _edit_account(text, root, name, one)]
    made = text
    for edit in sorted(edits, reverse=True):
        made = made[: edit.start] + edit.text + made[edit.end :]
    wanted = {**document, "accounts": merge(document["accounts"], settings)}
    try:
        is_wanted = yaml.load(made, Loader=Loader) == wanted
    except yaml.YAMLError:
        is_wanted = False
    if not is_wanted:
        raise NotAdded("its form is not one that hpc-onboard can add to")
    return made


def merge(there: Any, further: Any) -> Any:
    """Return settings with further ones: mappings are joined, lists get the items that they lack."""
    if isinstance(further, Mapping):
        found = dict(there or {})
        return {**found, **{name: merge(found.get(name), value) for name, value in further.items()}}
    if isinstance(further, list) and isinstance(there, list):
        return [*there, *(one for one in further if one not in there)]
    return further


def _edit_account(text: str, root: yaml.Node | None, name: str, settings: Settings) -> Iterator[Edit]:
    accounts = find_value(root, "accounts")
    found = next(((key, value) for key, value in getattr(accounts, "value", ()) if key.value == name), None)
    if not isinstance(accounts, yaml.MappingNode) or found is None:
        raise NotAdded(f"{name} is not an entry below accounts")
    key, entry = found
    is_empty = isinstance(entry, yaml.ScalarNode) and entry.tag.endswith(":null")
    if is_empty and not entry.value and not accounts.flow_style:
        yield _insert_lines(text, key, key.start_mark.column + 2, settings)
    elif is_empty:
        start = "" if entry.value else " "
        yield Edit(entry.start_mark.index, entry.end_mark.index, start + render_value(settings))
    else:
        yield from _edit(text, entry, settings)


def _edit(text: str, node: yaml.Node, value: Any) -> Iterator[Edit]:
    """Yield the edits that add a value to a node; a mapping in blocks gets lines, one in braces gets words."""
    if isinstance(node, yaml.MappingNode) and isinstance(value, Mapping):
        there = {key.value: child for key, child in node.value}
        for name in [name for name in value if name in there]:
            yield from _edit(text, there[name], value[name])
        missing = {name: one for name, one in value.items() if name not in there}
        if missing and node.flow_style:
            words = ", ".join(f"{name}: {render_value(one)}" for name, one in missing.items())
            yield _insert_words(node, words)
        elif missing:
            yield _insert_lines(text, node, node.value[0][0].start_mark.column, missing)
    elif isinstance(node, yaml.SequenceNode) and isinstance(value, list):
        there_already = yaml.load(text[node.start_mark.index : node.end_mark.index], Loader=Loader)
        missing_items = [one for one in value if one not in there_already]
        if missing_items and not node.flow_style:
            raise NotAdded("a list is not written in brackets")
        if missing_items:
            yield _insert_words(node, ", ".join(map(render_value, missing_items)))
    elif isinstance(node, yaml.ScalarNode):
        yield Edit(node.start_mark.index, node.end_mark.index, render_value(value))


def _insert_words(node: Any, words: str) -> Edit:
    """Return the edit that puts words behind the last ones between the brackets of a node."""
    if not node.value:
        return Edit(node.end_mark.index - 1, node.end_mark.index - 1, words)
    last = node.value[-1]
    at = (last[1] if isinstance(last, tuple) else last).end_mark.index
    return Edit(at, at, f", {words}")


def _insert_lines(text: str, node: yaml.Node, indent: int, settings: Settings) -> Edit:
    """Return the edit that puts settings on lines of their own behind the last line of a node."""
    rows = text.splitlines(keepends=True)[: find_last_line(node) + 1]
    at, end = sum(map(len, rows)), "\r\n" if rows[0].endswith("\r\n") else "\n"
    start = "" if rows[-1].endswith("\n") else end
    return Edit(at, at, start + "".join(f"{' ' * indent}{line}{end}" for line in render_lines(settings)))
