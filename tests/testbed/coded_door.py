"""A second sshd of a cluster, which asks for a one-time code at every connection, as PAM asks at real sites.

SPDX-License-Identifier: GPL-3.0-or-later
"""

import hashlib
import hmac
import re
import struct
import time
from collections.abc import Sequence

from tests.testbed.account import Account
from tests.testbed.cluster import Cluster
from tests.testbed.world import World

PORT = 2222
SECRET = b"testbed of hpc.onboard"
STEP = 30  # seconds for which a code is good (RFC 6238)
_LOG = "var/log/coded.log"
_CODES = "etc/users.oath"
_PID = "run/coded.pid"


class CodedDoor:
    """The door of one cluster, to which its accounts are let in by their key and a code, or password and code."""

    def __init__(self, cluster: Cluster, password: str = "") -> None:
        """password: of every account, asked for in place of the key; empty: the key and a code open it."""
        self._world: World = cluster.world
        root = self._world.root
        first = ["auth requisite pam_unix.so nodelay\n"] if password else []
        rules = [
            *first,
            f"auth requisite pam_oath.so usersfile=/{_CODES} window=1 digits=6\n",
            "account required pam_permit.so\n",
            "session required pam_permit.so\n",
        ]
        (root / "etc/pam.d/sshd").write_text("".join(rules), encoding="ascii")
        settings = (root / "etc/ssh/testbed_config").read_text(encoding="ascii")
        methods = "keyboard-interactive" if password else "publickey,keyboard-interactive"
        changed = {
            "ListenAddress": f"0.0.0.0:{PORT}",
            "PidFile": f"/{_PID}",
            "UsePAM": "yes",
            "AuthenticationMethods": methods,
            "KbdInteractiveAuthentication": "yes",
        }
        kept = [line for line in settings.splitlines() if line.partition(" ")[0] not in changed]
        text = "".join(f"{line}\n" for line in [*kept, *(f"{name} {value}" for name, value in changed.items())])
        (root / "etc/ssh/coded_config").write_text(text, encoding="ascii")
        (root / _LOG).touch()
        self._mark = len(self._all)
        self._password = password
        if (root / _PID).exists():  # the door of an earlier test
            self._world.run("sh", "-c", f"kill $(cat /{_PID}); while test -e /{_PID}; do sleep 0.05; done")
        self._world.run("/usr/sbin/sshd", "-f", "/etc/ssh/coded_config", "-E", f"/{_LOG}")

    def admit(self, accounts: Sequence[Account]) -> None:
        """Let these accounts in, each of whose next code is good again."""
        lines = [f"HOTP/T{STEP}/6 {account.user} - {SECRET.hex()}\n" for account in accounts]
        file = self._world.root / _CODES
        file.write_text("".join(lines), encoding="ascii")
        file.chmod(0o600)
        if self._password:
            pairs = "".join(f"{account.user}:{self._password}\n" for account in accounts)
            self._world.run("chpasswd", "-c", "SHA256", text=pairs)

    @property
    def refused(self) -> int:
        """How many attempts were refused: what a site counts before it bans."""
        return len(re.findall(r"^(Failed |.*authentication failure)", self._said, re.MULTILINE))

    @property
    def connections(self) -> int:
        """How many connections came, whatever became of them."""
        return self._said.count("Connection from ")

    @property
    def _said(self) -> str:
        return self._all[self._mark :]

    @property
    def _all(self) -> str:
        return (self._world.root / _LOG).read_text(encoding="utf-8", errors="replace")


def code() -> str:
    """The code that is good now (RFC 4226, RFC 6238)."""
    mac = hmac.digest(SECRET, struct.pack(">Q", int(time.time()) // STEP), hashlib.sha1)
    at = mac[-1] & 15
    return f"{(int.from_bytes(mac[at : at + 4], 'big') & 0x7FFFFFFF) % 10**6:06d}"
