# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The checks of doctor: each function turns what action/doctor.py found on this machine into one check."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from .._accounts.accounts_file import AccountsFile
from .._accounts.host_variables import InventoryHost, build_hosts
from .._authentication.credential import Credential
from .._input.command_line import command_for
from .._input.diagnostics import Mistakes, display_path, read_text
from .._input.writers import find_other_writers
from .._ssh_config import texts
from .._ssh_config.user_settings import NameTarget
from .._text.amounts import count

if TYPE_CHECKING:
    from .._documents.result import CheckStatus, DoctorResult

OK: Literal["ok"] = "ok"
WARNING: Literal["warning"] = "warning"
FAILED: Literal["failed"] = "failed"

Month = tuple[int, int]
# The last month with fixes: https://docs.ansible.com/ansible/latest/reference_appendices/
# release_and_maintenance.html and https://devguide.python.org/versions/
CORES: dict[str, Month] = {"2.19": (2026, 11), "2.20": (2027, 5), "2.21": (2027, 11), "2.22": (2028, 5)}
PYTHONS: dict[str, Month] = {"3.11": (2027, 10), "3.12": (2028, 10), "3.13": (2029, 10), "3.14": (2030, 10)}
NEWER = "create a virtual environment with the newest Python on this machine, and in it run  pip install hpc-onboard"
OLDEST_SSH = (7, 3)  # the first with ProxyJump
SOCKET_BYTES = 104  # for the path and a final zero: the least that any system allows (macOS, BSD)
HASH_BYTES, SUFFIX_BYTES = 10, 17  # Ansible's name of a socket, and what ssh appends while it creates it
NEW_CERTIFICATE = "get a new certificate from the site"
SOON = timedelta(hours=2)


class DoctorCheck(NamedTuple):
    """A check: its result, a sentence, and what to do next, or ""."""

    name: str
    status: CheckStatus
    text: str
    next: str = ""


def summarise(checks: list[DoctorCheck]) -> DoctorResult:
    """Return the result of the task, which fails if any check fails."""
    counts = Counter(check.status for check in checks)
    numbers: dict[CheckStatus, str] = {
        FAILED: f"{counts[FAILED]} failed",
        WARNING: count(counts[WARNING], "warning"),
        OK: f"{counts[OK]} ok",
    }
    failed = [check for check in checks if check.status == FAILED]
    lines = [", ".join(text for status, text in numbers.items() if counts[status])]
    lines += [f"{check.name}: {check.text}{f' Next: {check.next}' if check.next else ''}" for check in failed]
    return {
        "kind": "doctor",
        "changed": False,
        "failed": bool(failed),
        "msg": "\n".join(lines),
        "checks": [{"name": one.name, "status": one.status, "text": one.text, "next": one.next} for one in checks],
    }


def check_python(version: Iterable[int], today: Month) -> DoctorCheck:
    """Check the Python that runs Ansible."""
    return _check_version("Python", ".".join(str(part) for part in version), PYTHONS, today)


def check_ansible_core(version: str, today: Month) -> DoctorCheck:
    """Check the version of ansible-core."""
    return _check_version("ansible-core", version, CORES, today)


def _check_version(name: str, version: str, last_months: Mapping[str, Month], today: Month) -> DoctorCheck:
    series = ".".join(version.split(".")[:2])
    known = [_numbers(one) for one in last_months]
    if _numbers(series) < min(known):
        oldest = min(last_months, key=_numbers)
        return DoctorCheck(name, FAILED, f"{version} is too old; {oldest} or newer is needed.", NEWER)
    if _numbers(series) > max(known):
        return DoctorCheck(name, WARNING, f"{version} is newer than any version this release was tested with.")
    year, month = last_months[series]
    if today > (year, month):
        return DoctorCheck(name, WARNING, f"{version} has received no security fixes since {year}-{month:02}.", NEWER)
    if today == (year, month):
        return DoctorCheck(name, WARNING, f"{version} receives no more security fixes after this month.", NEWER)
    return DoctorCheck(name, OK, f"{version}, with fixes until {year}-{month:02}.")


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", text)[:2])


def report_keyring_error(error: str, needed: bool) -> DoctorCheck:
    """Report that no keyring can be used or that it did not answer. error: says what to do."""
    return DoctorCheck("keyring", FAILED if needed else WARNING, error)


def check_keyring(words: str, key: str, has_key: bool, warnings: list[str], fault: str | None = None) -> DoctorCheck:
    """Check the key in a keyring that answered. words: name the keyring. fault: why the key is malformed."""
    store = f"keyring set hpc.onboard {key}"
    if not has_key:
        return DoctorCheck("keyring", WARNING, f"{words} has no key '{key}'.", store)
    if fault:
        return DoctorCheck("keyring", FAILED, f"{words} has the key '{key}', which is malformed: {fault}.", store)
    if warnings:
        return DoctorCheck("keyring", WARNING, f"{words} has the key '{key}'. {' '.join(warnings)}")
    return DoctorCheck("keyring", OK, f"{words} has the key '{key}'.")


