"""One user's account on a stand-in cluster, and independent looks at it.

SPDX-License-Identifier: GPL-3.0-or-later
"""

import contextlib
import os
import shlex
import subprocess
from pathlib import Path

from tests.testbed.cluster import Cluster
from tests.testbed.faults import Hang, fill, restore_home, shrink_home
from tests.testbed.terminal import typed
from tests.testbed.tree import Entry, entries
from tests.testbed.users import User, remove_user

Finished = subprocess.CompletedProcess[str]

_AS_LOGIN = 'exec -a "-${1##*/}" "$1" -c "$2"'


class Account:
    """A fresh account. Paths are absolute in the cluster's world, or relative to the home."""

    def __init__(self, cluster: Cluster, login: User, project: str, folders: list[str], ssh_config: Path) -> None:
        """Made by `Testbed.new_account`."""
        self.cluster = cluster
        self.user = login.name
        self.home = login.home
        self.host = cluster.host
        self.port = cluster.port
        self.project = project
        self.folders = folders
        self.ssh_config = ssh_config
        self.login_entry = login
        self._hangs: dict[str, Hang] = {}
        self._small = False
        self._mark = 0
        self.reset_sessions()

    @property
    def name(self) -> str:
        """The name in an accounts file, such as simone@wilson."""
        return f"{self.user}@{self.cluster.site.profile or self.cluster.name}"

    def ssh_command(self, *options: str) -> list[str]:
        """Give the ssh command line up to the command."""
        return ["ssh", "-F", str(self.ssh_config), "-l", self.user, *options, self.host]

    def ssh(self, command: str, *options: str, text: str = "", timeout: float = 30) -> Finished:
        """Run a command over ssh: one session, and no login shell. A time-out raises."""
        line = [*self.ssh_command(*options), command]
        return subprocess.run(line, input=text, capture_output=True, text=True, timeout=timeout, check=False)

    def login(self, command: str, timeout: float = 30) -> Finished:
        """Log in on a terminal, type the command, and give its output: what the user sees. No exit status."""
        return typed(self.ssh_command("-tt"), command, timeout)

    def login_shell(self, command: str, timeout: float = 30) -> Finished:
        """Run a command in the account's own login shell, without ssh and without a terminal."""
        line = ["setpriv", f"--reuid={self.login_entry.uid}", f"--regid={self.login_entry.gid}", "--init-groups",
                "--reset-env", "bash", "--norc", "--noprofile", "-c", f"cd; {_AS_LOGIN}",
                "bash", self.login_entry.shell, command]  # fmt: skip
        return subprocess.run(
            self.cluster.world.command(*line),
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout, check=False,
        )  # fmt: skip

    def path(self, path: str, follow: bool = True) -> Path:
        """Give the host's path of a path on the account."""
        return self.cluster.world.path(path if path.startswith("/") else f"{self.home}/{path}", follow)

    def read(self, path: str) -> bytes:
        """Give a file's bytes."""
        return self.path(path).read_bytes()

    def exists(self, path: str) -> bool:
        """Say whether something lies there, be it a link to nowhere."""
        here = self.path(path, follow=False)
        return here.is_symlink() or here.exists()

    def tree(self) -> dict[str, Entry]:
        """Give all below the home, and all that the user owns in the site's folders."""
        found = dict(entries(self.path(self.home), self.home))
        for folder in self.folders:
            found.update(entries(self.path(folder), folder, self.login_entry.uid))
        return found

    def sessions(self) -> int:
        """Count the command sessions since the account was made or `reset_sessions`."""
        return self.cluster.sessions(self.user, self._mark)

    def logins(self) -> int:
        """Count the connections since then."""
        return self.cluster.logins(self.user, self._mark)

    def reset_sessions(self) -> None:
        """Count from here on."""
        self._mark = self.cluster.log_size()

    def processes(self) -> list[int]:
        """Give the user's processes in the cluster's world, by their ids on the host."""
        world = os.stat(f"/proc/{self.cluster.world.pid}/ns/pid").st_ino
        found = []
        for path in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):  # it has ended meanwhile
                mine = f"\nUid:\t{self.login_entry.uid}\t" in (path / "status").read_text(encoding="latin-1")
                if mine and (path / "ns/pid").stat().st_ino == world:  # another testbed has users of the same ids
                    found.append(int(path.name))
        return found

    def small_home(self, size: str = "256k", inodes: int = 64) -> None:
        """Give the home a file system of its own with this many bytes and files."""
        shrink_home(self.cluster.world, self.login_entry, size, inodes)
        self._small = True

    def fill_home(self, name: str = ".filler") -> int:
        """Leave not one byte in a small home; gives the size of the file that does it."""
        if not self._small:
            raise ValueError("only a small home can be filled")
        return fill(self.path(name), self.login_entry.uid)

    def normal_home(self) -> None:
        """Undo `small_home`."""
        restore_home(self.cluster.world, self.login_entry)
        self._small = False

    def hang(self, path: str) -> None:
        """Let every access below a folder wait, until `unhang`."""
        self._hangs[path] = Hang(self.cluster.world, path)

    def unhang(self) -> None:
        """Let all folders answer again."""
        for path in list(self._hangs):
            self._hangs.pop(path).end()

    def remove(self) -> None:
        """Take the account away: processes, faults, files, user. What others own in shared folders stays."""
        world, uid = self.cluster.world, self.login_entry.uid
        self.unhang()
        owned = " ".join(shlex.quote(folder) for folder in self.folders)
        world.run("setpriv", f"--reuid={uid}", "--clear-groups", "sh", "-c", "kill -KILL -1; true")
        if self._small:
            self.normal_home()
        world.run("sh", "-c", f"rm -rf {shlex.quote(self.home)}; find {owned or '/dev/null'} -uid {uid} -delete")
        remove_user(world.root, self.user)
