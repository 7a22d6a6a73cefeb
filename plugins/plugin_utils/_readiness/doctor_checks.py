# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What doctor makes of what it saw on this machine: one small function for each check, and no looking."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from .._accounts.accounts_file import AccountsFile
from .._accounts.host_variables import InventoryHost, build_hosts
from .._input.command_line import command
from .._input.diagnostics import Mistakes, read_text, shown
from .._input.writers import other_writers
from .._text.amounts import count
from .._text.ssh_certificate import FOREVER, read

if TYPE_CHECKING:
    from .._documents.result import CheckRow, CheckStatus, DoctorResult

OK: Literal["ok"] = "ok"
WARNING: Literal["warning"] = "warning"
FAILED: Literal["failed"] = "failed"

Month = tuple[int, int]
# The first month without fixes is the one after: https://docs.ansible.com/ansible/latest/reference_appendices/
# release_and_maintenance.html and https://devguide.python.org/versions/
CORES: dict[str, Month] = {"2.19": (2026, 11), "2.20": (2027, 5), "2.21": (2027, 11), "2.22": (2028, 5)}
PYTHONS: dict[str, Month] = {"3.11": (2027, 10), "3.12": (2028, 10), "3.13": (2029, 10), "3.14": (2030, 10)}
NEWER = "make an environment with the newest Python here and  pip install hpc-onboard  there"
OLDEST_SSH = (7, 3)  # ProxyJump
SOCKET = 104  # bytes with the final zero, the least that any system allows (macOS, BSD)
ADDED = 17  # what ssh appends while it makes the socket
NEW = "get a new certificate from the site"
SOON = timedelta(hours=2)


@dataclass(frozen=True)
class Check:
    """One thing that was looked at: ok, warning or failed, in words, and what to do next ("" for nothing)."""

    name: str
    status: CheckStatus
    text: str
    next: str = ""

    def document(self) -> CheckRow:
        """The check as the result tells it."""
        return {"name": self.name, "status": self.status, "text": self.text, "next": self.next}


def result(checks: list[Check]) -> DoctorResult:
    """The result of the task: failed when any check is."""
    counts = Counter(check.status for check in checks)
    words: dict[CheckStatus, str] = {FAILED: "failed", WARNING: "to mind", OK: "in order"}
    parts = [f"{counts[status]} {word}" for status, word in words.items() if counts[status]]
    bad = [f"\n{check.name}: {check.text}{f' Next: {check.next}' if check.next else ''}" for check in checks
           if check.status == FAILED]  # fmt: skip
    return {
        "kind": "doctor",
        "changed": False,
        "failed": bool(bad),
        "msg": ", ".join(parts) + "".join(bad),
        "checks": [check.document() for check in checks],
    }


def python(version: Iterable[int], today: Month) -> Check:
    """The Python that runs Ansible."""
    return _supported("Python", ".".join(str(part) for part in version), PYTHONS, today)


def ansible_core(version: str, today: Month) -> Check:
    """The ansible-core that runs."""
    return _supported("ansible-core", version, CORES, today)


def _supported(name: str, version: str, ends: Mapping[str, Month], today: Month) -> Check:
    series = ".".join(version.split(".")[:2])
    known = [_numbers(one) for one in ends]
    if _numbers(series) < min(known):
        return Check(name, FAILED, f"{version} is too old: {min(ends, key=_numbers)} is the oldest that works.", NEWER)
    if _numbers(series) > max(known):
        return Check(name, WARNING, f"{version} is newer than all that this release was tested with.")
    year, month = ends[series]
    if today > (year, month):
        return Check(name, WARNING, f"{version} has had no fixes since {year}-{month:02}.", NEWER)
    if today == (year, month):
        return Check(name, WARNING, f"{version} gets no more fixes after this month.", NEWER)
    return Check(name, OK, f"{version}, with fixes until {year}-{month:02}.")


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", text)[:2])


def no_keyring(error: str, needed: bool) -> Check:
    """There is no keyring that may be used. The error says what to do."""
    return Check("keyring", FAILED if needed else WARNING, error)


