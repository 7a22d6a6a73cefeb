# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A document that a person wants to have as a file: written for that person alone, whole or not at all."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...module_utils._core.errors import AccountError, as_account_error
from ...module_utils._core.files import replace


def write(setting: str, path: Path, document: Mapping[str, Any]) -> None:
    """Write the document as JSON. setting: by which the file was asked for. Raises AccountError."""
    folder = path.expanduser().absolute().parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
        at = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            replace(at, path.name, (json.dumps(document, indent=1) + "\n").encode(), 0o600, {})
        finally:
            os.close(at)
    except OSError as error:
        raise AccountError(f"{setting}: {as_account_error(error, f'writing {path}')}") from None
