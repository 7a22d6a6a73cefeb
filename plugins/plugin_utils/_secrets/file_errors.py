# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is said of the encrypted file: why it does not give its keys. What opens it takes time to load, and is apart."""

from __future__ import annotations

import os
from pathlib import Path

try:
    from keyring.errors import KeyringError
except ImportError:
    KeyringError = Exception


class StoreError(KeyringError):  # type: ignore[misc]  # keyring is untyped
    """Why the encrypted file did not give its keys, and what to do. Never a reason to write one anew."""


class WrongPassphrase(StoreError):
    """The passphrase is another one, or the header is damaged: the two look the same."""


class StoreDamaged(StoreError):
    """This is not what was written, or it lies where others could have written it."""


class StoreLocked(StoreError):
    """No passphrase could be had, or it could not be used here."""


class StoreMissing(StoreError):
    """There is no such file yet."""


def shown(path: Path) -> str:
    """The path with the home as people write it."""
    home = os.path.expanduser("~")
    return f"~{str(path)[len(home) :]}" if str(path).startswith(home + os.sep) else str(path)
