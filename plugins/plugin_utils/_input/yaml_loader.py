# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The loader for YAML files of users, and limits on the size of a document.

A document may come from another person. Twelve lines of aliases can expand to more values than fit into memory, and the
parser recurses in C. So the events of the parser are counted first, which needs neither memory nor recursion.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import yaml

# libyaml comes with the wheels of PyYAML, and is ten times as fast.
SafeLoader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

MAX_VALUES, MAX_DEPTH, MAX_DIGITS = 100_000, 50, 20  # limits: values, levels of nesting, digits of a whole number
STANDARD = "tag:yaml.org,2002:"
PLAIN_TAGS = {f"{STANDARD}{name}" for name in ("str", "map", "seq")}


class Loader(SafeLoader):  # type: ignore[misc]  # one of two, chosen at run time
    """PyYAML's safe loader, but dates stay text, as in JSON."""


Loader.yaml_implicit_resolvers = {
    first: [(tag, form) for tag, form in resolvers if tag != f"{STANDARD}timestamp"]
    for first, resolvers in SafeLoader.yaml_implicit_resolvers.items()
}


class TaggedValue(NamedTuple):
    """A value with a tag of Ansible, such as !vault: its content is not known here, and checks accept the value."""

    tag: str
    text: str


class TolerantLoader(Loader):
    """A loader for accounts files, which may contain values with Ansible's tags."""


TolerantLoader.add_multi_constructor("!", lambda _loader, tag, node: TaggedValue(tag, str(node.value)))


def find_excess(text: str) -> tuple[int, str] | None:
    """Return the line of the first value that exceeds a limit, and a message about it; None if no value does.

    A syntax error ends the count: the caller parses the text next, and reports the error.
    """
    count = ValueCounter()
    event: Any
    try:
        for event in yaml.parse(text, Loader=Loader):
            if message := count.add_event(event) or _describe_refused_tag(event):
                return event.start_mark.line + 1, message
    except yaml.YAMLError:
        pass  # the caller reports it
    return None


@dataclass
class ValueCounter:
    """Counts the values of a document. An alias counts as all values of its anchor."""

    # Numbers of values so far: of the document, then of each open collection.
    sizes: list[int] = field(default_factory=lambda: [0])
    opened: list[str | None] = field(default_factory=list)  # anchors of the open collections
    anchors: dict[str, int | None] = field(
        default_factory=dict
    )  # anchor -> number of values; None while the collection is open

    def add_event(self, event: Any) -> str:
        """Count an event of the parser. Return a message if the event exceeds a limit, else ""."""
        message = ""
        if isinstance(event, yaml.CollectionStartEvent):
            message = self._open_collection(event.anchor)
        elif isinstance(event, yaml.CollectionEndEvent):
            self._add_size(self.opened.pop(), self.sizes.pop())
        elif isinstance(event, yaml.ScalarEvent):
            self._add_size(event.anchor, size=1)
            if len(event.value) > MAX_DIGITS and _is_number(event):
                message = f"a number has more than {MAX_DIGITS} digits. Put it in quotes if it is text."
        elif isinstance(event, yaml.AliasEvent):
            size = self.anchors.get(str(event.anchor), 0)  # 0: an unknown anchor, which the parser reports
            if size is None:
                return f"the alias *{event.anchor} is inside its own anchor. Replace the alias with a value."
            self._add_size(anchor=None, size=size)
        if self.sizes[-1] > MAX_VALUES:
            return f"the file contains more than {MAX_VALUES} values, counting each alias in full. Remove some values."
        return message

    def _open_collection(self, anchor: str | None) -> str:
        """Count the beginning of a mapping or list. Return a message if it is nested too deep, else ""."""
        self.sizes.append(1)  # the collection itself
        self.opened.append(anchor)
        if anchor:
            self.anchors[anchor] = None
        return (
            f"values are nested more than {MAX_DEPTH} levels deep. Use fewer levels."
            if len(self.opened) > MAX_DEPTH
            else ""
        )

    def _add_size(self, anchor: str | None, size: int) -> None:
        """Add the size of a finished value to the collection around it, and remember the size by the anchor, if any."""
        self.sizes[-1] += size
        if anchor:
            self.anchors[anchor] = size


def _describe_refused_tag(event: Any) -> str:
    """Return a message about a standard tag that makes a value other than plain data, such as !!set; else ""."""
    tag = getattr(event, "tag", None) or ""
    if tag.startswith(STANDARD) and tag not in PLAIN_TAGS:
        return f"!!{tag[len(STANDARD) :]} is not supported. Remove this tag from the value."
    return ""


def _is_number(event: Any) -> bool:
    """Return True if YAML reads a scalar as a whole number. Python refuses to convert very long numbers."""
    if event.tag or not event.implicit[0]:  # a value with a tag or in quotes
        return False
    forms = Loader.yaml_implicit_resolvers.get(event.value[0], [])
    return any(tag == f"{STANDARD}int" and form.match(event.value) for tag, form in forms)
