# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The loader for YAML that people write, and the bounds of such a document.

A document may come from others: twelve lines of aliases can stand for more values than any memory holds, and the parser
recurses in C. The events of the parser are counted first, which needs neither memory nor recursion.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import yaml

# libyaml is there wherever PyYAML comes as a wheel, and ten times as fast.
SafeLoader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

NODES, DEPTH, DIGITS = 100_000, 50, 20
STANDARD = "tag:yaml.org,2002:"
PLAIN_TAGS = {f"{STANDARD}{name}" for name in ("str", "map", "seq")}


class Loader(SafeLoader):  # type: ignore[misc]  # one of two, chosen at run time
    """PyYAML's safe loader, with dates left as text as JSON has them."""


Loader.yaml_implicit_resolvers = {
    first: [(tag, form) for tag, form in resolvers if tag != f"{STANDARD}timestamp"]
    for first, resolvers in SafeLoader.yaml_implicit_resolvers.items()
}


def find_excess(text: str) -> tuple[int, str] | None:
    """Return the line of the first thing that passes a bound, and what to do; None if nothing does.

    A syntax error ends the count: whoever parses the text next reports it.
    """
    count = ValueCounter()
    event: Any
    try:
        for event in yaml.parse(text, Loader=Loader):
            if advice := count.take(event) or _tag_advice(event):
                return event.start_mark.line + 1, advice
    except yaml.YAMLError:
        pass
    return None


@dataclass
class ValueCounter:
    """The number of values in a document, each alias counted as often as it is used."""

    sizes: list[int] = field(default_factory=lambda: [0])  # of each collection that is open, and of all before
    opened: list[str | None] = field(default_factory=list)  # their anchors
    anchors: dict[str, int | None] = field(default_factory=dict)  # sizes by anchor; None while it is open

    def take(self, event: Any) -> str:
        """Count one event of the parser; return what to do about a bound that it passes, or nothing."""
        advice = ""
        if isinstance(event, yaml.CollectionStartEvent):
            advice = self._open(event.anchor)
        elif isinstance(event, yaml.CollectionEndEvent):
            self._add(self.opened.pop(), self.sizes.pop())
        elif isinstance(event, yaml.ScalarEvent):
            self._add(event.anchor, 1)
            if len(event.value) > DIGITS and _is_number(event):
                advice = f"a number has more than {DIGITS} digits. Put it in quotes if it is text."
        elif isinstance(event, yaml.AliasEvent):
            size = self.anchors.get(str(event.anchor), 0)
            if size is None:
                return f"*{event.anchor} is inside &{event.anchor}, so it contains itself. Write the value out."
            self._add(None, size)
        if self.sizes[-1] > NODES:
            return f"the file contains more than {NODES} values, each alias counted in full. Remove some of them."
        return advice

    def _open(self, anchor: str | None) -> str:
        self.sizes.append(1)
        self.opened.append(anchor)
        if anchor:
            self.anchors[anchor] = None
        return f"values are nested more than {DEPTH} levels deep. Use fewer levels." if len(self.opened) > DEPTH else ""

    def _add(self, anchor: str | None, size: int) -> None:
        self.sizes[-1] += size
        if anchor:
            self.anchors[anchor] = size


def _tag_advice(event: Any) -> str:
    tag = getattr(event, "tag", None) or ""
    if tag.startswith(STANDARD) and tag not in PLAIN_TAGS:
        return f"!!{tag[len(STANDARD) :]} is not supported. Write the value without it."
    return ""


def _is_number(event: Any) -> bool:
    """Return True if a plain scalar would become a whole number, whose digits Python bounds by an exception."""
    if event.tag or not event.implicit[0]:
        return False
    forms = Loader.yaml_implicit_resolvers.get(event.value[0], [])
    return any(tag == f"{STANDARD}int" and form.match(event.value) for tag, form in forms)
