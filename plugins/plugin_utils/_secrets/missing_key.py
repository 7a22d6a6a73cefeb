# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The name under which keys lie in a keyring, and what is raised when one cannot be had."""

from __future__ import annotations

SERVICE = "hpc.onboard"


class MissingKey(Exception):
    """No value for the key: why, and what to do about it.

    all_keys: no other key can be had from there either. Then todo, where it takes a paragraph, is said once in a run.
    """

    def __init__(self, text: str, todo: str = "", all_keys: bool = False) -> None:
        super().__init__(f"{text}. {todo}" if todo else text)
        self.text, self.todo, self.all_keys = text, todo, all_keys
