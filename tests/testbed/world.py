"""One cluster's private world: network, mounts, processes; nothing of the host changes, nothing stays.

SPDX-License-Identifier: GPL-3.0-or-later
"""

import contextlib
import subprocess
from pathlib import Path

_SCRIPT = Path(__file__).with_name("world.sh")
_CHECKOUT = Path(__file__).resolve().parents[2]


class WorldError(Exception):
    """A world did not come up, or a command in it failed."""


class World:
    """Namespaces over an overlay of the host's root; they live as long as the pipe to their first process."""

    def __init__(self, base: Path, folders: tuple[str, ...], python: Path | None = None) -> None:
        """Start the world; it is usable after `wait_ready`."""
        base.mkdir()
        self._log = base.with_suffix(".log")
        with self._log.open("wb") as log:
            # Its own session: Ctrl-C ends the tests first, and they take the world down.
            self._process = subprocess.Popen(
                ["unshare", "--mount", "--net", "--pid", "--ipc", "--uts", "--fork", "--kill-child", "--",
                 "/bin/bash", str(_SCRIPT), str(base), str(python or ""), str(_CHECKOUT), *folders],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, start_new_session=True,
            )  # fmt: skip
        self.pid = 0

    @property
    def root(self) -> Path:
        """The world's / as the host sees it. An absolute link in it leads astray: use `path`."""
        return Path(f"/proc/{self.pid}/root")

    def wait_ready(self) -> None:
        """Return when the file tree stands and commands can be run in the world."""
        self._expect("ready")
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text(encoding="ascii")
        self.pid = int(children.split()[0])

    def serve(self) -> None:
        """Start sshd, and return when it listens."""
        assert self._process.stdin is not None
        self._process.stdin.write(b"serve\n")
        self._process.stdin.flush()
        self._expect("serving")

    def run(self, *command: str, text: str = "", timeout: float = 30) -> str:
        """Run a command as root in the world, and give what it printed."""
        done = subprocess.run(
            self.command(*command), input=text, capture_output=True, text=True, timeout=timeout, check=False
        )
        if done.returncode:
            raise WorldError(f"{' '.join(command)}: exit {done.returncode}: {done.stderr.strip()}")
        return done.stdout

    def command(self, *command: str) -> list[str]:
        """Give the command line that runs this command in all of the world's namespaces."""
        enter = ["nsenter", f"--target={self.pid}", "--mount", "--net", "--pid", "--ipc", "--uts", "--wd"]
        return [*enter, "--", *command]

    def path(self, path: str, follow: bool = True) -> Path:
        """Give the host's path of a path in the world, with links followed as the world sees them."""
        done = Path("/")
        todo = [part for part in path.split("/") if part]
        for _ in range(1000):
            if not todo:
                return self.root / done.relative_to("/")
            part = todo.pop(0)
            here = self.root / done.relative_to("/") / part
            if part == "..":
                done = done.parent
            elif part != "." and here.is_symlink() and (todo or follow):
                target = str(here.readlink())
                done = Path("/") if target.startswith("/") else done
                todo = [step for step in target.split("/") if step] + todo
            elif part != ".":
                done = done / part
        raise WorldError(f"{path}: too many links")

    def namespaces(self) -> dict[str, str]:
        """Give the identity of each namespace of the world, such as net:[4026532254]."""
        return {kind: str(Path(f"/proc/{self.pid}/ns/{kind}").readlink()) for kind in ("mnt", "net", "pid")}

    def stop(self) -> None:
        """End the world: its first process ends, and the kernel ends the rest."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(10)
        self._process.stdout.close()

    def _expect(self, word: str) -> None:
        assert self._process.stdout is not None
        line = self._process.stdout.readline().decode().strip()
        if line != word:
            said = self._log.read_text(encoding="utf-8", errors="replace")
            raise WorldError(f"the world ended before it was {word}: {said.strip()}")
