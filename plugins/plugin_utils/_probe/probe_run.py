# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The part of probe.yml that writes profiles on this machine: a first one, or the changed facts of an existing one.

A profile is a YAML file that describes a cluster. The playbook has probed accounts before: it compared what each of
them shows with the profile of its cluster.
"""

from __future__ import annotations

import json
import os
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
    from .._documents.probe import ProbeAccount, ProbeWritten
    from .._documents.result import JobCheckResult, PartResult

Variables = Mapping[str, Any]  # of Ansible, for the host of the task
Ask = Callable[[str], str | None]  # returns None without an answer
RESULT_VARIABLE = "hpc_onboard_probed"
"""The variable in which playbooks/probe.yml registers the result of each account."""
SETTINGS: dict[str, extra_vars.Reader] = {
    "probe_write": extra_vars.read_bool,
    "probe_folder": extra_vars.read_text,
    "probe_new": extra_vars.read_bool,
    "probe_jobs": extra_vars.read_text,
}
NOTHING: PartResult = {"kind": "probe_part", "changed": False}  # the result if no profile is written
POLICIES = ("allowed", "discouraged", "refused")  # of a site about the users' own conda


def read_settings(variables: Variables, read_variable: extra_vars.ReadVariable) -> dict[str, Any]:
    """Return the values of SETTINGS that the user has set for this run. Raise AccountError for an unknown setting."""
    return extra_vars.read_settings("probe", SETTINGS, variables, read_variable)


def store_and_write(
    variables: Variables, read_variable: extra_vars.ReadVariable, ask: Ask | None
) -> ProbeWritten | PartResult:
    """Store the compared facts for the audit, and write profiles if the settings request this. Raise AccountError.

    variables: of Ansible. read_variable: returns the value of a setting. ask: prompts with a question; None without a
    terminal. Return the written files, or NOTHING if no profile was written.
    """
    settings = read_settings(variables, read_variable)
    results = {host: variables["hostvars"][host].get(RESULT_VARIABLE) for host in variables["ansible_play_hosts_all"]}
    # without sandboxes, which are no clusters that could differ from their profiles
    probed: dict[str, ProbeAccount] = {
        host: result for host, result in results.items() if "observed" in (result or {}) and "sandbox" not in result
    }
    if variables.get("ansible_check_mode") or not probed:  # a preview, or no account was reached
        return NOTHING
    day = datetime.now(UTC).date().isoformat()
    try:
        if settings.get("probe_new"):
            folder = Path(settings["probe_folder"])
            host, result = next(iter(probed.items()))  # such a run has a single account
            return _write_first(folder, host, result, variables["hostvars"], day, ask)
        for host, result in probed.items():
            probed_facts.remember(variables["hostvars"][host]["cluster"]["id"], host, day, result["facts"])
        if not settings.get("probe_write"):
            return NOTHING
        return _patch_all(Path(settings.get("probe_folder") or _choose_folder(variables)), probed, variables, day)
    except (Mistakes, StateError) as error:
        raise AccountError(str(error)) from None


def read_jobs(variables: Variables, read_variable: extra_vars.ReadVariable) -> list[JobCheckResult]:
    """Return the results of a test job on this account, from the file of the setting probe_jobs. Raise AccountError.

    Return [] without this setting, or if the file has no result for this account. Parameters: see store_and_write().
    """
    file = read_settings(variables, read_variable).get("probe_jobs")
    if not file:
        return []
    try:
        document = json.loads(read_text(Path(os.path.expanduser(file))))
        accounts = {str(account["name"]): account["checks"] for account in document["accounts"]}
        checks = accounts.get(str(variables["inventory_hostname"]), [])
        return [
            {"what": check["what"], "way": check["way"], "works": check["works"], "why": check["why"]}
            for check in checks
        ]
    except Mistakes as error:
        raise AccountError(str(error)) from None
    except (ValueError, KeyError, TypeError):  # no JSON, or without these fields
        raise AccountError(
            f"{file} was not written by `hpc-onboard test-job --output FILE`; set --jobs to a file from this command"
        ) from None


def _choose_folder(variables: Variables) -> Path:
    """Return the folder for new profiles: the first one in the accounts file, else USUAL_FOLDER next to that file."""
    files = {str(variables["hostvars"][host].get("inventory_file")) for host in variables["ansible_play_hosts_all"]}
    file = Path(min(files))  # if the accounts are from several accounts files, always choose the same one
    folders = AccountsFile.parse(file, read_text(file)).document.get("profiles") or [USUAL_FOLDER]
    return file.parent / os.path.expanduser(str(folders[0]))


def _write_first(
    folder: Path, host: str, probed: ProbeAccount, hostvars: Variables, day: str, ask: Ask | None
) -> ProbeWritten:
    """Write the first profile of a cluster, after at most three questions, and return the result of the task.

    folder: for profiles. host: the account, as USER@CLUSTER. probed: the result of its probe. hostvars: Ansible's
    variables of all accounts. day: of the probe. ask: prompts with a question; None without a terminal.
    """
    observations = Observations(probed["observed"], probed["slurm"])
    user, _at, name = host.rpartition("@")
    login, answers = hostvars[host]["cluster"]["login"], _ask_questions(observations, name, ask)
    profile = first_profile.build_profile(name, login, user, observations, answers)
    file = folder / f"{name}.yml"
    before = read_text(file) if file.exists() else None  # write_file() replaces only this content
    write_file(file, first_profile.render_profile(profile, host, day), before)
    read_sourced(file)  # raises Mistakes if the profile is invalid
    return _build_result({abbreviate_home(file): []}, next_command=["plan"])  # []: no single fact was changed


def _ask_questions(observations: Observations, name: str, ask: Ask | None) -> dict[str, str]:
    """Return what the account cannot show: title, area and conda. name: of the cluster. ask: see store_and_write().

    Without a terminal, conda is discouraged, and an area is chosen only if the account has a single one.
    """
    areas = list(first_profile.list_areas(observations))
    answers = {"area": areas[0] if len(areas) == 1 else "", "conda": "discouraged"}
    if ask is None:  # without a terminal
        return answers
    title = ask(f"What is the full name of the cluster {name}? [{name}] ")
    answers["title"] = title.strip() if title else ""
    if len(areas) > 1:
        area = ask(f"Which storage area is for caches and other large data: {', '.join(areas)}? [{areas[0]}] ")
        answers["area"] = area if area in areas else areas[0]
    policy = ask("Are private conda installations allowed, discouraged or refused at this site? [discouraged] ")
    answers["conda"] = policy if policy in POLICIES else "discouraged"
    return answers


def _patch_all(
    folder: Path, probed: Mapping[str, ProbeAccount], variables: Variables, day: str
) -> ProbeWritten | PartResult:
    """Write the certain differences into the profiles, and return the result of the task.

    A profile of the collection is copied into the folder first. Of several accounts on a cluster, the last one counts.
    probed: the results of the probes, by account. variables: Ansible's. day: of the probe.
    """
    files: dict[str, list[str]] = {}
    by_cluster = {variables["hostvars"][host]["cluster"]["id"]: result for host, result in probed.items()}
    for name, result in by_cluster.items():
        file = folder / f"{name}.yml"
        text = read_text(file if file.exists() else SHIPPED / f"{name}.yml")
        # only a difference whose correct value is certain has a "value"
        values = {fact["fact"]: fact["value"] for fact in result["facts"] if "value" in fact}
        changed_text, changed_facts = patch.replace_facts(file, text, values, day)
        if changed_facts:
            write_file(file, changed_text, text if file.exists() else None)
            read_sourced(file)  # raises Mistakes if the profile is invalid
            files[abbreviate_home(file)] = changed_facts
    return _build_result(files, next_command=["probe"]) if files else NOTHING  # a second probe finds no differences


def _build_result(files: dict[str, list[str]], next_command: Sequence[str]) -> ProbeWritten:
    """Return the result of a run that wrote profiles. next_command: the subcommand to run next, and its options."""
    command = command_line.command_for(*next_command)
    return {"kind": "probe_written", "changed": bool(files), "files": files, "next": command}
