# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report part of an audit: what all accounts came to, what was remembered, and what is written where."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from ansible import __version__ as ansible_version
from ansible import context
from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.plugin_utils import _audit, _recap, _remembered, _waivers
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit_wishes import Value, checked
from ansible_collections.hpc.onboard.plugins.plugin_utils._audited import unmeasured
from ansible_collections.hpc.onboard.plugins.plugin_utils._durable import StateError
from ansible_collections.hpc.onboard.plugins.plugin_utils._mending import Commands
from ansible_collections.hpc.onboard.plugins.plugin_utils._mistakes import Lines, Mistakes
from ansible_collections.hpc.onboard.plugins.plugin_utils._report_files import ReportError, write

BASELINE = "hpc.onboard/baseline/1.0"


def reported(variables: Mapping[str, Any], value: Value, warn: Callable[[str], None], begun: float) -> dict[str, Any]:
    """The result of the report part: the report, and whether the run fails by it. begun: of time.monotonic()."""
    try:
        wishes = checked(variables, value)
        result = _report(variables, wishes, warn, begun)
    except Mistakes as mistakes:
        return {"failed": True, "msg": str(mistakes)}
    except (AccountError, StateError, ReportError) as error:
        return {"failed": True, "msg": str(error)}
    except OSError as error:
        return {"failed": True, "msg": f"{error.filename}: {error.strerror}: put that right, then run again"}
    reasons = result["summary"]["reasons"]
    return {
        "changed": False,
        "failed": bool(reasons),
        "msg": "; ".join(reasons) or "nothing to hold against",
        "report": result,
    }


def _report(
    variables: Mapping[str, Any], wishes: Mapping[str, Any], warn: Callable[[str], None], begun: float
) -> dict[str, Any]:
    now = datetime.now(UTC)
    run = {**_run(now, wishes), "seconds": round(time.monotonic() - begun, 1)}
    sources = [str(Path(source).resolve()) for source in context.CLIARGS.get("inventory") or ()]
    place, name = _remembered.series(*sources), _remembered.series(*sources, run["limit"], *run["tags"])
    known, history = _remembered.read(place, name)
    past = _audit.Past(known, history, _waived(variables, wishes, now.date()), _accepted(wishes))
    report = _audit.report(run, list(_rows(variables)), past, _commands(variables), now.date())
    summary = report["summary"]
    entry = {"started": run["started"], **{key: summary[key] for key in ("accounts", "not_measured", "by_severity")}}
    try:
        _remembered.keep(_audit.known_now(known, report), place, name, entry)
    except StateError as error:
        warn(f"what this audit found will not be remembered: {error}")
    if wishes["audit_output"]:
        write(report, str(Path(str(wishes["audit_output"])).expanduser()), wishes["audit_formats"])
    if wishes["audit_baseline_write"]:
        _accept(wishes, report)
    return report


def _run(now: datetime, wishes: Mapping[str, Any]) -> dict[str, Any]:
    tags = [str(tag) for tag in context.CLIARGS.get("tags") or () if tag != "all"]
    return {
        "id": now.strftime("%Y%m%dT%H%M%S%fZ"),
        "started": now.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "tool": _version(),
        "ansible": ansible_version,
        "playbook": "audit.yml",
        "limit": str(context.CLIARGS.get("subset") or ""),
        "tags": tags,
        "fail_on": str(wishes["audit_fail_on"]),
        "incomplete": str(wishes["audit_incomplete"]),
    }


def _version() -> str:
    """Our own version: a checkout and a wheel hold galaxy.yml, what ansible-galaxy installs a manifest in its place."""
    root = Path(__file__).parent.parent.parent
    if (root / "MANIFEST.json").is_file():
        manifest = json.loads((root / "MANIFEST.json").read_text(encoding="utf-8"))
        return str(manifest["collection_info"]["version"])
    text = (root / "galaxy.yml").read_text(encoding="utf-8")
    return next((line.split()[1].strip('"') for line in text.splitlines() if line.startswith("version:")), "")


