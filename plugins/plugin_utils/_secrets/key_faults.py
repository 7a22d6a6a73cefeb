# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is wrong with a key that no reader could use, whoever's it is: in fixed words, which never hold the key.

A key that begins as no key that we know may be another registry's, and is nobody's business here.
"""

from __future__ import annotations

import re

from ...module_utils._core.errors import AccountError
from ...module_utils._core.values import check_secret
from ...module_utils._formats.key_forms import FORMS, TITLES, Form
from .backends import SERVICE, MissingKey


def fault_of(value: object) -> str | None:
    """Why a key cannot be one, and what to do; None where nothing is wrong with it."""
    try:
        check_secret(value)
    except AccountError as error:
        return str(error)
    return damage_of(str(value))


def refuse_malformed(name: str, value: str, source: str) -> None:
    """Raise MissingKey for a key that cannot be one. source: the keyring that holds it under that name, in words."""
    fault = fault_of(value)
    if fault:
        raise MissingKey(f"the key '{name}' in {source} is malformed: {fault} (keyring set {SERVICE} {name})")


def damage_of(text: str) -> str | None:
    """What is wrong with a text that begins as a key of a service; None where nothing is, or it begins otherwise."""
    begun = next((form for form in FORMS if form.beginning and text.startswith(form.beginning)), None)
    return None if begun is None or re.fullmatch(begun.pattern, text) else _damaged(text, begun)


def _damaged(text: str, form: Form) -> str:
    shortest, longest = form.lengths
    if len(text) < shortest:
        return f"the key begins as a key of {TITLES[form.service]} and is too short: copy the whole of it again"
    if len(text) > longest:
        return f"the key begins as a key of {TITLES[form.service]} and is too long: was something pasted behind it?"
    return f"the key holds a character that no key of {TITLES[form.service]} has: copy it again"
