# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The name under which keys lie in a keyring, and what is raised when one cannot be had."""

from __future__ import annotations

SERVICE = "hpc.onboard"


class MissingKey(Exception):
    """No value for the key, with what to do about it. all_keys: no other key can be had from there either."""

    def __init__(self, text: str, all_keys: bool = False) -> None:
        super().__init__(text)
        self.all_keys = all_keys
