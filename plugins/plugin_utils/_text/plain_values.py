# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Foreign data of plain types, as it may be kept, shown and sent back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.hpc.onboard.plugins.plugin_utils._text.sanitise import MOST, harmless, harmless_lines

LEVELS = 20  # of values within each other


def plain_values(found: Mapping[str, Any], levels: int = LEVELS) -> dict[str, Any]:
    """Foreign data by name, of plain types, each text as harmless_lines() makes it. Raises ValueError for any other."""
    return {harmless(name, 500): _plain_value(value, levels) for name, value in found.items()}


def _plain_value(value: Any, levels: int) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return harmless_lines(value, len(value))
    if isinstance(value, int) and abs(value) <= MOST:
        return value
    if isinstance(value, list) and levels:
        return [_plain_value(one, levels - 1) for one in value]
    if isinstance(value, dict) and levels:
        return plain_values(value, levels - 1)
    raise ValueError("no plain value")
