# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The text of an accounts file with further settings. All other text, with comments and spaces, stays as it is.

The edited text is parsed again. If it is not the old content with the further settings, the file is refused: NotAdded
is raised with the reason, and the user has to add the settings by hand.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from .._init.accounts_text import NotAdded, find_last_line, find_newline, find_value, render_lines, render_value
from .._input.diagnostics import YamlText
from .._input.yaml_loader import Loader, TolerantLoader

Settings = Mapping[str, Any]


class Edit(NamedTuple):
    """A replacement of the text from start to end, two positions in the file's text."""

    start: int
    end: int
    text: str


def add_settings(file: Path, text: str, settings: Mapping[str, Settings]) -> str:
    """Return the text of an accounts file with further settings. settings: by account. Raise NotAdded or Mistakes."""
    yaml_text = YamlText(file, text)
    root, document = yaml_text.root(), yaml_text.document(TolerantLoader)
    edits = [edit for name, additions in settings.items() for edit in _edit_account(text, root, name, additions)]
    edited = text
    for edit in sorted(edits, reverse=True):  # from the end, so that earlier positions stay valid
        edited = edited[: edit.start] + edit.text + edited[edit.end :]
    try:
        expected = {**document, "accounts": merge(document["accounts"], settings)}
        is_expected = yaml.load(edited, Loader=TolerantLoader) == expected
    except (yaml.YAMLError, ValueError):  # ValueError: a value with a tag is in the place of settings
        is_expected = False
    if not is_expected:
        raise NotAdded("hpc-onboard cannot add settings to a file in this format")
    return edited


def merge(existing: Any, additions: Any) -> Any:
    """Return existing settings with additions: mappings are merged, lists get new items, other values are replaced."""
    if isinstance(additions, Mapping):
        settings = dict(existing or {})
        return {**settings, **{name: merge(settings.get(name), value) for name, value in additions.items()}}
    if isinstance(additions, list) and isinstance(existing, list):
        return [*existing, *(item for item in additions if item not in existing)]
    return additions


def _edit_account(text: str, root: yaml.Node | None, name: str, settings: Settings) -> Iterator[Edit]:
    """Yield the edits that add settings to the account of this name. text: of the whole file. root: its node.

    The account's entry may have no settings yet. Raise NotAdded if the account has no entry.
    """
    accounts = find_value(root, "accounts")
    account = next(((key, value) for key, value in getattr(accounts, "value", ()) if key.value == name), None)
    if not isinstance(accounts, yaml.MappingNode) or account is None:
        raise NotAdded(f'"accounts" has no entry for {name}')
    key, entry = account
    is_empty = isinstance(entry, yaml.ScalarNode) and entry.tag.endswith(":null")
    if is_empty and not entry.value and not accounts.flow_style:  # "USER@CLUSTER:" on a line of its own
        yield _insert_lines(text, key, indent=key.start_mark.column + 2, settings=settings)
    elif is_empty:  # a written null, or an entry between the braces of `accounts`
        start = "" if entry.value else " "  # a space after the colon
        yield Edit(entry.start_mark.index, entry.end_mark.index, start + render_value(settings))
    else:
        yield from _edit_node(text, entry, settings)


def _edit_node(text: str, node: yaml.Node, value: Any) -> Iterator[Edit]:
    """Yield the edits that merge a value into a node. A mapping gets items in its own style: braces or lines.

    A list in brackets gets the missing items, and a single value is replaced. text: of the whole file. A node of
    another type than the value gets no edit: add_settings then refuses the file. Raise NotAdded for a list on several
    lines.
    """
    if isinstance(node, yaml.MappingNode) and isinstance(value, Mapping):
        existing = {key.value: child for key, child in node.value}
        for name in [name for name in value if name in existing]:
            yield from _edit_node(text, existing[name], value[name])
        missing = {name: member for name, member in value.items() if name not in existing}
        if missing and node.flow_style:
            items = ", ".join(f"{name}: {render_value(member)}" for name, member in missing.items())
            yield _insert_items(node, items)
        elif missing:
            first_key, _value = node.value[0]
            yield _insert_lines(text, node, indent=first_key.start_mark.column, settings=missing)
    elif isinstance(node, yaml.SequenceNode) and isinstance(value, list):
        try:
            existing_items = yaml.load(text[node.start_mark.index : node.end_mark.index], Loader=Loader)
        except yaml.YAMLError:  # the text of the list alone has no anchor for an alias in it
            raise NotAdded("hpc-onboard cannot extend a list that contains an alias") from None
        missing_items = [item for item in value if item not in existing_items]
        if missing_items and not node.flow_style:
            raise NotAdded("hpc-onboard can extend a list only if it is written as [A, B]")
        if missing_items:
            yield _insert_items(node, ", ".join(map(render_value, missing_items)))
    elif isinstance(node, yaml.ScalarNode):
        yield Edit(node.start_mark.index, node.end_mark.index, render_value(value))


def _insert_items(node: Any, items: str) -> Edit:
    """Return the edit that adds items, as text, after the last item between the braces or brackets of a node."""
    if not node.value:
        position = node.end_mark.index - 1  # before the closing brace or bracket
        return Edit(position, position, items)
    last_item = node.value[-1]  # of a mapping: key and value
    position = (last_item[1] if isinstance(last_item, tuple) else last_item).end_mark.index
    return Edit(position, position, f", {items}")


def _insert_lines(text: str, node: yaml.Node, indent: int, settings: Settings) -> Edit:
    """Return the edit that adds settings on new lines, with this indent, after the last line of a node.

    text: of the whole file.
    """
    lines = text.splitlines(keepends=True)[: find_last_line(node) + 1]
    position, newline = sum(map(len, lines)), find_newline(text)
    start = "" if lines[-1].endswith("\n") else newline  # the file may lack the last line break
    new_lines = "".join(f"{' ' * indent}{line}{newline}" for line in render_lines(settings))
    return Edit(position, position, start + new_lines)
