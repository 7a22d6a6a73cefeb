"""A second sshd of a cluster, with settings of its own, at another port: one kind of door more.

SPDX-License-Identifier: GPL-3.0-or-later
"""

import re
from collections.abc import Mapping
from pathlib import Path

from tests.testbed.cluster import Cluster
from tests.testbed.world import World


class FurtherSshd:
    """One that runs until the world ends, or until another one of its name takes its place."""

    def __init__(
        self,
        cluster: Cluster,
        name: str,
        port: int,
        settings: Mapping[str, str],
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """settings: what differs from the cluster's sshd."""
        self._world: World = cluster.world
        self._log, pid = f"var/log/{name}.log", f"run/{name}.pid"
        root = self._world.root
        changed = {"ListenAddress": f"0.0.0.0:{port}", "PidFile": f"/{pid}", **settings}
        usual = (root / "etc/ssh/testbed_config").read_text(encoding="ascii").splitlines()
        kept = [line for line in usual if line.partition(" ")[0] not in changed]
        lines = [*kept, *(f"{word} {value}" for word, value in changed.items())]
        (root / f"etc/ssh/{name}_config").write_text("".join(f"{line}\n" for line in lines), encoding="ascii")
        (root / self._log).touch()
        self._mark = len(self._all)
        if (root / pid).exists():  # the door of an earlier test
            self._world.run("sh", "-c", f"kill $(cat /{pid}); while test -e /{pid}; do sleep 0.05; done")
        own = [f"{word}={value}" for word, value in (environment or {}).items()]
        self._world.run("env", *own, "/usr/sbin/sshd", "-f", f"/etc/ssh/{name}_config", "-E", f"/{self._log}")

    @property
    def log(self) -> Path:
        """The host's path of its log, at LogLevel VERBOSE."""
        return self._world.root / self._log

    @property
    def refused(self) -> int:
        """How many attempts were refused: what a site counts before it bans."""
        return len(re.findall(r"^(Failed |.*authentication failure)", self.said, re.MULTILINE))

    @property
    def connections(self) -> int:
        """How many connections came, whatever became of them."""
        return self.said.count("Connection from ")

    @property
    def accepted(self) -> int:
        """How many of them were let in."""
        return len(re.findall(r"^Accepted \S+ for ", self.said, re.MULTILINE))

    @property
    def said(self) -> str:
        """What it has logged since it was started."""
        return self._all[self._mark :]

    @property
    def _all(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace")
