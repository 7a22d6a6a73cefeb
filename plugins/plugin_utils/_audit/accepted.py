# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Findings that do not fail an audit: those with a waiver, and those in the baseline file.

A waiver is an entry in the user's waivers file, which accepts a finding until a given day. The baseline file is written
by an audit, with all its findings, so that later audits fail only for new ones.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ...module_utils._core import document_version
from ...module_utils._core.errors import AccountError
from ...module_utils._core.files import replace
from .._input.command_line import describe_options
from . import waivers as _waivers
from .report_findings import list_checked_parts

if TYPE_CHECKING:
    from .._documents.finding import AuditReport

Variables = Mapping[str, Any]  # Ansible's, of one host
Settings = Mapping[str, Any]  # of the user, read by _audit/run.py

Entries = dict[str, dict[str, str]]  # of the baseline file: fingerprint -> fields of the finding

BASELINE = "hpc.onboard/baseline/1.0"
BASELINE_FIELDS: tuple[Literal["rule", "account", "capability", "resource", "place", "since"], ...] = (
    "rule",
    "account",
    "capability",
    "resource",
    "place",
    "since",
)
"""Fields of a finding in the baseline file. Findings are compared by their fingerprint alone.

Account, role ("capability") and resource decide whether a later run that writes the file has checked the finding again.
"""


def read_accepted(
    variables: Variables, settings: Settings, today: date
) -> tuple[list[_waivers.Waiver], dict[str, str] | None]:
    """Return the waivers, also those that have expired, and the baseline (see _read_baseline) of these settings.

    Raises Mistakes, AccountError or OSError for a file that cannot be used.
    """
    return _read_waivers(variables, settings, today), _read_baseline(settings)


def _read_waivers(variables: Variables, settings: Settings, today: date) -> list[_waivers.Waiver]:
    """Return the waivers of the file in audit_waivers, else of waivers.yml next to the accounts file, if any."""
    if settings["audit_waivers"]:
        return _waivers.read_waivers(_expand_path(settings["audit_waivers"]), today)
    # inventory_dir: the folder of the accounts file
    file = Path(str(variables.get("inventory_dir") or ".")) / "waivers.yml"
    return _waivers.read_waivers(file, today) if file.is_file() else []


def _read_baseline(settings: Settings) -> dict[str, str] | None:
    """Return the baseline: fingerprint of a finding -> day on which it was first found, empty if the file has no day.

    Return None without a baseline file, or if this run writes it. Raises AccountError for a file that is not a
    baseline, and for a missing folder; OSError for an unreadable file.
    """
    if not settings["audit_baseline"]:
        return None
    file = _expand_path(settings["audit_baseline"])
    if not settings["audit_baseline_write"]:
        return {fingerprint: entry.get("since", "") for fingerprint, entry in _read_entries(file).items()}
    if not file.parent.is_dir():  # found now, before any login
        command = shlex.join(["mkdir", "-p", str(file.parent)])
        raise AccountError(f"audit_baseline: the folder {file.parent} does not exist. Run: {command}")
    _read_former_entries(file)  # only for its errors: another file is not overwritten
    return None


def _read_former_entries(file: Path) -> Entries:
    """Return the entries of the baseline that this run replaces; none if the file does not exist yet."""
    return _read_entries(file) if file.exists() else {}


def _read_entries(file: Path) -> Entries:
    """Return the entries of a baseline file. Raises AccountError for another or a missing file, else OSError."""
    try:
        baseline = json.loads(file.read_text(encoding="utf-8"))
        # before the entries, which a newer version may write in a different form; None if this version can read them
        advice = f"create a baseline with {describe_options('audit', '--baseline-write')}"
        refusal = document_version.refusal(baseline["schema"], BASELINE, str(file), advice)
        findings = {} if refusal else baseline["findings"]
        entries = {str(fingerprint): _read_entry(entry) for fingerprint, entry in findings.items()}
    except FileNotFoundError:
        write_option = describe_options("audit", "--baseline-write")
        raise AccountError(f"{file} does not exist. To create this file, add the option {write_option}") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        write_options = describe_options("audit", "--baseline", "FILE", "--baseline-write")
        raise AccountError(
            f"{file} is not a baseline file. Create a baseline as a new file with {write_options}"
        ) from None
    if refusal:
        raise AccountError(refusal)
    return entries


def _read_entry(entry: Mapping[str, str]) -> dict[str, str]:
    """Return an entry of the baseline. Raises ValueError if its day of the first finding is not a date."""
    fields = {str(name): str(text) for name, text in entry.items()}
    return {**fields, "since": date.fromisoformat(fields["since"]).isoformat()} if "since" in fields else fields


def write_baseline(settings: Settings, report: AuditReport) -> None:
    """Write the findings of this run's report to the baseline file. Raises OSError with the path of the file.

    Former entries of accounts, roles and resources that this run did not check are kept.
    """
    file = _expand_path(settings["audit_baseline"])
    checked = list_checked_parts(report["accounts"], report["findings"])
    former = _read_former_entries(file)
    findings = {fingerprint: entry for fingerprint, entry in former.items() if not checked.include(entry)}
    for finding in report["findings"]:
        findings[finding["fingerprint"]] = {name: finding[name] for name in BASELINE_FIELDS}
    text = json.dumps({"schema": BASELINE, "findings": findings}, indent=1, sort_keys=True) + "\n"
    folder_handle = os.open(file.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        replace(folder_handle, file.name, text.encode(), mode=0o600, attributes={})  # without an access list
    except OSError as error:  # this error names only a temporary file inside the folder
        raise OSError(error.errno, error.strerror, str(file)) from None
    finally:
        os.close(folder_handle)


def _expand_path(setting: Any) -> Path:
    return Path(os.path.expanduser(str(setting)))
