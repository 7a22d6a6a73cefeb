# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The errors of the encrypted file. Apart from what opens it, which takes time to import."""

from __future__ import annotations

import os
from pathlib import Path

try:
    from keyring.errors import KeyringError
except ImportError:
    KeyringError = Exception


class StoreError(KeyringError):  # type: ignore[misc]  # keyring is untyped
    """Why the encrypted file did not give its keys, and what to do. Never a reason to replace it by a new file."""


class WrongPassphrase(StoreError):
    """The passphrase is wrong, or the header is damaged: the two look the same."""


class StoreDamaged(StoreError):
    """The file is not what was written, or it is where other users could have written it."""


class StoreLocked(StoreError):
    """There is no passphrase, or it cannot be used here."""


class StoreMissing(StoreError):
    """The file does not exist yet."""


class NotWritten(Exception):
    """The disk did not accept the new content; the old content is unchanged."""


def display_path(path: Path) -> str:
    """Return the path with ~ for the home folder."""
    home = os.path.expanduser("~")
    return f"~{str(path)[len(home) :]}" if str(path).startswith(home + os.sep) else str(path)
