# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files of the audit's report, one for each requested format. Only the user can read them."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from ....module_utils._core.errors import errno_name
from ....module_utils._core.files import replace
from ..._documents.finding import AuditReport
from .groups import select_recent

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
"""The module of each format. A module is imported only if its format is requested, to save time."""
LISTS = ("md", "html", "csv")
"""The formats that list findings for people. With --since last, they contain only the recent findings."""
FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


class ReportError(Exception):
    """The report cannot be written."""


def render_report(report: AuditReport, name: str) -> str:
    """Return the report in a format. name: of the format, a key of FORMATS. Raises ReportError for an unknown name."""
    if name not in FORMATS:
        raise ReportError(f"{name!r} is not a report format; available: {', '.join(FORMATS)}")
    if name == "json":
        return json.dumps(report, indent=1) + "\n"  # in ASCII, so that invisible characters become visible
    shown = select_recent(report) if name in LISTS else report
    return str(import_module(f".{WRITERS[name]}", __package__).render(shown))


def write_files(report: AuditReport, folder: str, formats: Sequence[str]) -> list[str]:
    """Write the report in these formats into the folder, which is created if missing; return the paths of the files.

    All formats are rendered before the first file is written. An existing file or link is replaced.
    """
    rendered = [(render_report(report, name).encode(), FORMATS[name]) for name in dict.fromkeys(formats)]
    folder_handle = open_folder(folder)
    try:
        for content, file_name in rendered:
            _write_file(folder_handle, file_name, content, folder)
    finally:
        os.close(folder_handle)
    return [str(Path(folder) / file_name) for _content, file_name in rendered]


def open_folder(folder: str) -> int:
    """Return a file descriptor of the folder, which is created with mode 0700 if missing. Raises ReportError."""
    try:
        os.makedirs(os.path.dirname(os.path.abspath(folder)), exist_ok=True)
        if not os.path.isdir(folder):
            os.mkdir(folder, 0o700)
        return os.open(folder, FOLDER_FLAGS)
    except OSError as error:
        raise _write_error(folder, error) from None


def _write_file(folder_handle: int, file_name: str, content: bytes, folder: str) -> None:
    """Write a file that only the user can read. folder: its path, for the error message. Raises ReportError."""
    try:
        replace(folder_handle, file_name, content, mode=0o600, attributes={})  # without an access list
    except OSError as error:
        raise _write_error(str(Path(folder) / file_name), error) from None


def _write_error(path: str, error: OSError) -> ReportError:
    """Return the error for the user. path: of the folder or file of the report."""
    is_file = isinstance(error, FileExistsError)  # the folder, or one above it, is a file
    reason = f"{error.filename} is not a folder" if is_file else errno_name(error)
    return ReportError(f"could not write the report to {path} ({reason}); choose a different folder")
