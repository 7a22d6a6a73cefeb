# SPDX-License-Identifier: GPL-3.0-or-later
"""Inject a fault at one system call of the real engine and look at what it leaves behind.

strace counts calls per name and process ('when='). So a clean pass is listed first, every call in it is
addressed as (name, how many of that name came before), and after the fault the log must show that it
was injected into that very call, or the point counts as a violation of the harness itself.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

TREE = Path(os.environ.get("HPC_ONBOARD_TREE") or Path(__file__).parents[2])
ERRNOS = ("ENOSPC", "EDQUOT", "EIO", "ESTALE", "EROFS", "EACCES", "EPERM", "ENOENT", "EINTR", "EMFILE", "ENOMEM")
_NAMES = (
    "openat read write pwrite64 fsync fchmod chmod fchmodat rename renameat renameat2 link linkat unlink"
    " unlinkat mkdir mkdirat rmdir symlink symlinkat close lseek fstat lstat stat newfstatat statx"
    " readlink readlinkat listxattr llistxattr flistxattr getxattr lgetxattr fgetxattr setxattr fsetxattr"
    " removexattr fremovexattr getdents64 fcntl ftruncate dup2 dup3"
)
CALLS = _NAMES.split()
LOCK = ".hpc.onboard.lock"
DRAFT = ".hpc.onboard-draft"
FAILURES = ("blocked", "failed", "unknown")
SECRET = "nvapi-C4n4ry-of-the-faults"
OLD_SECRET = "nvapi-0ld-of-the-faults"
OLDER_SECRET = "nvapi-0lder-of-the-faults"
FINGERPRINT_KEY = "5e" * 32
VERSIONS = (SECRET, OLD_SECRET, OLDER_SECRET)  # of the key that the sender of a plan knows
CALM = {"PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1", "PATH": os.environ["PATH"]}


class Call(NamedTuple):
    """One system call of a pass: its name, the number among its namesakes from 1, and its text."""

    name: str
    number: int
    text: str

    def __str__(self) -> str:
        return f"{self.name}#{self.number} {self.text}"


class Node(NamedTuple):
    """What lies at one path of the account."""

    kind: str
    mode: int
    content: bytes


Tree = dict[str, Node]


class Pass(NamedTuple):
    """What came of one pass: wait status, the outcomes that were reported, the calls, and what was injected."""

    status: int
    outcomes: list[dict[str, Any]]
    calls: list[Call]
    injected: list[str]


def snapshot(root: Path) -> Tree:
    """Everything below root, by path relative to it."""
    found: Tree = {}
    for folder, folders, files in os.walk(root):
        for name in folders + files:
            path = Path(folder, name)
            seen = path.lstat()
            if stat.S_ISLNK(seen.st_mode):
                node = Node("link", 0o777, os.readlink(path).replace(str(root), "").encode())
            elif stat.S_ISDIR(seen.st_mode):
                node = Node("folder", stat.S_IMODE(seen.st_mode), b"")
            else:
                node = Node("file", stat.S_IMODE(seen.st_mode), _content(path))
            found[str(path.relative_to(root))] = node
    return found


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        return f"unreadable: {error}".encode()


def shown(secret: str) -> str:
    """Return the fingerprint by which a plan says which keys its sender knows."""
    key = bytes.fromhex(FINGERPRINT_KEY)
    return "key " + hmac.digest(key, hashlib.sha256(secret.encode()).digest(), "sha256").hex()[:12]


def scratch() -> str:
    """Where sandboxes are made: in memory where that is to be had, since every write is flushed."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else tempfile.gettempdir()