def _rows(variables: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """What each account of the play came to; one whose look ended in an error of its own is not measured."""
    lines = _Declarations()
    for host in variables["ansible_play_hosts_all"]:
        own = variables["hostvars"][host]
        result = own.get("audited") or {}
        row = result.get("audit") or unmeasured(own, str(result.get("msg") or "it was not looked at"))
        yield {**row, "declared": lines.of(str(host), own)}


class _Declarations:
    """Where each account stands in its accounts file."""

    def __init__(self) -> None:
        self._files: dict[str, Lines | None] = {}

    def of(self, name: str, variables: Mapping[str, Any]) -> dict[str, Any] | None:
        """File and line, or None where it cannot be said."""
        file = str(variables.get("inventory_file") or "")
        if not file.endswith((".yml", ".yaml")):
            return None
        if file not in self._files:
            try:
                self._files[file] = Lines(Path(file), Path(file).read_text(encoding="utf-8"))
            except (OSError, UnicodeDecodeError):
                self._files[file] = None
        lines = self._files[file]
        return {"file": _recap.near(file), "line": lines.of(("accounts", name), at_key=True)} if lines else None


def _waived(variables: Mapping[str, Any], wishes: Mapping[str, Any], today: date) -> list[_waivers.Waiver]:
    """The waivers of the file that was named, else of waivers.yml beside the accounts file, if it is there."""
    if wishes["audit_waivers"]:
        return _waivers.read(Path(str(wishes["audit_waivers"])).expanduser(), today)
    file = Path(str(variables.get("inventory_dir") or ".")) / "waivers.yml"
    return _waivers.read(file, today) if file.is_file() else []


def _accepted(wishes: Mapping[str, Any]) -> frozenset[str] | None:
    """The findings of the baseline, by fingerprint; None without one. A run that writes it needs none."""
    if not wishes["audit_baseline"] or wishes["audit_baseline_write"]:
        return None
    file = Path(str(wishes["audit_baseline"])).expanduser()
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        return frozenset(str(fingerprint) for fingerprint in found["findings"])
    except (ValueError, KeyError, TypeError):
        raise AccountError(f"{file} is no baseline: write one with -e audit_baseline_write=true") from None


def _accept(wishes: Mapping[str, Any], report: Mapping[str, Any]) -> None:
    """Write the findings of this run as the baseline."""
    if not wishes["audit_baseline"]:
        raise AccountError("audit_baseline_write needs to know where: -e audit_baseline=FILE")
    names = ("rule", "account", "resource", "place", "since")
    findings = {one["fingerprint"]: {name: one[name] for name in names} for one in report["findings"]}
    file = Path(str(wishes["audit_baseline"])).expanduser()
    draft = file.with_name(f".{file.name}.draft")
    draft.write_text(json.dumps({"schema": BASELINE, "findings": findings}, indent=1, sort_keys=True) + "\n")
    os.replace(draft, file)


def _commands(variables: Mapping[str, Any]) -> Commands:
    """How the other playbooks are called by somebody who called this one so."""
    called = [str(name) for name in context.CLIARGS.get("args") or ("audit.yml",)]
    onboard, offboard = (
        _recap.again(
            {**context.CLIARGS, "tags": ["all"], "skip_tags": [], "check": False},
            sys.argv[1:],
            [str(Path(called[0]).with_name(Path(called[0]).name.replace("audit", word)))],
        )
        for word in ("onboard", "offboard")
    )
    options = onboard.partition("-i ")[2].rpartition(" ")[0] if " -i " in onboard else ""
    hosts = variables["ansible_play_hosts_all"]
    practised = {str(host) for host in hosts if (variables["hostvars"][host].get("account") or {}).get("sandbox")}
    return Commands(onboard, offboard, f"-i {options}" if options else "", practised)
