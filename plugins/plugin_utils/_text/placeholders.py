# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Placeholders for the user, project and name of an account, so that texts about several accounts are equal."""

from __future__ import annotations

import re
from collections.abc import Callable

Replace = Callable[[str], str]
"""A function that replaces the user, project and name of an account in a text."""


def build_replace(name: str, project: str) -> Replace:
    """Return a function that replaces the user, project and name of an account in a text by placeholders.

    name: USER@CLUSTER. project: empty to keep the project.
    """
    placeholders = ((project, "PROJECT"), (name.partition("@")[0], "USER"), (name, "ACCOUNT"))
    patterns = [
        (rf"(?<![A-Za-z0-9_]){re.escape(word)}(?![A-Za-z0-9_])", placeholder)
        for word, placeholder in placeholders
        if word
    ]

    def replace(text: str) -> str:
        """Return the text with placeholders for whole words."""
        for pattern, placeholder in patterns:
            text = re.sub(pattern, placeholder, text)
        return text

    return replace
