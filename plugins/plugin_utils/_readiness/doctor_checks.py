# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The checks of doctor. Each function returns the verdict on observations of action/doctor.py on this machine.

Where a function checks an account, name is the account. is_needed: an account is on a cluster, so a run needs ssh and a
keyring.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from .._accounts.accounts_file import AccountsFile
from .._accounts.host_variables import InventoryHost, build_hosts
from .._authentication.credential import Credential
from .._input.command_line import command_for
from .._input.diagnostics import Mistakes, display_path, read_text
from .._input.writers import find_other_writers, write_protection_command
from .._ssh_config import texts
from .._ssh_config.user_settings import NameTarget
from .._text.amounts import count
from .role_checks import find_role_mistakes

if TYPE_CHECKING:
    from .._documents.result import CheckStatus, DoctorResult

OK: Literal["ok"] = "ok"
WARNING: Literal["warning"] = "warning"
FAILED: Literal["failed"] = "failed"

Month = tuple[int, int]  # year and month
# The last month with fixes: https://docs.ansible.com/ansible/latest/reference_appendices/
# release_and_maintenance.html and https://devguide.python.org/versions/
LAST_MONTHS: dict[str, dict[str, Month]] = {  # by program and series
    "Python": {"3.11": (2027, 10), "3.12": (2028, 10), "3.13": (2029, 10), "3.14": (2030, 10)},
    "ansible-core": {"2.19": (2026, 11), "2.20": (2027, 5), "2.21": (2027, 11), "2.22": (2028, 5)},
}
UPGRADE = "create a virtual environment with the newest Python; in it, install your clone: pip install ./hpc.onboard"
OLDEST_SSH = (7, 3)  # the first with ProxyJump
SOCKET_BYTES = 104  # for the path of a socket and a final zero, on the systems that allow least (macOS, BSD)
HASH_BYTES, SUFFIX_BYTES = 10, 17  # of Ansible's name of a socket, and of the suffix that ssh appends at first
# advice by kind of credential, if the profile names no program
RENEWALS = {"certificate": "get a new certificate from the site", "ticket": "get a new ticket with kinit"}
SOON = timedelta(hours=2)  # a certificate that expires earlier is a warning


class DoctorCheck(NamedTuple):
    """The result of a check. text: a sentence. next: a command or an instruction for the user, or ""."""

    name: str
    status: CheckStatus
    text: str
    next: str = ""


def summarise(checks: list[DoctorCheck]) -> DoctorResult:
    """Return the result of doctor's task from its checks. The task fails if any check fails."""
    counts = Counter(check.status for check in checks)
    count_texts: dict[CheckStatus, str] = {
        FAILED: f"{counts[FAILED]} failed",
        WARNING: count(counts[WARNING], "warning"),
        OK: f"{counts[OK]} ok",
    }
    failed = [check for check in checks if check.status == FAILED]
    lines = [", ".join(text for status, text in count_texts.items() if counts[status])]
    lines += [f"{check.name}: {check.text}{f' Next: {check.next}' if check.next else ''}" for check in failed]
    return {
        "kind": "doctor",
        "changed": False,
        "failed": bool(failed),
        "msg": "\n".join(lines),
        "checks": [
            {"name": check.name, "status": check.status, "text": check.text, "next": check.next} for check in checks
        ],
    }


def check_version(name: str, version: str, today: Month) -> DoctorCheck:
    """Check the version of a program (name) of LAST_MONTHS. today: the present month."""
    last_months = LAST_MONTHS[name]
    series = ".".join(version.split(".")[:2])
    oldest, newest = min(last_months, key=_parse_series), max(last_months, key=_parse_series)
    if _parse_series(series) < _parse_series(oldest):
        return DoctorCheck(name, FAILED, f"{version} is too old; {oldest} or newer is required.", UPGRADE)
    if _parse_series(series) > _parse_series(newest):
        return DoctorCheck(name, WARNING, f"{version} is newer than any version that hpc-onboard was tested with.")
    year, month = last_months[series]
    if today > (year, month):
        return DoctorCheck(name, WARNING, f"{version} has received no security fixes since {year}-{month:02}.", UPGRADE)
    if today == (year, month):
        return DoctorCheck(name, WARNING, f"{version} receives no more security fixes after this month.", UPGRADE)
    return DoctorCheck(name, OK, f"version {version} receives fixes until {year}-{month:02}.")


