# Copyright: hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Inspects this machine for doctor. The verdicts on what it finds are in plugin_utils/_readiness/doctor_checks.py.

A rotation replaces a key of the user by a new version on all accounts. The documentation is in
plugins/modules/doctor.py.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ansible import constants
from ansible.plugins.action import ActionBase
from ansible.plugins.loader import connection_loader
from ansible.release import __version__
from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts import open_sessions
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.host_variables import InventoryHost
from ansible_collections.hpc.onboard.plugins.plugin_utils._authentication import credential, renewers, ssh_login
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.collection import find_accounts_file
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.programs import run_program, ssh_settings
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.ssh_arguments import parse_settings, ssh_arguments
from ansible_collections.hpc.onboard.plugins.plugin_utils._readiness import doctor_checks
from ansible_collections.hpc.onboard.plugins.plugin_utils._readiness.doctor_checks import DoctorCheck
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation import reminders
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets import backends, passphrase
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets.backends import MissingKey
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets.file_errors import StoreLocked, StoreMissing
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets.key_faults import find_fault
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets.keyring_backend import Keyring
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets.prompt import AnsiblePrompter
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets.session import current_keyring_name
from ansible_collections.hpc.onboard.plugins.plugin_utils._ssh_config import texts
from ansible_collections.hpc.onboard.plugins.plugin_utils._ssh_config.user_settings import UNNAMED, SshSettings
from ansible_collections.hpc.onboard.plugins.plugin_utils._state.fingerprint_key import state_folder

if TYPE_CHECKING:
    from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.result import DoctorResult

ACCOUNTS_PLUGIN = re.compile(r"^plugin:\s*[\"']?hpc\.onboard\.accounts", re.MULTILINE)
RESOLVE = "import socket, sys; socket.getaddrinfo(sys.argv[1], None)"  # a program, since the call has no time limit
SECONDS = 8  # for each program

passphrase.keep_descriptor()  # here, before Ansible forks: the processes of the tasks have other descriptors 0 to 2


class ActionModule(ActionBase):  # type: ignore[misc]  # Ansible is untyped
    """hpc.onboard.doctor"""

    TRANSFERS_FILES = False
    _requires_connection = False
    _supports_check_mode = True

    def run(self, tmp: str | None = None, task_vars: Mapping[str, Any] | None = None) -> DoctorResult:
        """Inspect this machine and the path to each account. Return all checks as the result of the task.

        tmp: of Ansible, not used. task_vars: Ansible's variables of this machine.
        """
        super().run(tmp, task_vars)
        _validation, arguments = self.validate_argument_spec({"key": {"type": "str", "default": "ngc"}})
        file_checks, hosts = inspect_accounts_files(list((task_vars or {}).get("ansible_inventory_sources") or []))
        cluster_hosts = [host for host in hosts if not doctor_checks.is_sandbox(host)]
        is_needed = bool(cluster_hosts)  # sandboxes need neither ssh nor a keyring
        return doctor_checks.summarise(
            [
                *inspect_software(),
                inspect_keyring(arguments["key"], is_needed),
                *inspect_rotations(),
                *inspect_ssh(is_needed),
                *inspect_ssh_names(),
                *file_checks,
                *inspect_routes(cluster_hosts),
            ]
        )


def inspect_software() -> Iterator[DoctorCheck]:
    """Check Python, Ansible, and the folder in which doctor was started."""
    now, folder = datetime.now(), Path.cwd()
    python_version = ".".join(map(str, sys.version_info[:3]))
    for name, version in (("Python", python_version), ("ansible-core", __version__)):
        yield doctor_checks.check_version(name, version, (now.year, now.month))
    yield doctor_checks.check_folder(folder, folder.stat().st_mode, (folder / "ansible.cfg").exists())