def report_no_encrypted_file(words: str, key: str) -> DoctorCheck:
    """Report that no keyring service answers and the encrypted file does not exist."""
    return DoctorCheck("keyring", WARNING, f"{words} does not exist yet.", f"keyring set hpc.onboard {key}")


def report_locked_keyring(words: str) -> DoctorCheck:
    """Report that the keyring needs a passphrase and there is no terminal to ask for it."""
    text = f"{words} exists; reading it needs its passphrase."
    todo = "run this at a terminal, or set KEYRING_PROPERTY_PASSPHRASE_FILE to a file with the passphrase"
    return DoctorCheck("keyring", WARNING, text, todo)


def report_reminder(text: str, command_text: str) -> DoctorCheck:
    """Report what to do about a key soon."""
    return DoctorCheck("keys", WARNING, f"{text}.", command_text)


def check_ssh(version: str | None, needed: bool) -> DoctorCheck:
    """Check the ssh client by the output of `ssh -V`; None if there is no ssh."""
    bad = FAILED if needed else WARNING
    if version is None:
        return DoctorCheck("ssh", bad, "ssh is missing.", "install the OpenSSH client")
    found = re.search(r"OpenSSH\w*?_(\d+)\.(\d+)\S*", version)
    if not found:
        text = f"{version.strip()} is not OpenSSH, so it is untested."
        return DoctorCheck("ssh", WARNING, text, "install the OpenSSH client")
    if (int(found[1]), int(found[2])) < OLDEST_SSH:
        return DoctorCheck("ssh", bad, f"{found[0]} does not support jump hosts.", "install OpenSSH 7.3 or newer")
    return DoctorCheck("ssh", OK, f"{found[0]}.")


def check_agent(code: int | None, output: str, needed: bool) -> DoctorCheck:
    """Check the ssh agent by the exit code and output of `ssh-add -l`."""
    bad = WARNING if needed else OK
    if code == 0:
        keys = [line for line in output.splitlines() if line.strip()]
        return DoctorCheck("ssh agent", OK, f"the agent has {count(len(keys), 'key')}.")
    if code == 1:
        return DoctorCheck("ssh agent", bad, "the agent has no keys.", "ssh-add" if needed else "")
    text = "no ssh agent is running, so a run cannot use an SSH key with a passphrase."
    return DoctorCheck("ssh agent", bad, text, 'eval "$(ssh-agent)" && ssh-add' if needed else "")


def check_control_path(folder: str) -> DoctorCheck:
    """Check the folder for the sockets of shared connections: their paths must fit into a socket address."""
    length = len(folder.encode()) + len("/") + HASH_BYTES + SUFFIX_BYTES
    if length >= SOCKET_BYTES:
        text = f"paths of ssh sockets in {folder} have {length} bytes; at most {SOCKET_BYTES - 1} are allowed."
        return DoctorCheck("ControlPath", FAILED, text, "export ANSIBLE_SSH_CONTROL_PATH_DIR=/tmp/cp-$USER")
    return DoctorCheck("ControlPath", OK, f"{folder} is short enough.")


def check_folder(path: Path, mode: int, has_config: bool) -> DoctorCheck:
    """Check the working folder. has_config: it has an ansible.cfg."""
    if has_config and mode & 0o002:
        text = f"all users can write to {path}, so Ansible ignores the ansible.cfg in it."
        return DoctorCheck("folder", FAILED, text, f"chmod o-w {path}")
    return DoctorCheck("folder", OK, f"{path}, {'with its' if has_config else 'without an'} ansible.cfg.")


def check_accounts_file(path: Path) -> tuple[list[DoctorCheck], list[InventoryHost]]:
    """Check an accounts file: return its accounts, or a check for each mistake."""
    try:
        found = build_hosts(AccountsFile.parse(path, read_text(path)))
    except Mistakes as mistakes:
        return [DoctorCheck("accounts", FAILED, str(one), "fix that line") for one in mistakes.found], []
    sandboxes = sum(is_sandbox(host) for host in found)
    parts = [f"{len(found) - sandboxes} on clusters", f"{sandboxes} sandbox{'es' if sandboxes != 1 else ''}"]
    accounts = " and ".join(part for part in parts if not part.startswith("0 ")) or "no account"
    checks = [DoctorCheck("accounts", OK if found else WARNING, f"{display_path(path)}: {accounts}.")]
    if why := find_other_writers(path):
        text = f"{why}, so they can run programs as you through {display_path(path)}."
        checks.append(DoctorCheck("accounts", WARNING, text, f"chmod go-w {shlex.join([str(path), str(path.parent)])}"))
    return checks, found


