# SPDX-License-Identifier: GPL-3.0-or-later
"""A new user of this machine: an empty home with ssh settings of their own, where ssh looks for them."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pexpect

from tests.integration.runs import COMMAND, keyring_environment

IN_HOME = 'mount --bind "$1" /etc/passwd && shift && exec "$@"'  # ssh asks the system where its user's home is


class Person:
    """Somebody with an empty home but for .ssh, with a key that the testbed's accounts know."""

    def __init__(self, bed: Any, folder: Path) -> None:
        self.bed, self.folder = bed, folder
        self.home = folder / "home"
        self.ssh = self.home / ".ssh"
        self.ssh.mkdir(parents=True, mode=0o700)
        shutil.copy(bed.key, self.ssh / "id_ed25519")
        me = pwd.getpwuid(os.getuid())
        rows = Path("/etc/passwd").read_text(encoding="utf-8").splitlines()
        mine = ":".join([me.pw_name, "x", str(me.pw_uid), str(me.pw_gid), "", str(self.home), me.pw_shell])
        self.passwd = folder / "passwd"
        others = [row for row in rows if not row.startswith(f"{me.pw_name}:")]
        self.passwd.write_text("\n".join([mine, *others]) + "\n", encoding="utf-8")
        self.environment = {**bed.client.environment(), "HOME": str(self.home), "TERM": "dumb"}
        self.accounts = self.home / ".config" / "hpc.onboard" / "accounts.yml"

    def knows(self, name: str, cluster: str, *settings: str, hashed: bool = False) -> None:
        """An entry of the ssh settings for a host, and its key in known_hosts."""
        here = self.bed.cluster(cluster)
        with (self.ssh / "config").open("a", encoding="ascii") as file:
            rows = [f"HostName {here.host}", f"HostKeyAlias {name}", f"Port {here.port}", *settings]
            file.write("\n".join([f"Host {name}", *(f"    {row}" for row in rows)]) + "\n")
        self.met(name, cluster, hashed)

    def met(self, name: str, cluster: str, hashed: bool = False) -> None:
        """A line of known_hosts."""
        kind, key = (Path(self.bed.folder) / f"{cluster}.key.pub").read_text(encoding="ascii").split()[:2]
        known = self.ssh / "known_hosts"
        with known.open("a", encoding="ascii") as file:
            file.write(f"{name} {kind} {key}\n")
        if hashed:
            subprocess.run(["ssh-keygen", "-q", "-H", "-f", str(known)], check=True, capture_output=True)
            (self.ssh / "known_hosts.old").unlink(missing_ok=True)

    def command(self, *words: str) -> list[str]:
        """A command as this person runs it."""
        return ["unshare", "--mount", "--propagation=private", "sh", "-c", IN_HOME, "sh", str(self.passwd), *words]

    def types(self, *words: str, cwd: Path | None = None, **more: str) -> subprocess.CompletedProcess[str]:
        """Run hpc-onboard with no terminal."""
        return subprocess.run(
            self.command(COMMAND, *words), cwd=cwd or self.home, env={**self.environment, **more},
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip

    def at_terminal(self, *words: str, program: str = COMMAND, **more: str) -> pexpect.spawn[str]:
        """Run a command at a terminal of 80 columns."""
        program, *rest = self.command(program, *words)
        return pexpect.spawn(
            program, rest, cwd=str(self.home), env={**self.environment, **more}, encoding="utf-8", timeout=60,
            dimensions=(24, 80), preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )  # fmt: skip

    def with_key(self) -> Mapping[str, str]:
        """The environment of a person whose keyring has the key."""
        return keyring_environment(self.folder)