def _parse_series(text: str) -> tuple[int, ...]:
    """Return the major and the minor number of a version, for comparisons."""
    return tuple(int(part) for part in re.findall(r"\d+", text)[:2])


def report_keyring_error(error: str, is_needed: bool) -> DoctorCheck:
    """Report that no keyring is usable, or that the keyring did not answer. error: the reason and advice."""
    return DoctorCheck("keyring", FAILED if is_needed else WARNING, error)


def check_keyring(keyring: str, key: str, has_key: bool, warnings: list[str], fault: str | None = None) -> DoctorCheck:
    """Check the key in a keyring that answered. keyring: its description. key: the name. has_key: the key is stored.

    fault: why the key is malformed, or None. warnings: sentences about the keyring.
    """
    store_key = f"keyring set hpc.onboard {key}"
    if not has_key:
        return DoctorCheck("keyring", WARNING, f"{keyring} has no key '{key}'.", store_key)
    if fault:
        return DoctorCheck("keyring", FAILED, f"the key '{key}' in {keyring} is malformed: {fault}.", store_key)
    if warnings:
        return DoctorCheck("keyring", WARNING, f"{keyring} has the key '{key}'. {' '.join(warnings)}")
    return DoctorCheck("keyring", OK, f"{keyring} has the key '{key}'.")


def report_no_encrypted_file(keyring: str, key: str) -> DoctorCheck:
    """Report that no keyring service answers, and that the encrypted file (keyring) does not exist. key: to store."""
    return DoctorCheck("keyring", WARNING, f"{keyring} does not exist yet.", f"keyring set hpc.onboard {key}")


def report_locked_keyring(keyring: str) -> DoctorCheck:
    """Report that the keyring needs a passphrase, and that there is no terminal to ask. keyring: its description."""
    text = f"{keyring} exists, but cannot be read without its passphrase."
    todo = (
        "run `hpc-onboard doctor` at a terminal, or set KEYRING_PROPERTY_PASSPHRASE_FILE to a file with the passphrase"
    )
    return DoctorCheck("keyring", WARNING, text, todo)


def report_reminder(text: str, command: str) -> DoctorCheck:
    """Report that a stored key needs attention. text: why, in words without a full stop. command: the next step."""
    return DoctorCheck("keys", WARNING, f"{text}.", command)


def check_ssh(version: str | None, is_needed: bool) -> DoctorCheck:
    """Check the ssh client. version: the output of `ssh -V`; None if ssh is not installed."""
    status = FAILED if is_needed else WARNING  # of a problem
    if version is None:
        return DoctorCheck("ssh", status, "ssh is not installed.", "install the OpenSSH client")
    client = re.search(r"OpenSSH\w*?_(\d+)\.(\d+)\S*", version)
    if not client:
        text = f"{version.strip()} is not OpenSSH; hpc-onboard is tested with OpenSSH only."
        return DoctorCheck("ssh", WARNING, text, "install the OpenSSH client")
    if (int(client[1]), int(client[2])) < OLDEST_SSH:
        return DoctorCheck("ssh", status, f"{client[0]} does not support jump hosts.", "install OpenSSH 7.3 or newer")
    return DoctorCheck("ssh", OK, f"{client[0]}.")