class Writer:
    """One process with the engine in it (writer.py), and its sandbox."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="hpc.onboard-faults-", dir=scratch()))
        self.root = self.folder / "root"
        self._process = subprocess.Popen(
            [sys.executable, "-s", "-S", str(Path(__file__).with_name("writer.py")), str(TREE)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=CALM,
        )

    def close(self) -> None:
        """End the process and remove the sandbox."""
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait()
        shutil.rmtree(self.folder)

    def _ask(self, **order: Any) -> int:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def fresh(self) -> Path:
        """An empty sandbox; its home is there."""
        if self.root.exists():
            shutil.rmtree(self.root)
        home = self.root / "home/me"
        home.mkdir(parents=True)
        for folder in (self.root, self.root / "home", home):
            folder.chmod(0o755)
        return home

    def plan(self, resources: list[dict[str, Any]], shell: str = "/bin/bash", check: bool = False) -> dict[str, Any]:
        """The plan for this sandbox."""
        return {
            "resources": [{"capability": "faults", **entry} for entry in resources],
            "work": "preview" if check else "reconcile",
            "fingerprint_key": FINGERPRINT_KEY,
            "keys": {"ngc": {"known": [], "mark": None, "versions": [shown(one) for one in VERSIONS]}},
            "sandbox": {"root": str(self.root), "home": "/home/me", "shell": shell, "environment": {}, "folders": []},
        }

    def run(self, plan: dict[str, Any], umask: int = 0o022) -> dict[str, Any]:
        """A whole engine run without a fault."""
        answer = self.folder / "answer"
        self._ask(do="run", plan=plan, answer=str(answer), umask=umask)
        self._ask(do="go")
        said: dict[str, Any] = json.loads(answer.read_text())
        return said

    def run_with(self, plan: dict[str, Any], at: int, what: str, umask: int = 0o022) -> tuple[int, str]:
        """A whole run with a fault (KILL, or an errno) at a call that changes something, by its number from 1; 0: none.

        Gives how many such calls there were, over all processes, and what was answered, if anything was.
        """
        answer, counts = self.folder / "answer", self.folder / "counts"
        counts.write_bytes(bytes(8))
        fault = {"at": at, "what": what, "counts": str(counts)}
        self._ask(do="run", plan=plan, answer=str(answer), umask=umask, fault=fault)
        self._ask(do="go")
        return int.from_bytes(counts.read_bytes(), sys.byteorder), answer.read_text()

    def work(self, plan: dict[str, Any], *inject: str, look: bool = False, umask: int = 0o022) -> Pass:
        """The engine's pass under strace, with injections such as 'fsync:error=EIO:when=1'."""
        answer, log = self.folder / "answer", self.folder / "log"
        process = self._ask(do="work", look=look, plan=plan, answer=str(answer), umask=umask)
        # a traced call that is not injected may be named in 'trace' only
        command = ["strace", "-f", "-s", "4096", "-p", str(process), "-o", str(log)]
        command += ["-e", "trace=access,faccessat,faccessat2," + ",".join("?" + name for name in CALLS)]
        for one in inject:
            command += ["-e", "inject=" + one]
        strace = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        assert strace.stderr
        attached = strace.stderr.readline()
        status = self._ask(do="go")
        said = strace.communicate()[1]
        if "attached" not in attached:
            raise RuntimeError("strace cannot attach: " + attached + said)
        outcomes = [json.loads(line) for line in answer.read_text().splitlines() if line.endswith("}")]
        return Pass(status, outcomes, *self._calls(log.read_text(errors="replace")))

    def _calls(self, log: str) -> tuple[list[Call], list[str]]:
        numbers: Counter[str] = Counter()
        calls, injected, begun = [], [], False
        for line in log.splitlines():
            found = re.match(r"^\d+ +(\w+)\(", line)
            if not found:
                continue
            begun = begun or "/hpc.onboard-begin" in line
            name = found[1]
            numbers[name] += 1
            text = line.split(None, 1)[1].replace(str(self.root), "")
            if begun and name in CALLS:
                calls.append(Call(name, numbers[name], text))
            if "(INJECTED)" in line:
                injected.append(text)
        return calls, injected


@contextmanager
def writing() -> Iterator[Writer]:
    """A Writer, closed at the end."""
    writer = Writer()
    try:
        yield writer
    finally:
        writer.close()


def same_call(one: Call, other: Call) -> bool:
    """Whether two passes made the same call here; what differs between runs (numbers, times) is left out."""
    return one.name == other.name and one.number == other.number and _named(one.text) == _named(other.text)


def _named(text: str) -> list[str]:
    """The first file named in a call; what stands behind it may be the answer."""
    return [] if text.startswith(("write", "pwrite", "read(", "pread", "f")) else re.findall(r'"([^"]*)"', text)[:1]
