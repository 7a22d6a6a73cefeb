# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Explain why the keyring library cannot start: usually, a setting names a backend that is not installed.

The message has the backend, the setting and the command to install the backend. It never quotes the error, which may
contain a key.
"""

from __future__ import annotations

import configparser
import os
import shlex
import sys
from pathlib import Path
from typing import NamedTuple

from .file_errors import display_path

VARIABLE = "PYTHON_KEYRING_BACKEND"
PACKAGES = {"ansible_collections": "hpc-onboard", "keyring": "--upgrade keyring", "keyring_pass": "keyring-pass"}
"""First part of a backend's name -> arguments of `pip install`, if they differ from this part."""


class NamedBackend(NamedTuple):
    """A backend named in a setting. backend: its class. where: the setting's name. undo: how to remove the setting."""

    backend: str
    where: str
    undo: str


def find_named_backend() -> NamedBackend | None:
    """Return the backend in the environment variable, else in keyring's settings file; None if neither names one."""
    if os.environ.get(VARIABLE):
        return NamedBackend(os.environ[VARIABLE], VARIABLE, "unset the variable")
    try:
        from keyring.util import platform_  # fails if the library is missing
    except ImportError:
        return None
    file = Path(platform_.config_root()) / "keyringrc.cfg"
    parser = configparser.RawConfigParser()
    try:
        parser.read(file, encoding="utf-8")
        backend = parser.get("backend", "default-keyring").strip()
    except (configparser.Error, UnicodeDecodeError):
        return None
    return NamedBackend(backend, display_path(file), "remove the line default-keyring from that file")


def explain_named_backend(error: Exception) -> str | None:
    """Return why the named backend could not be loaded, and what to do; None if no setting names a backend.

    error: raised by the library when it started.
    """
    named = find_named_backend()
    if not named:
        return None
    setting = f"{named.where} names {named.backend}"
    if isinstance(error, ImportError):
        return _explain_missing(named, error.name or "")
    if isinstance(error, AttributeError | ValueError):  # the module exists, but has no such class
        command = f"{shlex.quote(sys.executable)} -m keyring --list-backends"
        return f"{setting}, which does not exist. To list the available backends, run {command}; or {named.undo}"
    reason = type(error).__name__  # the backend exists, but failed
    return f"{setting}, which cannot start on this machine ({reason}). Fix this problem, or {named.undo}"


def _explain_missing(named: NamedBackend, module: str) -> str:
    """Return what is not installed, and the command that installs it. module: the module that Python did not find."""
    setting, backend = f"{named.where} names {named.backend}", named.backend
    install = f"{shlex.quote(sys.executable)} -m pip install"
    is_backend_missing = not module or f"{backend}.".startswith(f"{module}.")
    if not is_backend_missing:  # the backend is installed, but needs another module
        missing = f"{setting}, but the Python module {module}, which this backend needs, is not installed"
        return f"{missing}. Run {install} {module}, or {named.undo}"
    first, _dot, rest = backend.partition(".")
    # packages of the namespace `keyrings` have two parts: keyrings.alt
    package = f"{first}.{rest.partition('.')[0]}" if first == "keyrings" else PACKAGES.get(first, first)
    return f"{setting}, which is not installed in this Python. Run {install} {package}, or {named.undo}"
