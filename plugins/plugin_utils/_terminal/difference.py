# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What would be different in a thing, line by line."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.result import state_lines
from ansible_collections.hpc.onboard.plugins.plugin_utils._terminal.layout import Line, Look, item

if TYPE_CHECKING:
    from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.outcome import State


def difference(before: State, after: State, look: Look) -> Iterator[Line]:
    """What changes of a state, line by line; what stays is shown only near it."""
    old, new = state_lines(before), state_lines(after)
    indent = 6 if look.width < 60 else 17
    for line in list(difflib.unified_diff(old, new, n=2, lineterm=""))[2:]:
        mark, text = line[:1], line[1:]
        if mark == "@":
            continue
        style = {"+": "added", "-": "removed"}.get(mark, "faint")
        yield from item(mark, text, indent, look, style)
