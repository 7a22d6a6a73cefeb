# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keeps the short names of all accounts in the user's settings of ssh.

All accounts of the inventory get names, even if the run is limited to some, because a name must be unique among all.
Sections from accounts files that this run does not read stay as they are, unless their file no longer exists.

A block of lines in ~/.ssh/config includes the written file, which has a section for each account: an entry ("Host NAME"
with options) gives the account its name. The source of a section is the accounts file.
"""

from __future__ import annotations

import os
import pwd
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from ...module_utils._core import edited_file
from ...module_utils._core.account import Account
from ...module_utils._core.dry_run import DryRunHost
from ...module_utils._core.errors import AccountError, printable
from ...module_utils._core.host import Host
from ...module_utils._core.resource import CHANGES, reconcile
from .._input import extra_vars
from .._input.agreement import Agreement
from .._input.extra_vars import ReadVariable
from .._state.fingerprint_key import make_private, state_folder
from . import entries, texts
from .ssh_names import SshNames
from .user_settings import UNNAMED, SshSettings, open_settings, require_valid

if TYPE_CHECKING:
    from .._documents.result import PartResult, SshConfigResult, SshName

Variables = Mapping[str, Any]  # Ansible's, for the task

AGREEMENT = Agreement(
    owner="the names for ssh",
    readers={"ssh_config_state": extra_vars.read_choice("present", "absent"), "ssh_config_sure": extra_vars.read_bool},
    sure="ssh_config_sure",
    question="Apply these changes? [y/N] ",
    not_done="nothing was written",
    prefix_words=2,
)
DONE: PartResult = {"kind": "ssh_config_part", "changed": False}  # the result of a task without changes


class DesiredNames(NamedTuple):
    """The names to write. sections: account -> text of its section. names: the report on each account.

    removed: accounts whose sections are removed.
    """

    sections: dict[str, str]
    names: list[SshName]
    removed: list[str]


def update_names(
    variables: Variables, read_variable: ReadVariable, state: str | None, is_preview: bool
) -> SshConfigResult:
    """Write the names of all accounts, or remove all names, or preview the change. Raise AccountError.

    read_variable: returns the value of a variable of the run, or None. state: present or absent; None for the setting
    of the run. is_preview: change nothing.
    """
    state = state or str(AGREEMENT.settings(variables, read_variable).get("ssh_config_state", "present"))
    host, config, sections = _read_files()
    if state == "absent":
        desired = DesiredNames(sections={}, names=[], removed=list(sections))
    else:
        desired = _choose_desired_names(variables, sections, config)
    return _apply(host, desired, is_preview, config)


def remove_names(variables: Variables, read_variable: ReadVariable, is_preview: bool) -> SshConfigResult | PartResult:
    """Remove the names of the accounts that this run offboards completely, or preview the change. Raise AccountError.

    An account of which only some roles or resources are offboarded keeps its name. read_variable: returns the value of
    a variable of the run, or None.
    """
    # the kind of resources, and the roles (None for all roles)
    extent = (read_variable("offboard_only") or "everything", read_variable("offboard_capabilities"))
    tags = [list(read_variable(f"ansible_{option}_tags") or ()) for option in ("run", "skip")]
    has_no_tags = tags in ([["all"], []], [[], []])  # "all" is Ansible's default
    if extent != ("everything", None) or not has_no_tags:
        return DONE
    host, config, sections = _read_files()
    removed = [name for name in variables["ansible_play_hosts"] if name in sections]
    if not removed:
        return DONE
    return _apply(host, DesiredNames(sections={}, names=[], removed=removed), is_preview, config)


def _read_files() -> tuple[Host, str, dict[str, texts.NameSection]]:
    """Return the system interface of this machine, the text of ~/.ssh/config, and the sections of the included file.

    Raise AccountError if HOME is not the home directory whose settings ssh reads.
    """
    ssh_home, home = pwd.getpwuid(os.getuid()).pw_dir, os.path.expanduser("~")
    if os.path.normpath(home) != os.path.normpath(ssh_home):
        raise AccountError(
            f"HOME is {home}, but ssh reads the settings in {ssh_home}. To try again, set HOME={ssh_home}"
        )
    host = Host(Account.of_this_process(sandbox=None), b"")  # b"": no key for fingerprints is needed
    config, included = (
        edited_file.read_edited_file(host, host.expand(path)).text for path in (texts.CONFIG, texts.FILE)
    )
    return host, config, texts.read_sections(included)


def _apply(host: Host, desired: DesiredNames, is_preview: bool, config: str) -> SshConfigResult:
    """Write or remove the desired names, or preview the change, and return the result.

    host: the interface to the files of this machine. config: the text of ~/.ssh/config.
    """
    names = SshNames({"sections": desired.sections, "removed": desired.removed})
    if desired.sections and not is_preview:
        make_private(state_folder() / "ssh")  # for the sockets of sessions: ssh does not create folders
    outcome = reconcile(names, DryRunHost(host) if is_preview else host).document()
    return {
        "kind": "ssh_config",
        "changed": outcome["status"] in CHANGES,
        "failed": bool(outcome["reason"]),  # only a failure has a reason
        "msg": str(outcome["reason"] or ""),
        "previewed": is_preview,
        "outcome": cast(Any, {**outcome, "capability": "ssh_config"}),
        "names": _report_overridden(desired, outcome["after"].get(texts.FILE, ""), config),
    }


def _report_overridden(desired: DesiredNames, included: str, config: str) -> list[SshName]:
    """Return the report on each account, with a text for each name that the user's own settings override.

    included: the text of the included file after the change. config: the text of ~/.ssh/config.
    """
    if not desired.sections:  # names are only removed
        return desired.names
    sections = {name: section for name, section in texts.read_sections(included).items() if name in desired.sections}
    with open_settings(config, included) as settings:
        overridden = {
            target.account: (
                f"this name connects to {target.actual}, not to {target.desired}, because "
                "your ssh settings override this entry"
            )
            for target in settings.list_targets(sections)
            if target.desired != target.actual
        }
    return [{**name, "text": overridden.get(name["account"], name["text"])} for name in desired.names]


def _choose_desired_names(variables: Variables, sections: Mapping[str, texts.NameSection], config: str) -> DesiredNames:
    """Return the names of all accounts of the inventory. Raise AccountError if no account can have a name.

    variables: Ansible's, for the task. sections: of the included file. config: the text of ~/.ssh/config.
    """
    hosts = {str(name): variables["hostvars"][name] for name in variables["groups"].get("accounts", ())}
    ssh_accounts = {name: host for name, host in hosts.items() if _uses_ssh(host)}
    others = {name: section for name, section in sections.items() if name not in ssh_accounts}
    removed = _list_obsolete(others, hosts)
    if not ssh_accounts and not removed:
        raise AccountError("no account in the inventory uses ssh. Sandboxes on this machine need no names for ssh")
    with open_settings(config) as settings:
        settings.resolve(UNNAMED)  # first: if ssh refuses the user's settings, the error is not about an account
        new_entries, failures = _make_entries(ssh_accounts, settings)
        kept_sections = [section for account, section in others.items() if account not in removed]
        kept_names = {name for section in kept_sections for name in section.names}

        def is_free(name: str) -> bool:
            """Return True if neither another section nor the user's own settings use this name."""
            return name not in kept_names and not settings.own_options(name)

        clusters = [str(account["account"]["cluster"]) for account in ssh_accounts.values()]
        names = entries.choose_names(new_entries, clusters, is_free)
        jump_users = entries.choose_jump_users(new_entries, is_free)
    desired = {
        entry.account: _as_latin1(entries.render_section(entry, names[entry.account], jump_users))
        for entry in new_entries
        if entry.account in names
    }
    # accounts that can no longer have an entry
    removed += [name for name in sections if name in ssh_accounts and name not in desired]
    reports = [_report_name(account, names, failures) for account in ssh_accounts]
    return DesiredNames(sections=desired, names=reports, removed=removed)


