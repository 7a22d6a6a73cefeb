# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Errors of the encrypted file, in a separate module: the modules that open the file take time to import."""

from __future__ import annotations

import os
from pathlib import Path

try:
    from keyring.errors import KeyringError
except ImportError:
    KeyringError = Exception


class StoreError(KeyringError):  # type: ignore[misc]  # keyring is untyped
    """The encrypted file cannot be read. Callers must never replace the file because of this error."""


class WrongPassphrase(StoreError):
    """The passphrase is wrong, or the header is damaged: these cannot be distinguished."""


class StoreDamaged(StoreError):
    """The content was changed since it was written, or other users could have changed it."""


class StoreLocked(StoreError):
    """No passphrase is available, or it cannot be used on this machine."""


class StoreMissing(StoreError):
    """The file does not exist yet."""


class NotWritten(Exception):
    """The disk did not accept the new content; the old content is unchanged."""


def display_path(path: Path) -> str:
    """Return the path with ~ for the home directory."""
    home = os.path.expanduser("~")
    return f"~{str(path)[len(home) :]}" if str(path).startswith(home + os.sep) else str(path)
