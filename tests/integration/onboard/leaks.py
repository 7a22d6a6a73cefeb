# SPDX-License-Identifier: GPL-3.0-or-later
"""Looking for a key where it must not be: the forms in which it could show, in files, and in the list of processes."""

from __future__ import annotations

import base64
import os
import stat
import threading
import urllib.parse
from collections.abc import Iterable, Iterator
from pathlib import Path

EVERYWHERE = ("/tmp", "/root", "/home", "/var", "/dev/shm", "/run", "/etc")  # where anything writes on a machine
PAUSE = 0.002  # seconds between two looks at the processes


def forms(key: str) -> dict[str, bytes]:
    """The ways in which a key could show: as it is, half of it, and in the usual codings at any alignment."""
    raw = key.encode()
    found = {
        "plain": raw,
        "first half": raw[: len(raw) // 2],
        "last half": raw[len(raw) // 2 :],
        "hexadecimal": raw.hex().encode(),
        "URL": urllib.parse.quote(key, safe="").encode(),
        "UTF-16": key.encode("utf-16-le"),
    }
    for shift in range(3):
        coded = base64.b64encode(b"\0" * shift + raw)
        found[f"base64 shifted by {shift}"] = coded[4 if shift else 0 : -4]
    return found


def leaks(content: bytes, *keys: str) -> list[str]:
    """The forms of the keys in this content."""
    return _seen(content, _coded(keys))


def _coded(keys: Iterable[str]) -> list[tuple[str, bytes]]:
    return [(name, form) for key in keys for name, form in forms(key).items()]


def _seen(content: bytes, coded: Iterable[tuple[str, bytes]]) -> list[str]:
    return [name for name, form in coded if form in content]


def files_with_leaks(root: Path, since: float, *keys: str) -> Iterator[tuple[str, list[str]]]:
    """Every file below root that was written since then and holds a key, in its content or its name."""
    coded = _coded(keys)
    for folder, _folders, names in os.walk(os.fsencode(root)):
        for name in names:
            path = os.path.join(folder, name)
            seen = _seen(path, coded) + _seen(_content(path, since), coded)
            if seen:
                yield os.fsdecode(path), seen


def _content(path: bytes, since: float) -> bytes:
    """What a file holds that was written since then, or where a link leads; others' files come and go meanwhile."""
    try:
        found = os.lstat(path)
        if stat.S_ISLNK(found.st_mode):
            return os.readlink(path)
        if not stat.S_ISREG(found.st_mode) or found.st_ctime < since:
            return b""
        with open(path, "rb") as stream:
            return stream.read()
    except FileNotFoundError:
        return b""


class Watch:
    """Looks again and again at the arguments and the environment of every process, those of all worlds too.

    A context manager. `sweeps` counts the looks at all of them, `looks` those at one process; `seen` says which form of
    which key was where.
    """

    def __init__(self, keys: Iterable[str]) -> None:
        self._forms = [(key, name, form) for key in keys for name, form in forms(key).items()]
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="watch", daemon=True)
        self.sweeps = self.looks = 0
        self.seen: set[tuple[str, str, str]] = set()

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._end.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._end.wait(PAUSE):
            self.sweeps += 1
            for pid in filter(str.isdigit, os.listdir("/proc")):
                self.looks += 1
                for what in ("cmdline", "environ"):
                    self._look(f"/proc/{pid}/{what}", what)

    def _look(self, path: str, what: str) -> None:
        try:
            content = Path(path).read_bytes()
        except OSError:  # it ended
            return
        self.seen |= {(key, name, what) for key, name, form in self._forms if form in content}
