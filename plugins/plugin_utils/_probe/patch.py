# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A profile with other values for some of its facts; every other byte stays.

If the profile names sources, a changed fact gets the source `probe`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from .._init.accounts_text import find_last_line, find_value, render_value
from .._input.diagnostics import YamlText

SOURCE = "probe"
NAMED_BY = ("name", "id")  # of the items of lists


def apply(file: Path, text: str, values: Mapping[str, Any], day: str) -> tuple[str, list[str]]:
    """Return the changed text and the facts that were changed. A fact that is not written there stays as it is.

    values: by the fact's name, such as storage.scratch.bytes. day: on which the cluster showed them.
    """
    has_sources = find_value(YamlText(file, text).root(), "sources") is not None
    done = []
    for fact, value in values.items():
        found = _find(YamlText(file, text).root(), fact.split("."))
        if found is None:
            continue
        text = _replace(text, found, {"value": value, "source": SOURCE, "date": day} if has_sources else value)
        done.append(fact)
    return (_add_source(file, text, day) if done and has_sources else text), done


def _find(node: yaml.Node | None, steps: list[str]) -> yaml.Node | None:
    """Return the value of a fact; items of lists are found by their names."""
    if not steps:
        return node
    if isinstance(node, yaml.SequenceNode):
        names = [next((one.value for key in NAMED_BY if (one := find_value(item, key))), "") for item in node.value]
        return _find(node.value[names.index(steps[0])], steps[1:]) if steps[0] in names else None
    return _find(find_value(node, steps[0]), steps[1:])


def _replace(text: str, node: yaml.Node, value: Any) -> str:
    """Return the text with another value in place of a node, on one line."""
    start, end = node.start_mark.index, node.end_mark.index
    if isinstance(node, yaml.CollectionNode) and not node.flow_style:
        lines = text.splitlines(keepends=True)
        start = len(text[:start].rstrip())
        end = sum(map(len, lines[: find_last_line(node) + 1]))
        return f"{text[:start]} {render_value(value)}\n{text[end:]}"
    return text[:start] + render_value(value) + text[end:]


def _add_source(file: Path, text: str, day: str) -> str:
    """Return the text with `probe` among its sources, of which it has some."""
    sources = find_value(YamlText(file, text).root(), "sources")
    names = [find_value(item, "id") for item in sources.value] if sources else []
    if sources is None or SOURCE in [one.value for one in names if one]:
        return text
    item = f"  - {{id: {SOURCE}, what: what hpc-onboard probe saw, read: {day}, third_party: true}}\n"
    lines = text.splitlines(keepends=True)
    at = find_last_line(sources) + 1
    return "".join([*lines[:at], item, *lines[at:]])
