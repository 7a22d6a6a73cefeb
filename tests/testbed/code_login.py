"""A second sshd of a cluster, which asks for a one-time code at every connection, as PAM asks at real sites.

SPDX-License-Identifier: GPL-3.0-or-later
"""

import hashlib
import hmac
import struct
import time
from collections.abc import Sequence

from tests.testbed.account import Account
from tests.testbed.cluster import Cluster
from tests.testbed.further_sshd import FurtherSshd

PORT = 2222
SECRET = b"testbed of hpc.onboard"
STEP = 30  # seconds for which a code is good (RFC 6238)
_CODES = "etc/users.oath"


class CodeLogin(FurtherSshd):
    """The door of one cluster, to which its accounts are let in by their key and a code, or password and code."""

    def __init__(self, cluster: Cluster, password: str = "", **more: str) -> None:
        """password: of every account, asked for in place of the key; empty: the key and a code open it.

        more: settings of its sshd.
        """
        root = cluster.world.root
        first = ["auth requisite pam_unix.so nodelay\n"] if password else []
        rules = [
            *first,
            f"auth requisite pam_oath.so usersfile=/{_CODES} window=1 digits=6\n",
            "account required pam_permit.so\n",
            "session required pam_permit.so\n",
        ]
        (root / "etc/pam.d/sshd").write_text("".join(rules), encoding="ascii")
        methods = "keyboard-interactive" if password else "publickey,keyboard-interactive"
        settings = {"UsePAM": "yes", "AuthenticationMethods": methods, "KbdInteractiveAuthentication": "yes", **more}
        self._password = password
        super().__init__(cluster, "coded", PORT, settings)

    def admit(self, accounts: Sequence[Account]) -> None:
        """Let these accounts in, each of whose next code is good again."""
        lines = [f"HOTP/T{STEP}/6 {account.user} - {SECRET.hex()}\n" for account in accounts]
        file = self._world.root / _CODES
        file.write_text("".join(lines), encoding="ascii")
        file.chmod(0o600)
        if self._password:
            pairs = "".join(f"{account.user}:{self._password}\n" for account in accounts)
            self._world.run("chpasswd", "-c", "SHA256", text=pairs)


def code() -> str:
    """The code that is good now (RFC 4226, RFC 6238)."""
    mac = hmac.digest(SECRET, struct.pack(">Q", int(time.time()) // STEP), hashlib.sha1)
    at = mac[-1] & 15
    return f"{(int.from_bytes(mac[at : at + 4], 'big') & 0x7FFFFFFF) % 10**6:06d}"
