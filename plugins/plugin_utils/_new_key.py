# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a new key comes from: a file, standard input, or a person at the terminal; never the command line."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.plugin_utils._key_forms import Key, Malformed, recognised
from ansible_collections.hpc.onboard.plugins.plugin_utils._store_errors import StoreLocked
from ansible_collections.hpc.onboard.plugins.plugin_utils._worker_prompt import ThroughAnsible

LARGEST = 10_000
NOBODY = "there is no terminal to ask for the new key: name a file with it, mode 600: -e rotate_key_file=PATH"


def new_key(secret: str, service: str, file: str, given: bytes) -> Key:
    """The new key in its form; given is what came on standard input. Raises AccountError, which never holds it."""
    try:
        return recognised(_typed(secret, file, given), service)
    except Malformed as error:
        raise AccountError(f"the new key of '{secret}' was not taken, and nothing was changed: {error}") from None


def _typed(secret: str, file: str, given: bytes) -> str:
    if file == "-":
        return given.decode("utf-8", "replace").rstrip("\r\n")
    return _from_file(file) if file else _asked(secret)


def _from_file(name: str) -> str:
    path = Path(name).expanduser()
    try:
        found = path.stat()
        if stat.S_ISREG(found.st_mode) and (found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & 0o077):
            raise AccountError(f"{path}, the file with the new key, must be yours alone: chmod 600 {path}")
        with open(path, "rb") as stream:
            text = stream.read(LARGEST).decode("utf-8")
    except OSError as error:
        raise AccountError(f"{path}, the file with the new key, cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise AccountError(f"{path} holds no text, so it is no key") from None
    return text.removesuffix("\n").removesuffix("\r")


def _asked(secret: str) -> str:
    try:
        return ThroughAnsible().ask(f"New key of '{secret}' (it is not shown)")
    except StoreLocked:
        raise AccountError(NOBODY) from None
