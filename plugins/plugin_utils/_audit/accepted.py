# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What people have said they can live with: the file of waivers, and the baseline, so that only new findings fail."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ...module_utils._core import document_version
from ...module_utils._core.errors import AccountError
from ...module_utils._core.files import replace
from . import waivers as _waivers

if TYPE_CHECKING:
    from .._documents.finding import AuditReport, Finding

Variables = Mapping[str, Any]  # Ansible's, of one host
Wishes = Mapping[str, Any]  # of a person, read by _audit/run.py

BASELINE = "hpc.onboard/baseline/1.0"


class Accepted(NamedTuple):
    """The waivers, and the findings in the baseline: fingerprint to its first day; None without a baseline."""

    waivers: list[_waivers.Waiver]
    baseline: dict[str, str] | None


def read(variables: Variables, wishes: Wishes, today: date) -> Accepted:
    """What both files say; one that cannot be read is an error with its place."""
    return Accepted(_waived(variables, wishes, today), _baseline(wishes))


def _waived(variables: Variables, wishes: Wishes, today: date) -> list[_waivers.Waiver]:
    """The waivers of the file that was named, else of waivers.yml beside the accounts file, if it is there."""
    if wishes["audit_waivers"]:
        return _waivers.read(_path(wishes["audit_waivers"]), today)
    file = Path(str(variables.get("inventory_dir") or ".")) / "waivers.yml"
    return _waivers.read(file, today) if file.is_file() else []


def _baseline(wishes: Wishes) -> dict[str, str] | None:
    """Return the findings of the baseline; a run that writes it needs none."""
    if not wishes["audit_baseline"]:
        return None
    file = _path(wishes["audit_baseline"])
    if wishes["audit_baseline_write"]:
        if not file.parent.is_dir():
            raise AccountError(f"audit_baseline: there is no folder {file.parent}: make it, then run again")
        return None
    advice = "write one with -e audit_baseline_write=true"
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        findings = {str(fingerprint): _day(one) for fingerprint, one in found["findings"].items()}
        why = document_version.refusal(found["schema"], BASELINE, str(file), advice)
    except (ValueError, KeyError, TypeError, AttributeError):
        raise AccountError(f"{file} is no baseline: {advice}") from None
    if why:
        raise AccountError(why)
    return findings


def _day(entry: Mapping[str, str]) -> str:
    """Return the day since when a finding is known; empty where the file does not say. Raises ValueError."""
    return date.fromisoformat(entry["since"]).isoformat() if "since" in entry else ""


def write(wishes: Wishes, report: AuditReport) -> None:
    """Write the findings of this run as the baseline."""
    findings = {one["fingerprint"]: _known(one) for one in report["findings"]}
    text = json.dumps({"schema": BASELINE, "findings": findings}, indent=1, sort_keys=True) + "\n"
    file = _path(wishes["audit_baseline"])
    at = os.open(file.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        replace(at, file.name, text.encode(), 0o600, {})
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(file)) from None
    finally:
        os.close(at)


def _known(finding: Finding) -> dict[str, str]:
    """What the file tells of a finding, for its readers."""
    return {
        "rule": finding["rule"],
        "account": finding["account"],
        "resource": finding["resource"],
        "place": finding["place"],
        "since": finding["since"],
    }


def _path(word: Any) -> Path:
    return Path(str(word)).expanduser()