def _uses_ssh(host: Variables) -> bool:
    """Return True if an inventory host is an account that is reached by ssh. host: its variables."""
    return "account" in host and "cluster" in host and host.get("ansible_connection", "ssh") == "ssh"


def _list_obsolete(others: Mapping[str, texts.NameSection], hosts: Mapping[str, Variables]) -> list[str]:
    """Return the accounts whose sections are removed: their accounts file lacks them now, or no longer exists.

    others: the sections of accounts that this run does not name. hosts: variables of the inventory's accounts.
    """
    files = {_as_latin1(_show_file(host.get("inventory_file"))) for host in hosts.values()}  # which this run reads
    return [name for name, section in others.items() if section.source in files or not _has_source(section)]


def _make_entries(
    accounts: Mapping[str, Variables], settings: SshSettings
) -> tuple[list[entries.HostEntry], dict[str, str]]:
    """Return the entries of accounts, and account -> reason for the accounts that cannot have an entry.

    accounts: account -> its Ansible variables. settings: the user's own settings of ssh.
    """
    new_entries: list[entries.HostEntry] = []
    failures: dict[str, str] = {}
    for name, variables in accounts.items():
        try:
            source = _show_file(variables.get("inventory_file"))
            entry = entries.make_entry(variables, source, settings.options_for_host)
            require_valid(_as_latin1(entries.render_section(entry, name=entry.long, jump_users={})))
            new_entries.append(entry)
        except AccountError as error:
            failures[name] = str(error)
    return new_entries, failures


def _report_name(account: str, names: Mapping[str, str], failures: Mapping[str, str]) -> SshName:
    """Return the report on an account: its name for ssh, or the reason why the account has no entry.

    names: account -> name. failures: account -> reason, for the accounts that cannot have an entry.
    """
    if account in names:
        return {"account": account, "name": names[account], "text": ""}
    user, _at, cluster = account.rpartition("@")
    # the account could have an entry, but none of its possible names is free; this one is tried last
    in_use = f"your ssh settings already contain the name {user}-{cluster}"
    return {"account": account, "name": "", "text": f"has no entry: {failures.get(account, in_use)}"}


def _as_latin1(text: str) -> str:
    """Return a text with each of its UTF-8 bytes as one character, because the files are read as latin-1."""
    return text.encode("utf-8", "surrogateescape").decode("latin-1")


def _show_file(file: object) -> str:
    """Return the path of an accounts file as a section names it. file: None for an inventory of another kind."""
    return printable(str(file or "an inventory"), longest=1000)


def _has_source(section: texts.NameSection) -> bool:
    """Return True if the accounts file of a section still exists."""
    return os.path.exists(section.source.encode("latin-1", "replace"))  # the bytes of the path, see _as_latin1()
