# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find faults that make a key unusable for any program. The messages never contain the key.

A key with an unknown beginning may be for a different registry, and is not checked.
"""

from __future__ import annotations

import re

from ...module_utils._core.errors import AccountError
from ...module_utils._core.values import check_secret
from ...module_utils._formats.key_forms import FORMS, TITLES


def find_fault(value: object) -> str | None:
    """Return why a value cannot be a key, and what to do; None if the value can be a key."""
    try:
        check_secret(value)
    except AccountError as error:
        return str(error)
    return find_damage(str(value))


def find_damage(text: str) -> str | None:
    """Return what is wrong with a text that begins like a key of a known service; None if nothing is wrong."""
    form = next((form for form in FORMS if form.beginning and text.startswith(form.beginning)), None)
    if form is None or re.fullmatch(form.pattern, text):
        return None  # unknown beginning, or well-formed
    shortest, longest = form.lengths
    keys = f"{TITLES[form.service]} keys that begin with {form.beginning}"
    length = f"{shortest} characters" if shortest == longest else f"{shortest} to {longest} characters"
    if len(text) < shortest:
        return f"the key is too short; {keys} have {length}. Copy the whole key again"
    if len(text) > longest:
        return f"the key is too long; {keys} have {length}. Copy only the key itself"
    return f"the key contains a character that is not allowed in {keys}. Copy the key again"
