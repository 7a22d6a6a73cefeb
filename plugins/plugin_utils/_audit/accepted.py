# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Findings that do not fail an audit: those with a waiver, and those in the baseline file.

A waiver is an entry in the user's waivers file, which accepts a finding until a given day. The baseline file is written
by an audit, with all its findings, so that later audits fail only for new ones.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ...module_utils._core import document_version
from ...module_utils._core.errors import AccountError
from ...module_utils._core.files import replace
from .._input.command_line import describe_options
from . import waivers as _waivers

if TYPE_CHECKING:
    from .._documents.finding import AuditReport

Variables = Mapping[str, Any]  # Ansible's, of one host
Settings = Mapping[str, Any]  # of the user, read by _audit/run.py

BASELINE = "hpc.onboard/baseline/1.0"
BASELINE_FIELDS: tuple[Literal["rule", "account", "resource", "place", "since"], ...] = (
    "rule",
    "account",
    "resource",
    "place",
    "since",
)
"""Fields that the baseline file shows of a finding, for people. Findings are compared by their fingerprint alone."""


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
    if settings["audit_baseline_write"]:
        if not file.parent.is_dir():  # found now, before any login
            raise AccountError(f"audit_baseline: the folder {file.parent} does not exist. Run: mkdir -p {file.parent}")
        return None
    advice = f"create a baseline with {describe_options('audit', '--baseline-write')}"
    try:
        baseline = json.loads(file.read_text(encoding="utf-8"))
        findings = {str(fingerprint): _read_first_day(entry) for fingerprint, entry in baseline["findings"].items()}
        # None if this version of hpc-onboard can read the file
        refusal = document_version.refusal(baseline["schema"], BASELINE, str(file), advice)
    except (ValueError, KeyError, TypeError, AttributeError):
        raise AccountError(f"{file} is not a baseline file; {advice}") from None
    if refusal:
        raise AccountError(refusal)
    return findings


def _read_first_day(entry: Mapping[str, str]) -> str:
    """Return the day on which the finding was first found; empty if the entry has no day. Raises ValueError.

    entry: of the baseline.
    """
    return date.fromisoformat(entry["since"]).isoformat() if "since" in entry else ""


def write_baseline(settings: Settings, report: AuditReport) -> None:
    """Write the findings of this run's report to the baseline file. Raises OSError with the path of the file."""
    findings = {
        finding["fingerprint"]: {name: finding[name] for name in BASELINE_FIELDS} for finding in report["findings"]
    }
    text = json.dumps({"schema": BASELINE, "findings": findings}, indent=1, sort_keys=True) + "\n"
    file = _expand_path(settings["audit_baseline"])
    folder_handle = os.open(file.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        replace(folder_handle, file.name, text.encode(), mode=0o600, attributes={})  # without an access list
    except OSError as error:  # this error names only a temporary file inside the folder
        raise OSError(error.errno, error.strerror, str(file)) from None
    finally:
        os.close(folder_handle)


def _expand_path(setting: Any) -> Path:
    return Path(os.path.expanduser(str(setting)))
