# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The loader for YAML that people write, and the bounds of such a document.

A document may come from others: twelve lines of aliases can stand for more values than any memory holds, and the parser
recurses in C. The events of the parser are counted first, which needs neither memory nor recursion.
"""

from __future__ import annotations

from collections.abc import Iterator
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


def excess(text: str) -> tuple[int, str] | None:
    """Return the line of the first thing that passes a bound, and what to do; None if nothing does.

    A syntax error ends the count: whoever parses the text next reports it.
    """
    try:
        return next(_excesses(text), None)
    except yaml.YAMLError:
        return None


def _excesses(text: str) -> Iterator[tuple[int, str]]:
    sizes: list[int] = [0]  # of what is open, with all that is in it; an alias counts as what it stands for
    anchors: dict[str, int | None] = {}  # None while it is open
    opened: list[str | None] = []
    for event in yaml.parse(text, Loader=Loader):
        line = event.start_mark.line + 1
        if isinstance(event, yaml.AliasEvent):
            size = anchors.get(event.anchor, 0)
            if size is None:
                yield line, f"*{event.anchor} is inside of &{event.anchor}. Write the value out."
                return
            sizes[-1] += size
        elif isinstance(event, yaml.CollectionStartEvent):
            sizes.append(1)
            opened.append(event.anchor)
            if event.anchor:
                anchors[event.anchor] = None
            if len(opened) > DEPTH:
                yield line, f"values are nested more than {DEPTH} levels deep. Flatten them."
        elif isinstance(event, yaml.CollectionEndEvent):
            size, anchor = sizes.pop(), opened.pop()
            sizes[-1] += size
            if anchor:
                anchors[anchor] = size
        elif isinstance(event, yaml.ScalarEvent):
            sizes[-1] += 1
            if event.anchor:
                anchors[event.anchor] = 1
            if len(event.value) > DIGITS and _is_number(event):
                yield line, f"a number has more than {DIGITS} digits. Put it in quotes if it is text."
        if sizes[-1] > NODES:
            yield line, f"the file holds more than {NODES} values, each alias counted in full. Remove some of them."
        tag = getattr(event, "tag", None)
        if tag and tag.startswith(STANDARD) and tag not in PLAIN_TAGS:
            yield line, f"!!{tag[len(STANDARD) :]} is not supported. Write the value without it."


def _is_number(event: Any) -> bool:
    """Return True if a plain scalar would become a whole number, whose digits Python bounds by an exception."""
    if event.tag or not event.implicit[0]:
        return False
    forms = Loader.yaml_implicit_resolvers.get(event.value[0], [])
    return any(tag == f"{STANDARD}int" and form.match(event.value) for tag, form in forms)
