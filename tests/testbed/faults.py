"""Real faults for one account: a home that is full, and a file system that hangs.

SPDX-License-Identifier: GPL-3.0-or-later
"""

import contextlib
import os
import shlex
import signal
import time
from pathlib import Path

from tests.testbed.users import User
from tests.testbed.world import World, WorldError


def shrink_home(world: World, user: User, size: str, inodes: int) -> None:
    """Mount a small file system on the home, with what lay there; size as in tmpfs ("64k"), inodes in all."""
    options = f"size={size},nr_inodes={inodes},mode=0700,uid={user.uid},gid={user.gid}"
    home, small = shlex.quote(user.home), f"/run/home-{user.uid}"
    world.run("sh", "-ec", f"mkdir {small}; mount -t tmpfs -o {options} testbed {small};"
              f"cp -a {home}/. {small}/; mount --move {small} {home}; rmdir {small}")  # fmt: skip


def restore_home(world: World, user: User) -> None:
    """Take the small file system away, and with it all that was written since."""
    world.run("umount", "--lazy", user.home)


def fill(path: Path, uid: int) -> int:
    """Write a file until the file system has no byte left; gives its size."""
    with path.open("wb", buffering=0) as file:
        os.chown(file.fileno(), uid, -1)
        for size in (1 << 16, 1 << 12, 1):
            with contextlib.suppress(OSError):
                while True:
                    file.write(b"\0" * size)
        return file.tell()


class Hang:
    """A file system that answers nobody: bindfs over a folder, stopped. Not even the host may look below it."""

    def __init__(self, world: World, path: str) -> None:
        """Mount it and stop it."""
        self._world, self._path = world, path
        # As a daemon it is a child of the world's first process: nsenter, its parent, would stop with it.
        world.run("bindfs", path, path)
        self._process = _find(world.pid, f"bindfs\0{path}\0")
        os.kill(self._process, signal.SIGSTOP)

    def end(self) -> None:
        """Let it answer, and take it away."""
        os.kill(self._process, signal.SIGCONT)
        self._world.run("umount", "--lazy", self._path)
        deadline = time.monotonic() + 5
        while Path(f"/proc/{self._process}").exists():
            if time.monotonic() > deadline:
                os.kill(self._process, signal.SIGKILL)
                return
            time.sleep(0.01)


def _find(parent: int, command: str) -> int:
    for child in reversed(Path(f"/proc/{parent}/task/{parent}/children").read_text(encoding="ascii").split()):
        with contextlib.suppress(OSError):
            if Path(f"/proc/{child}/cmdline").read_text(encoding="utf-8").startswith(command):
                return int(child)
    raise WorldError(f"{command.split(chr(0))[0]} is not running")
