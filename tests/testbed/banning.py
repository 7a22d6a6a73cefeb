"""Debian's fail2ban as the judge of a login node's log: which addresses its sshd jail would ban. Nothing is banned.

SPDX-License-Identifier: GPL-3.0-or-later
"""

import configparser
import subprocess
from collections import Counter
from pathlib import Path

_SETTINGS = Path("/etc/fail2ban/jail.conf")


def most() -> int:
    """How many failures of an address get it banned, by the settings that the package brings."""
    parser = configparser.RawConfigParser()
    parser.read(_SETTINGS, encoding="utf-8")
    return parser.getint("DEFAULT", "maxretry")


def failures(log: str, folder: Path) -> Counter[str]:
    """The failures that its filter for sshd sees in a log, by address. All counts as if it came within findtime."""
    file = folder / "auth.log"
    file.write_text(log, encoding="utf-8")
    command = ["fail2ban-regex", "--usedns=no", "-o", "ip", str(file), "sshd"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert not done.stderr, done.stderr
    return Counter(done.stdout.split())