def inspect_ssh(is_needed: bool) -> Iterator[DoctorCheck]:
    """Check the ssh client, its agent, and the folder for its sockets. is_needed: True if any account is on a cluster.

    Without such an account, a problem is only a warning.
    """
    code, _output, version = run_program(["ssh", "-V"], SECONDS)
    yield doctor_checks.check_ssh(None if code is None else version, is_needed)  # None: ssh could not be started
    # the agent that ssh uses, which the user's settings may name (IdentityAgent)
    socket = credential.find_agent_socket(ssh_settings(["--", UNNAMED], SECONDS))
    code, output, _error = run_program(["ssh-add", "-l"], SECONDS, {"SSH_AUTH_SOCK": socket})
    yield doctor_checks.check_agent(code, output, is_needed)
    connection_loader.get("ssh", class_only=True)  # loads the plugin, which defines the setting
    folder = constants.config.get_config_value("control_path_dir", plugin_type="connection", plugin_name="ssh")
    yield doctor_checks.check_control_path(os.path.expanduser(os.path.expandvars(str(folder))))


def inspect_ssh_names() -> Iterator[DoctorCheck]:
    """Check the short names of accounts for ssh, if `hpc-onboard ssh-config` has written their file.

    The user's own ssh settings (texts.CONFIG) must include this file (texts.FILE).
    """
    names_file, config = (Path(path).expanduser() for path in (texts.FILE, texts.CONFIG))
    if not names_file.is_file():
        return
    try:
        targets = list(SshSettings().list_targets(texts.read_sections(names_file.read_text(encoding="latin-1"))))
        config_text = config.read_text(encoding="latin-1") if config.is_file() else ""
        yield doctor_checks.check_ssh_names(config_text, targets)
    except AccountError as error:
        yield DoctorCheck("ssh names", doctor_checks.WARNING, f"{error}.")
    except OSError as error:
        text = f"{error.filename} cannot be read ({error.strerror})."
        yield DoctorCheck(
            "ssh names", doctor_checks.WARNING, text, f"ls -ld {texts.FOLDER} {texts.CONFIG} {texts.FILE}"
        )


def inspect_keyring(key: str, is_needed: bool) -> DoctorCheck:
    """Check which keyring is used, and if it contains the key that a run would install.

    Ask for a passphrase only at a terminal. key: the name of the key. is_needed: True if an account is on a cluster, so
    that a missing keyring is a failure.
    """
    key = current_keyring_name(key)
    prompter = AnsiblePrompter()  # asks for the passphrase; its notes are texts for the user
    try:
        backend, warnings = backends.choose_backend()
    except MissingKey as error:
        return doctor_checks.report_keyring_error(str(error), is_needed)
    if isinstance(backend, Keyring):
        backend.use_prompter(prompter, unlocked={})  # no earlier task has asked for the passphrase
    description = backends.describe(backend)
    try:
        value = backends.read_password(backend, key)
    except MissingKey as error:
        if isinstance(error.__context__, StoreMissing):  # the keyring is an encrypted file that does not exist yet
            return doctor_checks.report_no_encrypted_file(description, key)
        # todo: how to set up a source of the passphrase, which can otherwise not be asked for without a terminal
        if isinstance(error.__context__, StoreLocked) and error.todo:
            return doctor_checks.report_locked_keyring(description)
        return doctor_checks.report_keyring_error(str(error), is_needed)
    fault = find_fault(value) if value else None  # why the key is malformed
    return doctor_checks.check_keyring(description, key, bool(value), warnings + prompter.notes, fault)


def inspect_rotations() -> Iterator[DoctorCheck]:
    """Report each key that expires, each open rotation, and each old key that is still valid."""
    if (state_folder() / "secrets").is_dir():  # created by the first rotation
        for reminder in reminders.list_reminders():
            yield doctor_checks.report_reminder(reminder.text, reminder.command)


def inspect_accounts_files(sources: Sequence[str]) -> tuple[list[DoctorCheck], list[InventoryHost]]:
    """Check the accounts files among the sources of the inventory. Return the checks, and the accounts of valid files.

    sources: paths of files and folders.
    """
    checks: list[DoctorCheck] = []
    accounts: list[InventoryHost] = []
    for path in find_yaml_files(sources):
        if may_be_accounts_file(path):
            checks_of_file, hosts = doctor_checks.check_accounts_file(path)
            checks += checks_of_file
            accounts += hosts
    return checks or [doctor_checks.report_no_accounts_file(", ".join(sources))], accounts


