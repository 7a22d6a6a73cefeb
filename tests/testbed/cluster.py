"""One stand-in cluster that is up: its world, its address, and what its sshd logged.

SPDX-License-Identifier: GPL-3.0-or-later
"""

import re
from dataclasses import dataclass
from pathlib import Path

from tests.testbed.pythons import Version
from tests.testbed.sites import Site
from tests.testbed.world import World


@dataclass(frozen=True)
class Cluster:
    """A cluster to make accounts on."""

    site: Site
    world: World
    host: str
    """The login node's address."""
    python: Version | None
    """Which Python its users find; None: none."""

    port = 22

    @property
    def name(self) -> str:
        """The name it has in the testbed."""
        return self.site.name

    @property
    def log(self) -> Path:
        """The host's path of sshd's log, at LogLevel VERBOSE."""
        return self.world.root / "var/log/sshd.log"

    def log_size(self) -> int:
        """Give the log's length in bytes: a mark for the calls below."""
        return self.log.stat().st_size

    def sessions(self, user: str, since: int = 0, kind: str = "command") -> int:
        """Count the sessions that a user opened: of kind command, shell or subsystem."""
        return self._count(rf"Starting session: {kind}\b.* for {re.escape(user)} from ", since)

    def logins(self, user: str, since: int = 0) -> int:
        """Count the connections on which a user proved who they are."""
        return self._count(rf"Accepted publickey for {re.escape(user)} from ", since)

    def _count(self, pattern: str, since: int) -> int:
        with self.log.open("rb") as file:
            file.seek(since)
            return len(re.findall(pattern, file.read().decode("utf-8", "replace")))
