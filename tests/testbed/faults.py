"""Real faults for one account: a home that is full, and a file system that hangs.

SPDX-License-Identifier: GPL-3.0-or-later
"""

import contextlib
import os
import shlex
import signal
import subprocess
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
        before = world.path(path).stat().st_dev
        self._process = subprocess.Popen(
            world.command("bindfs", "-f", path, path),
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        deadline = time.monotonic() + 5
        while world.path(path).stat().st_dev == before:
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise WorldError(f"bindfs did not mount {path}")
            time.sleep(0.01)
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text(encoding="ascii")
        self._bindfs = int(children.split()[0])
        os.kill(self._bindfs, signal.SIGSTOP)

    def end(self) -> None:
        """Let it answer, and take it away."""
        os.kill(self._bindfs, signal.SIGCONT)
        self._world.run("umount", "--lazy", self._path)
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            os.kill(self._bindfs, signal.SIGKILL)
            self._process.wait(5)