def check_agent(code: int | None, output: str, is_needed: bool) -> DoctorCheck:
    """Check the ssh agent by the exit code and output of `ssh-add -l`. code: None if ssh-add did not run or end."""
    status = WARNING if is_needed else OK  # of a problem; without accounts on clusters, no agent is needed
    if code == 0:
        keys = [line for line in output.splitlines() if line.strip()]
        return DoctorCheck("ssh agent", OK, f"the agent has {count(len(keys), 'key')}.")
    if code == 1:  # as ssh-add documents
        return DoctorCheck("ssh agent", status, "the agent has no keys.", "ssh-add" if is_needed else "")
    problem = "no ssh agent is running" if code == 2 else "ssh-add is not installed, or the ssh agent does not respond"
    text = f"{problem}, so a run cannot use an SSH key with a passphrase."
    return DoctorCheck("ssh agent", status, text, 'eval "$(ssh-agent)" && ssh-add' if is_needed else "")


def check_control_path(folder: str) -> DoctorCheck:
    """Check that the paths of ssh's sockets in this folder are short enough for the operating system."""
    length = len(folder.encode()) + len("/") + HASH_BYTES + SUFFIX_BYTES
    if length >= SOCKET_BYTES:
        text = f"paths of ssh sockets in {folder} have {length} bytes; at most {SOCKET_BYTES - 1} are allowed."
        return DoctorCheck("ControlPath", FAILED, text, "export ANSIBLE_SSH_CONTROL_PATH_DIR=/tmp/cp-$USER")
    return DoctorCheck("ControlPath", OK, f"the path {folder} is short enough.")


def check_folder(path: Path, mode: int, has_config: bool) -> DoctorCheck:
    """Check that Ansible can use the ansible.cfg in the working folder (path), if has_config. mode: of the folder."""
    if has_config and mode & 0o002:
        text = f"all users can write to {path}, so Ansible ignores the ansible.cfg in this folder."
        return DoctorCheck("folder", FAILED, text, f"chmod o-w {path}")
    return DoctorCheck("folder", OK, f"{path} contains {'an' if has_config else 'no'} ansible.cfg.")


def check_accounts_file(path: Path) -> tuple[list[DoctorCheck], list[InventoryHost]]:
    """Check an accounts file. Return a check for each mistake, else its checks; and the accounts of a usable file."""
    try:
        file = AccountsFile.parse(path, read_text(path))
        hosts = build_hosts(file)
        mistakes = find_role_mistakes(file, hosts)
    except Mistakes as error:
        mistakes, hosts = error.found, []
    if mistakes:
        return [DoctorCheck("accounts", FAILED, str(mistake), "fix that line") for mistake in mistakes], hosts
    sandboxes = sum(map(is_sandbox, hosts))
    on_clusters = len(hosts) - sandboxes
    parts = [f"{count(on_clusters, 'account')} on clusters"] if on_clusters else []
    parts += [f"{sandboxes} sandbox{'es' if sandboxes != 1 else ''}"] if sandboxes else []
    text = f"{display_path(path)} contains {' and '.join(parts) or 'no accounts'}."
    checks = [DoctorCheck("accounts", OK if hosts else WARNING, text)]
    if reason := find_other_writers(path):
        text = f"{reason}. Anyone who can write to {display_path(path)} can run programs as you."
        checks.append(DoctorCheck("accounts", WARNING, text, write_protection_command(path)))
    return checks, hosts


def report_no_accounts_file(sources: str) -> DoctorCheck:
    """Report that the inventory has no accounts file. sources: the paths of the inventory, for the message."""
    text = f"the inventory ({sources or 'none'}) has no accounts file."
    return DoctorCheck("accounts", WARNING, text, "hpc-onboard init")


def is_sandbox(host: InventoryHost) -> bool:
    """Return True if the account is a sandbox, a folder on this machine."""
    return "sandbox" in host.variables["account"]


def first_jump_host(settings: Mapping[str, list[str]]) -> str | None:
    """Return the name of the first jump host, or None. settings: from `ssh -G`, by lower-case keyword."""
    jump = settings.get("proxyjump", ["none"])[0].split(",")[0]
    if jump in ("", "none"):
        return None
    # an IPv6 address is in brackets; a port may follow
    host = re.match(r"\[(.+)\]|([^:]+)", jump.rpartition("@")[2])
    return (host[1] or host[2]) if host else None


