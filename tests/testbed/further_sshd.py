"""A second sshd of a cluster, with settings of its own, at another port: one kind of door more.

It writes to a syslog of its own, so that each line names its connection, as at real sites.
SPDX-License-Identifier: GPL-3.0-or-later
"""

import re
import socket
import threading
from collections.abc import Mapping

from tests.testbed.cluster import Cluster
from tests.testbed.world import World

MARK = b"<0>all that was said before is read"

_START = """\
set -eu
name=$1
dev=/run/$name.dev
mkdir -p "$dev"
mount -t tmpfs -o mode=0755 testbed "$dev"
for node in null zero full random urandom tty; do cp -a "/dev/$node" "$dev/$node"; done
mkdir "$dev/pts" "$dev/shm"
mount --bind /dev/pts "$dev/pts"
ln -s pts/ptmx "$dev/ptmx"
touch "$dev/log"
mount --bind "/run/$name.syslog" "$dev/log"
mount --rbind "$dev" /dev
exec /usr/sbin/sshd -f "/etc/ssh/${name}_config"
"""


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
        root, pid = self._world.root, f"run/{name}.pid"
        if (root / pid).exists():  # the door of an earlier test
            self._world.run("sh", "-c", f"kill $(cat /{pid}); while test -e /{pid}; do sleep 0.05; done")
        changed = {"ListenAddress": f"0.0.0.0:{port}", "PidFile": f"/{pid}", **settings}
        usual = (root / "etc/ssh/testbed_config").read_text(encoding="ascii").splitlines()
        kept = [line for line in usual if line.partition(" ")[0] not in changed]
        lines = [*kept, *(f"{word} {value}" for word, value in changed.items())]
        (root / f"etc/ssh/{name}_config").write_text("".join(f"{line}\n" for line in lines), encoding="ascii")
        self._log: list[str] = []
        self._read = threading.Event()
        self._syslog = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        path = root / f"run/{name}.syslog"
        path.unlink(missing_ok=True)
        self._syslog.bind(str(path))
        self._address = str(path)
        path.chmod(0o666)
        threading.Thread(target=self._listen, daemon=True).start()
        own = [f"{word}={value}" for word, value in (environment or {}).items()]
        self._world.run("env", *own, "unshare", "--mount", "sh", "-c", _START, "sh", name)

    @property
    def refused(self) -> int:
        """How many attempts were refused: what a site counts before it bans."""
        return len(re.findall(r"(?m): (Failed |.*authentication failure)", self.said))

    @property
    def connections(self) -> int:
        """How many connections came, whatever became of them."""
        return self.said.count("Connection from ")

    @property
    def accepted(self) -> int:
        """How many of them were let in."""
        return len(re.findall(r": Accepted \S+ for ", self.said))

    @property
    def said(self) -> str:
        """What it has logged since it was started, as a syslog writes it."""
        self._read.clear()
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as line:
            line.sendto(MARK, self._address)
        assert self._read.wait(10)
        return "".join(self._log)

    def _listen(self) -> None:
        while True:
            said = self._syslog.recv(8192)
            if said == MARK:
                self._read.set()
                continue
            moment, message = said[said.index(b">") + 1 :][:15], said[said.index(b">") + 17 :]
            self._log.append(f"{moment.decode()} login {message.decode(errors='replace').rstrip()}\n")
