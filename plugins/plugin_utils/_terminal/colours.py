# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Colours of the terminal: those of Ansible's settings, for what our lines say."""

from __future__ import annotations

from ansible import constants as C
from ansible.utils import color
from ansible_collections.hpc.onboard.plugins.plugin_utils._terminal.layout import Span

STYLES = {
    "ok": C.COLOR_OK,
    "changed": C.COLOR_CHANGED,
    "error": C.COLOR_ERROR,
    "note": C.COLOR_SKIP,
    "added": C.COLOR_DIFF_ADD,
    "removed": C.COLOR_DIFF_REMOVE,
}
WEIGHTS = {"bold": "1", "faint": "2"}


def painted(span: Span) -> str:
    """The text of a span with its colour, a setting of Ansible's, when there are colours."""
    if span.style in WEIGHTS:
        return f"\033[{WEIGHTS[span.style]}m{span.text}\033[0m" if color.ANSIBLE_COLOR else span.text
    return str(color.stringc(span.text, STYLES[span.style])) if span.style else span.text