def keyring(words: str, key: str, there: bool, warnings: list[str], fault: str | None = None) -> Check:
    """The keyring answered: whether it has the key, and what is wrong with it."""
    store = f"keyring set hpc.onboard {key}"
    if not there:
        return Check("keyring", WARNING, f"{words} has no key '{key}'.", store)
    if fault:
        return Check("keyring", FAILED, f"{words} has the key '{key}', which is malformed: {fault}.", store)
    if warnings:
        return Check("keyring", WARNING, f"{words} has the key '{key}'. {' '.join(warnings)}")
    return Check("keyring", OK, f"{words} has the key '{key}'.")


def closed_keyring(error: str, needed: bool) -> Check:
    """The keyring did not answer. The error says what to do."""
    return Check("keyring", FAILED if needed else WARNING, error)


def no_file(words: str, key: str) -> Check:
    """No keyring service answers, and the encrypted file is not there yet."""
    return Check("keyring", WARNING, f"{words} is to be used, and is not there yet.", f"keyring set hpc.onboard {key}")


def unseen_keyring(words: str) -> Check:
    """The keyring wants a passphrase, and there is nobody to ask for it."""
    text = f"{words} is there; what it holds can only be seen with its passphrase."
    return Check(
        "keyring", WARNING, text, "run this at a terminal, or name a file with it in KEYRING_PROPERTY_PASSPHRASE_FILE"
    )


def reminder(text: str, todo: str) -> Check:
    """What is to be done about a key before long."""
    return Check("keys", WARNING, f"{text}.", todo)


def ssh(version: str | None, needed: bool) -> Check:
    """The ssh client, by what `ssh -V` says; None where there is none."""
    bad = FAILED if needed else WARNING
    if version is None:
        return Check("ssh", bad, "there is no ssh here.", "install the OpenSSH client")
    found = re.search(r"OpenSSH\w*?_(\d+)\.(\d+)\S*", version)
    if not found:
        return Check("ssh", WARNING, f"{version.strip()} is not known here; OpenSSH is.", "install the OpenSSH client")
    if (int(found[1]), int(found[2])) < OLDEST_SSH:
        return Check("ssh", bad, f"{found[0]} knows no jump hosts.", "install OpenSSH 7.3 or newer")
    return Check("ssh", OK, f"{found[0]}.")


def agent(code: int | None, output: str, needed: bool) -> Check:
    """The ssh agent, by what `ssh-add -l` says."""
    bad = WARNING if needed else OK
    if code == 0:
        keys = [line for line in output.splitlines() if line.strip()]
        return Check("ssh agent", OK, f"{count(len(keys), 'key')} in it.")
    if code == 1:
        return Check("ssh agent", bad, "it holds no keys.", "ssh-add" if needed else "")
    text = "none answers, so a key with a passphrase cannot be used in a run."
    return Check("ssh agent", bad, text, 'eval "$(ssh-agent)" && ssh-add' if needed else "")


def control_path(folder: str) -> Check:
    """The folder for the sockets of kept connections: their names must fit into an address."""
    length = len(folder.encode()) + 1 + 10 + ADDED + 1
    if length > SOCKET:
        text = f"sockets of kept connections in {folder} have {length - 1} bytes; {SOCKET - 1} are allowed."
        return Check("ControlPath", FAILED, text, "export ANSIBLE_SSH_CONTROL_PATH_DIR=/tmp/cp-$USER")
    return Check("ControlPath", OK, f"{folder} is short enough.")


def folder(path: Path, mode: int, configured: bool) -> Check:
    """The folder in which Ansible was started; configured: an ansible.cfg lies there."""
    if configured and mode & 0o002:
        text = f"everybody may write in {path}, so Ansible ignores the ansible.cfg there."
        return Check("folder", FAILED, text, f"chmod o-w {path}")
    return Check("folder", OK, f"{path}, {'with its' if configured else 'without an'} ansible.cfg.")


