# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The audit's report as files in the requested formats, complete or not at all, and private to the user."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from ....module_utils._core.errors import errno_name
from ....module_utils._core.files import replace
from ..._documents.finding import AuditReport
from .groups import recent

FORMATS = {
    "json": "audit.json",
    "md": "audit.md",
    "junit": "audit.junit.xml",
    "sarif": "audit.sarif",
    "html": "audit.html",
    "csv": "audit.csv",
    "openmetrics": "audit.prom",
    "digest": "audit.digest.txt",
    "digest-json": "audit.digest.json",
}
"""The name of each format's file."""

WRITERS = {
    "md": "markdown",
    "junit": "junit",
    "sarif": "sarif",
    "html": "html_page",
    "csv": "csv_table",
    "openmetrics": "openmetrics",
    "digest": "digest",
    "digest-json": "digest_json",
}
"""The module of each format, which is loaded when it is needed."""
LISTS = ("md", "html", "csv")
"""The formats that list findings for people, and so only the recent ones if the run says so."""
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


class ReportError(Exception):
    """A report cannot be written. The message says what to do."""


def render_report(report: AuditReport, name: str) -> str:
    """Return the report in the format of that name. JSON is in ASCII, so invisible characters are spelled out."""
    if name not in FORMATS:
        raise ReportError(f"{name!r} is not a report format; available: {', '.join(FORMATS)}")
    if name == "json":
        return json.dumps(report, indent=1) + "\n"
    shown = recent(report) if name in LISTS else report
    return str(import_module(f".{WRITERS[name]}", __package__).text(shown))


def write_files(report: AuditReport, folder: str, formats: Sequence[str]) -> list[str]:
    """Write the formats into the folder, which is created if missing; return the paths.

    All of them are rendered before the first one is written. An existing file or link is replaced.
    """
    rendered = [(render_report(report, name).encode(), FORMATS[name]) for name in dict.fromkeys(formats)]
    handle = open_folder(folder)
    try:
        for content, name in rendered:
            _replace(handle, name, content, folder)
    finally:
        os.close(handle)
    return [str(Path(folder) / name) for _content, name in rendered]


def open_folder(folder: str) -> int:
    """Return a handle of the folder, created with mode 0700 if missing. Raises ReportError."""
    try:
        os.makedirs(os.path.dirname(os.path.abspath(folder)), exist_ok=True)
        if not os.path.isdir(folder):
            os.mkdir(folder, 0o700)
        return os.open(folder, FOLDER)
    except OSError as error:
        raise _not_writable(folder, error) from None


def _replace(handle: int, name: str, content: bytes, folder: str) -> None:
    try:
        replace(handle, name, content, 0o600, {})
    except OSError as error:
        raise _not_writable(str(Path(folder) / name), error) from None


def _not_writable(path: str, error: OSError) -> ReportError:
    return ReportError(f"{path}: {errno_name(error)}: the report cannot be written there; name another folder")
