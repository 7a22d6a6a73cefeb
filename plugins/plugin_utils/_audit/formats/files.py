# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The audit's report as files: each format asked for, whole or not at all, and for the user alone."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from ....module_utils._core.errors import errno_name
from ....module_utils._core.files import replace
from ..._documents.finding import AuditReport

FORMATS = {
    "json": "audit.json",
    "md": "audit.md",
    "junit": "audit.junit.xml",
    "sarif": "audit.sarif",
    "html": "audit.html",
}
"""The name of each format's file."""

PACKAGE = "ansible_collections.hpc.onboard.plugins.plugin_utils._audit.formats."
WRITERS = {"json": "json_document", "md": "markdown", "junit": "junit", "sarif": "sarif", "html": "html_page"}
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


class ReportError(Exception):
    """A report that could not be written, and what to do about it."""


def text(report: AuditReport, name: str) -> str:
    """The report in the format of that name; only its own code is loaded."""
    if name not in FORMATS:
        raise ReportError(f"{name!r} is no format of a report: take some of {', '.join(FORMATS)}")
    written = import_module(PACKAGE + WRITERS[name]).text(report)
    return str(written)


def write(report: AuditReport, folder: str, formats: Sequence[str]) -> list[str]:
    """Write the formats into the folder, which is made for the user alone where it is not there; give the paths.

    All of them are made before the first one is written. A file is replaced, a link of its name too.
    """
    made = [(text(report, name).encode(), FORMATS[name]) for name in dict.fromkeys(formats)]
    at = opened(folder)
    try:
        for content, name in made:
            _replace(at, name, content, folder)
    finally:
        os.close(at)
    return [str(Path(folder) / name) for _content, name in made]


def opened(folder: str) -> int:
    """The open folder, which is made for the user alone where it is not there. Raises ReportError."""
    try:
        os.makedirs(os.path.dirname(os.path.abspath(folder)), exist_ok=True)
        if not os.path.isdir(folder):
            os.mkdir(folder, 0o700)
        return os.open(folder, FOLDER)
    except OSError as error:
        raise _refused(folder, error) from None


def _replace(at: int, name: str, content: bytes, folder: str) -> None:
    try:
        replace(at, name, content, 0o600, {})
    except OSError as error:
        raise _refused(str(Path(folder) / name), error) from None


def _refused(path: str, error: OSError) -> ReportError:
    return ReportError(f"{path}: {errno_name(error)}: the report cannot be written there; name another folder")
