# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Why the keyring library cannot start: above all, a backend that somebody has named and that is not installed here.

It is told which one is named, where, and how to have it; never the words of the error, which may hold anything.
"""

from __future__ import annotations

import configparser
import os
import shlex
import sys
from pathlib import Path
from typing import NamedTuple

from .file_errors import shown

VARIABLE = "PYTHON_KEYRING_BACKEND"
PACKAGES = {"ansible_collections": "hpc-onboard", "keyring": "--upgrade keyring", "keyring_pass": "keyring-pass"}
"""What to install for the module that a backend's name begins with, where that is not the module's own name."""


class Named(NamedTuple):
    """A backend that is named: its class, where, and how to name it no more."""

    backend: str
    where: str
    undo: str


def named() -> Named | None:
    """The backend that the variable names, else keyring's own file, in the library's order."""
    if os.environ.get(VARIABLE):
        return Named(os.environ[VARIABLE], VARIABLE, "unset the variable")
    file = _config()
    parser = configparser.RawConfigParser()
    try:
        parser.read(file or [], encoding="utf-8")
        backend = parser.get("backend", "default-keyring").strip()
    except (configparser.Error, UnicodeDecodeError):
        return None
    return Named(backend, shown(file) if file else "", "take default-keyring out of that file")


def _config() -> Path | None:
    """The file in which keyring itself looks for a name."""
    try:
        from keyring.util import platform_
    except ImportError:
        return None
    return Path(platform_.config_root()) / "keyringrc.cfg"


def why_not(error: Exception) -> str | None:
    """Why the named backend could not be loaded, and what to do; None where none is named."""
    found = named()
    if not found:
        return None
    said = f"{found.where} names {found.backend}"
    if isinstance(error, ImportError):
        return f"{said}, which {_lacking(found.backend, error.name or '')}, or {found.undo}"
    if isinstance(error, AttributeError | ValueError):
        listed = f"{shlex.quote(sys.executable)} -m keyring --list-backends"
        return f"{said}, and there is no such backend: {listed} shows those that there are; or {found.undo}"
    return f"{said}, which cannot start here ({type(error).__name__}): fix that, or {found.undo}"


def _lacking(backend: str, missing: str) -> str:
    """What is not installed, and the command that installs it: the backend's package, or what that needs."""
    install = f"{shlex.quote(sys.executable)} -m pip install"
    if missing and not f"{backend}.".startswith(f"{missing}."):
        return f"needs {missing}, which is not installed in this Python: {install} {missing}"
    first, _dot, rest = backend.partition(".")
    package = f"{first}.{rest.partition('.')[0]}" if first == "keyrings" else PACKAGES.get(first, first)
    return f"is not installed in this Python: {install} {package}"