def accounts(path: Path) -> tuple[list[Check], list[InventoryHost]]:
    """The accounts file: what it says, or each of its mistakes."""
    try:
        found = build_hosts(AccountsFile.parse(path, read_text(path)))
    except Mistakes as mistakes:
        return [Check("accounts", FAILED, str(one), "fix that line") for one in mistakes.found], []
    boxes = sum(is_sandbox(host) for host in found)
    parts = [f"{len(found) - boxes} on clusters", f"{boxes} sandbox{'es' if boxes != 1 else ''}"]
    said = " and ".join(part for part in parts if not part.startswith("0 ")) or "no account"
    checks = [Check("accounts", OK if found else WARNING, f"{shown(path)}: {said}.")]
    if why := other_writers(path):
        text = f"{why}, so they can run programs as you by {shown(path)}."
        checks.append(Check("accounts", WARNING, text, f"chmod go-w {shlex.join([str(path), str(path.parent)])}"))
    return checks, found


def no_accounts(sources: str) -> Check:
    """No accounts file is in the inventory."""
    text = f"the inventory ({sources or 'none'}) has no accounts file."
    return Check("accounts", WARNING, text, "hpc-onboard init")


def is_sandbox(host: InventoryHost) -> bool:
    """Whether an account is a folder of this machine."""
    return "sandbox" in host.variables["account"]


def first_hop(found: Mapping[str, list[str]]) -> str | None:
    """The name of the jump host that is connected to first; None where there is none."""
    jump = found.get("proxyjump", ["none"])[0].split(",")[0]
    if jump in ("", "none"):
        return None
    host = re.match(r"\[(.+)\]|([^:]+)", jump.rpartition("@")[2])
    return (host[1] or host[2]) if host else None


def route(name: str, found: Mapping[str, list[str]], near: str, resolved: bool | None) -> Check:
    """How an account is reached. near: the host that this machine connects to itself; None: no name to look up."""
    text = f"goes to {found['hostname'][0]} port {found['port'][0]} as {found['user'][0]}"
    if near != found["hostname"][0]:
        text += f", through {near}"
    if resolved is False:
        todo = "mind the network and the VPN, then the host's name in ~/.ssh/config or the accounts file"
        return Check(name, FAILED, f"{text}; the name {near} is not known here.", todo)
    return Check(name, OK, f"{text}.")


def by_hand(name: str) -> Check:
    """An account that no program enters."""
    text = "no program may enter it: a file is run there by hand."
    return Check(name, WARNING, text, shlex.join(command("export-script", ["-l", name])))


def session(name: str, is_open: bool) -> Check:
    """Check an account whose login asks the user for something."""
    if is_open:
        return Check(name, OK, "something is asked for at its door, and a session is open.")
    text = "something is asked for at its door, and no session is open: at a terminal a run asks first."
    return Check(name, WARNING, text, shlex.join(command("connect", ["-l", name])))


def no_route(name: str, error: str) -> Check:
    """ssh refused its settings."""
    text = f"ssh does not take its settings: {error.strip()}"
    return Check(name, FAILED, text, "fix ~/.ssh/config, or the account's own in the accounts file")


def credential(name: str, said: str, lets_nobody_in: bool, renew: str) -> Check:
    """Check the ticket or certificate that an account wants. said: when it ends. renew: what gets a new one."""
    return Check(name, FAILED if lets_nobody_in else OK, f"{said}.", renew if lets_nobody_in else "")


def certificate(name: str, path: Path, listing: str | None, now: datetime, renew: str = NEW) -> Check:
    """A certificate that an account uses, by what `ssh-keygen -L` says of it; None: there is no such file."""
    if listing is None:
        return Check(name, WARNING, f"ssh's settings name the certificate {path}, which is not there.", renew)
    said = read(listing)
    if said is None:
        return Check(name, WARNING, f"{path} is no certificate that ssh-keygen can read.", renew)
    if said.end == FOREVER:
        return Check(name, OK, f"the certificate {path} is valid for ever.")
    until = f"{said.end:%Y-%m-%d %H:%M}"
    if said.end <= now:
        return Check(name, FAILED, f"the certificate {path} expired on {until}.", renew)
    is_soon = said.end <= now + SOON
    return Check(name, WARNING if is_soon else OK, f"{path} is valid until {until}.", renew if is_soon else "")
