# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The writing part of probe.yml on this machine: a first profile of a new cluster, or changed facts of a known one."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...module_utils._core.errors import AccountError
from .._accounts.accounts_file import AccountsFile
from .._accounts.new_profile import USUAL_FOLDER
from .._accounts.profiles import SHIPPED, read_sourced
from .._init.place import write_file
from .._input import command_line, extra_vars
from .._input.diagnostics import Mistakes, read_text
from .._input.writers import abbreviate_home
from .._state import probed_facts
from .._state.durable_files import StateError
from . import first_profile, patch
from .observations import Observations

if TYPE_CHECKING:
    from .._documents.probe import ProbeAccount, ProbePart, ProbeWritten
    from .._documents.result import JobCheckResult

Variables = Mapping[str, Any]  # Ansible's, of the host that the part is run for
Ask = Callable[[str], str | None]  # None: no answer
PROBED = "hpc_onboard_probed"
"""The variable in which playbooks/probe.yml registers what was seen."""
SETTINGS: dict[str, extra_vars.Reader] = {
    "probe_write": extra_vars.read_bool,
    "probe_folder": extra_vars.read_text,
    "probe_new": extra_vars.read_bool,
    "probe_jobs": extra_vars.read_text,
}
NOTHING: ProbePart = {"kind": "probe_part", "changed": False}
POLICIES = ("allowed", "discouraged", "refused")


def read_settings(variables: Variables, value: extra_vars.Value) -> dict[str, Any]:
    """Return the settings of the run. Raise AccountError for an unknown one."""
    return extra_vars.read_settings("probe", SETTINGS, variables, value)


def write(variables: Variables, value: extra_vars.Value, ask: Ask | None) -> ProbeWritten | ProbePart:
    """Keep what differs for the audit, and write it into profiles if the run is to. Raise AccountError.

    ask: None without a terminal.
    """
    settings = read_settings(variables, value)
    looks = {host: variables["hostvars"][host].get(PROBED) for host in variables["ansible_play_hosts_all"]}
    seen: dict[str, ProbeAccount] = {host: look for host, look in looks.items() if look and "observed" in look}
    if variables.get("ansible_check_mode") or not seen:
        return NOTHING
    day = datetime.now(UTC).date().isoformat()
    try:
        if settings.get("probe_new"):
            folder = Path(settings["probe_folder"])
            return _write_first(folder, *next(iter(seen.items())), variables["hostvars"], day, ask)
        for host, look in seen.items():
            if "sandbox" not in look:
                probed_facts.remember(variables["hostvars"][host]["cluster"]["id"], host, day, look["facts"])
        if not settings.get("probe_write"):
            return NOTHING
        return _patch_all(Path(settings.get("probe_folder") or _choose_folder(variables)), seen, variables, day)
    except (Mistakes, StateError) as error:
        raise AccountError(str(error)) from None


def read_jobs(variables: Variables, value: extra_vars.Value) -> list[JobCheckResult]:
    """Return what a test job has shown of this account. Raise AccountError."""
    file = read_settings(variables, value).get("probe_jobs")
    if not file:
        return []
    try:
        document = json.loads(read_text(Path(file).expanduser()))
        accounts = {str(one["name"]): one["checks"] for one in document["accounts"]}
        checks = accounts.get(str(variables["inventory_hostname"]), [])
        return [{"what": one["what"], "way": one["way"], "works": one["works"], "why": one["why"]} for one in checks]
    except Mistakes as error:
        raise AccountError(str(error)) from None
    except (ValueError, KeyError, TypeError):
        raise AccountError(f"{file} is not a result of hpc-onboard test-job --output FILE") from None


def _choose_folder(variables: Variables) -> Path:
    """Return the first folder of profiles that the accounts file names, else one next to it."""
    files = {str(variables["hostvars"][host].get("inventory_file")) for host in variables["ansible_play_hosts_all"]}
    file = Path(min(files))
    named = AccountsFile.parse(file, read_text(file)).document.get("profiles") or [USUAL_FOLDER]
    return file.parent / Path(str(named[0])).expanduser()


def _write_first(
    folder: Path, host: str, look: ProbeAccount, hostvars: Variables, day: str, ask: Ask | None
) -> ProbeWritten:
    """Write the first profile of a cluster, after at most three questions."""
    seen = Observations(look["observed"], look["slurm"])
    user, _at, name = host.rpartition("@")
    profile = first_profile.build_profile(
        name, hostvars[host]["cluster"]["login"], user, seen, _ask_all(seen, name, ask)
    )
    file = folder / f"{name}.yml"
    before = read_text(file) if file.exists() else None
    write_file(file, first_profile.render(profile, host, day), before)
    read_sourced(file)
    return _written({abbreviate_home(file): []}, ["plan"])


def _ask_all(seen: Observations, name: str, ask: Ask | None) -> dict[str, str]:
    """Return the answers to what the account cannot show; without a terminal what is safe: no area, no conda."""
    areas = list(first_profile.list_areas(seen))
    answers = {"area": areas[0] if len(areas) == 1 else "", "conda": "discouraged"}
    if ask is None:
        return answers
    title = ask(f"What is the full name of {name}? [{name}] ")
    answers["title"] = title.strip() if title else ""
    if len(areas) > 1:
        word = ask(f"Which storage area is for caches and other large data: {', '.join(areas)}? [{areas[0]}] ")
        answers["area"] = word if word in areas else areas[0]
    policy = ask("What does the site say about your own conda: allowed, discouraged or refused? [discouraged] ")
    answers["conda"] = policy if policy in POLICIES else "discouraged"
    return answers


def _patch_all(
    folder: Path, seen: Mapping[str, ProbeAccount], variables: Variables, day: str
) -> ProbeWritten | ProbePart:
    """Write the certain differences into the profiles; one that ships is copied into the folder first."""
    files: dict[str, list[str]] = {}
    clusters = {variables["hostvars"][host]["cluster"]["id"]: look for host, look in seen.items()}
    for name, look in clusters.items():
        own = folder / f"{name}.yml"
        text = read_text(own if own.exists() else SHIPPED / f"{name}.yml")
        facts = [one for one in look["facts"] if "value" in one]
        if not facts:
            continue
        changed, done = patch.apply(own, text, {one["fact"]: one["value"] for one in facts}, day)
        if done:
            folder.mkdir(parents=True, exist_ok=True)
            write_file(own, changed, text if own.exists() else None)
            read_sourced(own)
            files[abbreviate_home(own)] = done
    return _written(files, ["probe"]) if files else NOTHING


def _written(files: dict[str, list[str]], words: Sequence[str]) -> ProbeWritten:
    return {"kind": "probe_written", "changed": bool(files), "files": files, "next": command_line.command_for(*words)}