def check_route(name: str, settings: Mapping[str, list[str]], first_host: str, is_resolved: bool | None) -> DoctorCheck:
    """Check the route to an account. first_host: the host to which this machine connects, maybe a jump host.

    settings: from `ssh -G`, by lower-case keyword. is_resolved: True if the name of first_host can be resolved; None if
    a ProxyCommand resolves it.
    """
    text = f"{settings['user'][0]} on {settings['hostname'][0]} port {settings['port'][0]}"
    if first_host != settings["hostname"][0]:
        text += f", through {first_host}"
    if is_resolved is False:
        todo = "check the network and the VPN, then the host name in ~/.ssh/config, the accounts file or the profile"
        return DoctorCheck(name, FAILED, f"{text}; the host name {first_host} cannot be resolved.", todo)
    return DoctorCheck(name, OK, f"{text}.")


def report_no_automation(name: str) -> DoctorCheck:
    """Report an account to which programs may not log in."""
    text = "programs may not log in; run a script on the cluster instead."
    return DoctorCheck(name, WARNING, text, shlex.join(command_for("export-script", ["-l", name])))


def check_session(name: str, is_open: bool) -> DoctorCheck:
    """Check for an open session of an account whose login asks for a password or code. is_open: there is one."""
    if is_open:
        return DoctorCheck(name, OK, "the login asks for a password or code, and a session is open.")
    text = "the login asks for a password or code, and no session is open; a run at a terminal asks you to log in."
    return DoctorCheck(name, WARNING, text, shlex.join(command_for("connect", ["-l", name])))


def report_ssh_error(name: str, error: str) -> DoctorCheck:
    """Report that ssh refused the settings of an account. error: the message of ssh."""
    todo = "fix ~/.ssh/config, or the settings of this account in the accounts file"
    return DoctorCheck(name, FAILED, f"ssh does not accept the settings of this account: {error.strip()}", todo)


def check_credential(name: str, credential: Credential, now: datetime, renew: str) -> DoctorCheck:
    """Check the ticket or certificate (credential) of an account. renew: the command that creates a new one, or ""."""
    place = f"{credential.place}: " if credential.place else ""
    text, todo = f"{place}{credential.describe(now)}.", renew or RENEWALS[credential.kind]
    is_certificate, end = credential.kind == "certificate", credential.end
    if is_certificate and credential.problem and end is None:  # an unusable file: another credential may be accepted
        return DoctorCheck(name, WARNING, text, todo)
    if credential.is_unusable(now):
        return DoctorCheck(name, FAILED, text, todo)
    expires_soon = is_certificate and end is not None and end <= now + SOON
    return DoctorCheck(name, WARNING if expires_soon else OK, text, todo if expires_soon else "")


def check_ssh_names(config: str, targets: Sequence[NameTarget]) -> DoctorCheck:
    """Check the short names of accounts that hpc-onboard has written for ssh.

    config: the text of ~/.ssh/config; a block in it includes the file of the names. targets: of ssh, for each name.
    """
    name, rewrite_command = "ssh names", shlex.join(command_for("ssh-config"))
    if not texts.has_block(config):
        return DoctorCheck(name, WARNING, f"{texts.CONFIG} no longer includes {texts.FILE}.", rewrite_command)
    overridden = [target for target in targets if target.actual != target.desired]
    if overridden:
        names = "; ".join(
            f"`ssh {target.name}` connects to {target.actual}, not to {target.desired}" for target in overridden
        )
        text = f"your own ssh settings override the entries of hpc-onboard: {names}."
        return DoctorCheck(name, WARNING, text, f"check the Host entries in {texts.CONFIG}")
    if not texts.is_block_last(config):
        text = f"settings below the lines of hpc-onboard in {texts.CONFIG} do not apply to the names in {texts.FILE}."
        return DoctorCheck(name, WARNING, text, rewrite_command)
    names = ", ".join(f"`ssh {target.name}`" for target in targets)
    return DoctorCheck(name, OK, f"the settings of {texts.FILE} apply to {names}.")
