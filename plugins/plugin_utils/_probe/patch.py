# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Changes to the values of some facts in a profile's text. Every other byte stays.

A profile is a YAML file that describes a cluster. A fact is one value in it, such as storage.scratch.bytes, where
scratch is the name of an item of the list `storage`. If the profile names its sources, a changed fact gets the source
`probe`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from .._init.accounts_text import find_last_line, find_value, render_value
from .._input.diagnostics import YamlText

SOURCE = "probe"
GAP = re.compile(r"(?<=:)(?:[ \t]*(?:#[^\n]*)?\n)+[ \t]*\Z")
"""The comments and empty lines between the colon of a key and its value on the following lines."""
NAME_KEYS = ("name", "id")  # the keys by which a fact's name refers to an item of a list


def replace_facts(file: Path, text: str, values: Mapping[str, Any], day: str) -> tuple[str, list[str]]:
    """Return the changed text of a profile and the names of the changed facts. A fact that the text lacks is skipped.

    file: for errors. values: by the fact's name, such as storage.scratch.bytes. day: of the observations.
    """
    has_sources = find_value(YamlText(file, text).root(), "sources") is not None
    changed_facts = []
    for fact, value in values.items():
        node = _find_node(YamlText(file, text).root(), fact.split("."))  # parsed again, because positions have moved
        if node is None:
            continue
        text = _replace_node(text, node, {"value": value, "source": SOURCE, "date": day} if has_sources else value)
        changed_facts.append(fact)
    if changed_facts and has_sources:
        text = _add_source(file, text, day)
    return text, changed_facts


def _find_node(node: yaml.Node | None, steps: list[str]) -> yaml.Node | None:
    """Return the node of a fact's value, or None. steps: the parts of the fact's name, with names of list items."""
    if not steps:
        return node
    if isinstance(node, yaml.SequenceNode):
        names = [next((name.value for key in NAME_KEYS if (name := find_value(item, key))), "") for item in node.value]
        return _find_node(node.value[names.index(steps[0])], steps[1:]) if steps[0] in names else None
    whole_name = find_value(node, ".".join(steps))  # the name of a partition may contain dots
    return whole_name if whole_name is not None else _find_node(find_value(node, steps[0]), steps[1:])


def _replace_node(text: str, node: yaml.Node, value: Any) -> str:
    """Return the text with a value, on one line, in place of a node. node: parsed from this text of the profile."""
    start, end = node.start_mark.index, node.end_mark.index
    if isinstance(node, yaml.CollectionNode) and not node.flow_style:  # several lines below the key
        lines = text.splitlines(keepends=True)
        gap = GAP.search(text, endpos=start)
        start, comments = (gap.start(), gap[0].rstrip()) if gap else (start, "")
        end = sum(map(len, lines[: find_last_line(node) + 1]))
        return f"{text[:start]} {render_value(value)}{comments}\n{text[end:]}"
    end = start + len(text[start:end].rstrip())  # the node of a text in several lines ends after its last line end
    return text[:start] + render_value(value) + text[end:]


def _add_source(file: Path, text: str, day: str) -> str:
    """Return the text with `probe` among its sources. The text has other sources already.

    file: for errors. day: of the observations.
    """
    sources = find_value(YamlText(file, text).root(), "sources")
    ids = [find_value(item, "id") for item in sources.value] if sources else []
    if sources is None or SOURCE in [node.value for node in ids if node]:
        return text
    item = f"{{id: {SOURCE}, what: observations of hpc-onboard probe, read: {day}, third_party: true}}"
    if isinstance(sources, yaml.CollectionNode) and sources.flow_style:  # in brackets
        position = sources.end_mark.index - 1  # of the closing bracket
        return f"{text[:position]}{', ' if sources.value else ''}{item}{text[position:]}"
    lines = text.splitlines(keepends=True)
    end = find_last_line(sources) + 1
    indent = " " * sources.start_mark.column
    return "".join([*lines[:end], f"{indent}- {item}\n", *lines[end:]])
