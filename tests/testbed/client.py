"""The controller's side: keys, ssh settings, accounts files, and Ansible as a subprocess in a clean environment.

SPDX-License-Identifier: GPL-3.0-or-later
"""

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

_BASE = """\
Host *
    IdentityFile {key}
    IdentitiesOnly yes
    IdentityAgent none
    PreferredAuthentications publickey
    StrictHostKeyChecking yes
    UserKnownHostsFile {folder}/known_hosts
    GlobalKnownHostsFile /dev/null
    CheckHostIP no
    LogLevel ERROR
    ConnectTimeout 10
"""


def new_key(path: Path) -> Path:
    """Make an ed25519 key pair."""
    order = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "testbed", "-f", str(path)]
    subprocess.run(order, check=True, stdin=subprocess.DEVNULL)
    return path


def write_ssh_config(folder: Path, key: Path, hosts: Mapping[str, tuple[str, str]]) -> Path:
    """Write config and known_hosts; hosts: cluster -> (address, jump host or "")."""
    known, blocks = [], []
    for name, (address, behind) in hosts.items():
        kind, value = (folder / f"{name}.key.pub").read_text(encoding="ascii").split()[:2]
        known.append(f"{name} {kind} {value}\n")
        jump = f"    ProxyJump %r@{behind}\n" if behind else ""
        blocks.append(f"Host {name} {address}\n    Hostname {address}\n    HostKeyAlias {name}\n{jump}")
    (folder / "known_hosts").write_text("".join(known), encoding="ascii")
    config = folder / "ssh_config"
    config.write_text("\n".join([*blocks, _BASE.format(key=key, folder=folder)]), encoding="ascii")
    return config


def write_accounts(path: Path, accounts: Mapping[str, object], extra: Mapping[str, object]) -> Path:
    """Write an accounts file; as JSON, which is YAML."""
    content = {"plugin": "hpc.onboard.accounts", **extra, "accounts": accounts}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    return path


class Client:
    """A controller with a home, an Ansible home and ssh sockets of its own, all in one folder."""

    def __init__(self, folder: Path) -> None:
        """Make the folders."""
        self.home, self.ansible_home, self._sockets = folder / "home", folder / "ansible", folder / "cp"
        for path in (self.home, self.ansible_home, self._sockets):
            path.mkdir(mode=0o700)

    def environment(self, programs: Path | None = None) -> dict[str, str]:
        """Give all that a subprocess gets: nothing of the caller's environment but the tests' programs."""
        return {
            "ANSIBLE_HOME": str(self.ansible_home),
            "ANSIBLE_NOCOLOR": "1",
            "ANSIBLE_SSH_CONTROL_PATH_DIR": str(self._sockets),
            "HOME": str(self.home),
            "KRB5CCNAME": f"FILE:{self.home}/no-ticket",  # not those of whoever runs the tests
            "LC_ALL": "C.UTF-8",
            "PATH": f"{programs or Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin",
            "PYTHONDONTWRITEBYTECODE": "1",
            "USER": "researcher",
        }

    def run(
        self,
        program: str,
        *arguments: str,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        programs: Path | None = None,
        timeout: float = 180,
    ) -> subprocess.CompletedProcess[str]:
        """Run a program of a Python environment (this one's, or the one whose bin folder is `programs`)."""
        where = (programs or Path(sys.executable).parent) / program
        environment = {**self.environment(programs), **(env or {})}
        return subprocess.run(
            [str(where), *arguments], cwd=cwd or self.home, env=environment,
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout, check=False,
        )  # fmt: skip

    def disconnect(self) -> None:
        """Close the connections that Ansible's ControlPersist keeps, so that the next run pays for its own."""
        for socket in self._sockets.iterdir():
            order = ["ssh", "-F", os.devnull, "-o", f"ControlPath={socket}", "-O", "exit", "any"]
            subprocess.run(order, capture_output=True, check=False, timeout=10)
            with contextlib.suppress(FileNotFoundError):
                socket.unlink()