def report_no_accounts_file(sources: str) -> DoctorCheck:
    """Report that the inventory has no accounts file."""
    text = f"the inventory ({sources or 'none'}) has no accounts file."
    return DoctorCheck("accounts", WARNING, text, "hpc-onboard init")


def is_sandbox(host: InventoryHost) -> bool:
    """Return True if the account is a folder of this machine."""
    return "sandbox" in host.variables["account"]


def first_jump_host(settings: Mapping[str, list[str]]) -> str | None:
    """Return the name of the first jump host, or None. settings: the output of `ssh -G`."""
    jump = settings.get("proxyjump", ["none"])[0].split(",")[0]
    if jump in ("", "none"):
        return None
    host = re.match(r"\[(.+)\]|([^:]+)", jump.rpartition("@")[2])
    return (host[1] or host[2]) if host else None


def check_route(name: str, settings: Mapping[str, list[str]], first_host: str, resolved: bool | None) -> DoctorCheck:
    """Check the path to an account. first_host: this machine connects to it. resolved: None if there is no name."""
    text = f"{settings['user'][0]} on {settings['hostname'][0]} port {settings['port'][0]}"
    if first_host != settings["hostname"][0]:
        text += f", through {first_host}"
    if resolved is False:
        todo = "check the network and the VPN, then the host name in ~/.ssh/config or the accounts file"
        return DoctorCheck(name, FAILED, f"{text}; the host name {first_host} cannot be resolved.", todo)
    return DoctorCheck(name, OK, f"{text}.")


def report_no_automation(name: str) -> DoctorCheck:
    """Report an account that no program may enter."""
    text = "programs may not log in; instead, you run a script on the cluster."
    return DoctorCheck(name, WARNING, text, shlex.join(command_for("export-script", ["-l", name])))


def check_session(name: str, is_open: bool) -> DoctorCheck:
    """Check an account whose login asks the user for something."""
    if is_open:
        return DoctorCheck(name, OK, "the login asks for a password or code, and a session is open.")
    text = "the login asks for a password or code, and no session is open; at a terminal, a run asks first."
    return DoctorCheck(name, WARNING, text, shlex.join(command_for("connect", ["-l", name])))


def report_ssh_error(name: str, error: str) -> DoctorCheck:
    """Report that ssh refused its settings."""
    todo = "fix ~/.ssh/config, or the settings of this account in the accounts file"
    return DoctorCheck(name, FAILED, f"ssh does not accept the settings of this account: {error.strip()}", todo)


def check_credential(name: str, held: Credential, now: datetime, renew: str) -> DoctorCheck:
    """Check the ticket or certificate of an account. renew: the command that gets a new one, or empty."""
    place = f"{held.place}: " if held.place else ""
    text, todo = f"{place}{held.describe(now)}.", renew or NEW_CERTIFICATE
    if (
        held.kind == "certificate" and held.problem and held.end is None
    ):  # a file that cannot be used: another credential may do
        return DoctorCheck(name, WARNING, text, todo)
    if held.is_unusable(now):
        return DoctorCheck(name, FAILED, text, todo)
    is_soon = held.kind == "certificate" and held.end is not None and held.end <= now + SOON
    return DoctorCheck(name, WARNING if is_soon else OK, text, todo if is_soon else "")


def check_ssh_names(config: str, targets: Sequence[NameTarget]) -> DoctorCheck:
    """Check the short names of accounts. config: the text of ~/.ssh/config. targets: where ssh goes for each name."""
    name, again = "ssh names", shlex.join(command_for("ssh-config"))
    if not texts.has_block(config):
        return DoctorCheck(name, WARNING, f"{texts.CONFIG} no longer includes {texts.FILE}.", again)
    elsewhere = [target for target in targets if target.actual != target.desired]
    if elsewhere:
        names = "; ".join(
            f"`ssh {target.name}` connects to {target.actual}, not to {target.desired}" for target in elsewhere
        )
        text = f"{names}. Your own ssh settings take precedence."
        return DoctorCheck(name, WARNING, text, f"look for 'Host' in {texts.CONFIG}")
    if not texts.is_block_last(config):
        text = (
            f"in {texts.CONFIG}, settings follow the lines of hpc-onboard and have no effect on the names of "
            f"hpc-onboard."
        )
        return DoctorCheck(name, WARNING, text, again)
    return DoctorCheck(name, OK, f"{', '.join(f'ssh {target.name}' for target in targets)}: as in {texts.FILE}.")