def may_be_accounts_file(path: Path) -> bool:
    """Return True for a file that names the plugin of accounts files, and for a file that cannot be read."""
    try:
        content = path.read_text(encoding="utf-8-sig", errors="replace")  # a byte order mark may come first
    except OSError:
        return True  # the check of accounts files reports the reason
    return path.stem == "accounts" or ACCOUNTS_PLUGIN.search(content) is not None  # "plugin:" may be missing by mistake


def find_yaml_files(sources: Sequence[str]) -> Iterator[Path]:
    """Yield the YAML files among these sources of the inventory, and in those that are folders. sources: paths."""
    for source in map(find_accounts_file, map(Path, sources)):
        for path in sorted(source.iterdir()) if source.is_dir() else [source]:
            if path.is_file() and path.suffix in (".yml", ".yaml"):
                yield path


def inspect_routes(hosts: Sequence[InventoryHost]) -> Iterator[DoctorCheck]:
    """Check the ssh settings of each account, the name of its host, its session, and its certificates or ticket.

    hosts: the accounts on clusters.
    """
    # by host, since accounts may share a jump host: True if the host's name has an address
    is_resolved: dict[str, bool] = {}
    for host in hosts:
        try:
            arguments = ssh_arguments(open_sessions.plain_variables(host.variables), host.name)
        except ValueError as error:
            reason = f"ansible_ssh_common_args or ansible_ssh_extra_args cannot be parsed: {error}"
            yield doctor_checks.report_ssh_error(host.name, reason)
            continue
        code, output, error_text = run_program(["ssh", "-G", *arguments], SECONDS)
        if code != 0:  # None: ssh did not run or end
            no_answer = f"'ssh -G' did not run, or did not end within {SECONDS} s"
            yield doctor_checks.report_ssh_error(host.name, no_answer if code is None else error_text)
            continue
        settings = parse_settings(output)
        first_host = find_first_host(settings, arguments)
        if first_host and first_host not in is_resolved:
            resolution = run_program([sys.executable, "-I", "-c", RESOLVE, first_host], SECONDS)
            is_resolved[first_host] = resolution.code == 0
        shown_host = first_host or settings["hostname"][0]
        yield doctor_checks.check_route(host.name, settings, shown_host, is_resolved.get(first_host))
        account = open_sessions.session_variables(host.variables).get("account", {})
        if "by_hand" in account:  # programs may not log in
            yield doctor_checks.report_no_automation(host.name)
        elif "session" in account:  # the login needs an open session; the value is the path of its socket
            yield doctor_checks.check_session(host.name, ssh_login.is_session_open(account["session"]))
        yield from inspect_credentials(host, settings)


def find_first_host(settings: dict[str, list[str]], arguments: list[str]) -> str:
    """Return the first host to which ssh itself connects; empty if a ProxyCommand makes the connection.

    settings: from `ssh -G`, by lower-case keyword. arguments: of ssh, for the account.
    """
    jump = doctor_checks.first_jump_host(settings)
    if jump:  # a name that ssh resolves by its own settings
        config_option = arguments[arguments.index("-F") :][:2] if "-F" in arguments else []  # -F FILE
        code, output, _error = run_program(["ssh", "-G", *config_option, jump], SECONDS)
        return parse_settings(output).get("hostname", [jump])[0] if code == 0 else jump
    if settings.get("proxycommand", ["none"])[0] != "none":
        return ""
    return settings["hostname"][0]  # without a jump host, the login node


def inspect_credentials(host: InventoryHost, settings: dict[str, list[str]]) -> Iterator[DoctorCheck]:
    """Check the certificate files of an account, its Kerberos ticket, and a certificate that the site would refuse.

    host: the account. settings: from `ssh -G`, by lower-case keyword.
    """
    now = datetime.now(UTC)
    credentials = list(credential.read_certificate_files(settings))
    required = credential.find_credential(host.variables, now)  # the certificate or ticket for this cluster, or None
    is_good_file = required and required.kind == "certificate" and required.place and not required.problem
    if required and not is_good_file:  # a good certificate file is already in the list
        credentials.append(required)
    user = renewers.user_of(host.variables)
    for candidate in credentials:
        renewal = shlex.join(renewers.renewal_command(host.variables["cluster"], user, candidate.place))
        yield doctor_checks.check_credential(host.name, candidate, now, renewal)
