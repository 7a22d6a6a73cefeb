# SPDX-License-Identifier: GPL-3.0-or-later
"""What the user has on an account, kept apart from what hpc-onboard does there; and what may have become of it."""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

SHARED = ("enroot/.credentials", ".netrc", ".bashrc", ".profile", ".bash_profile")
"""Files of the user's in which hpc-onboard adds lines."""
FORMER = ".config/hpc.onboard/former"  # where what is replaced is kept
AUTHS = re.compile(rb'"auth": "([^"]*)"')


class Thing(NamedTuple):
    """A path: its kind, its mode, and its content (the target of a link)."""

    kind: str
    mode: int
    content: bytes


def look(account: Any) -> dict[str, Thing]:
    """Return all that is in the home, by path below it, and all of the user's in the site's folders."""
    found = dict(_below(account.path(account.home), ""))
    for folder in account.folders:
        found.update(_below(account.path(folder), folder, account.login_entry.uid))
    return found


def _below(top: Path, shown: str, owner: int | None = None) -> Iterator[tuple[str, Thing]]:
    for where, folders, files in os.walk(top):
        for name in sorted(folders + files):
            path = Path(where) / name
            status = path.lstat()
            if owner is None or status.st_uid == owner:
                kind = "link" if path.is_symlink() else "folder" if path.is_dir() else "file"
                content = os.fsencode(path.readlink()) if kind == "link" else b""
                if kind == "file":
                    content = path.read_bytes()
                below = str(path.relative_to(top))
                yield (f"{shown}/{below}" if shown else below), Thing(kind, status.st_mode & 0o7777, content)


def decoded(content: bytes) -> bytes:
    """Return a content with what it has in base64 behind it."""
    return content + b" ".join(base64.b64decode(one) for one in AUTHS.findall(content))


class Home:
    """An account, and what its user put there: what offboarding must give back.

    A path is contested once the user changed what hpc-onboard had created: it stays the user's or it goes, and is
    named either way.
    """

    def __init__(self, account: Any) -> None:
        """Take what is there for the user's own."""
        self.account = account
        self.mine = look(account)
        self.contested: set[str] = set()

    def put(self, path: str, content: str, mode: int = 0o644) -> None:
        """Write a file as the user does, with folders of the usual mode."""
        self._as_user(f"mkdir -p $(dirname {path}); cat > {path}; chmod {mode:o} {path}", content)
        self._own(path, content.encode())

    def lay(self, path: str, content: str, mode: int) -> None:
        """Write a file, unless something has its name or that of a folder above it."""
        here = look(self.account)
        if path not in here and here.get(str(Path(path).parent), Thing("folder", 0, b"")).kind == "folder":
            self.put(path, content, mode)

    def drop(self, path: str) -> None:
        """Remove a file, the user's own or one that hpc-onboard created in its place."""
        if look(self.account).get(path) == self.mine.get(path):
            self.mine.pop(path, None)
        self._as_user(f"test -d {path} || rm -f {path}")

    def lose_moved(self) -> None:
        """Take what was moved away for contested: the user is about to remove that folder."""
        here = look(self.account)
        moved = [one for path, one in here.items() if f"{FORMER}/" in path]
        self.contested.update(path for path, was in self.mine.items() if was in moved and here.get(path) != was)

    def link(self, path: str, target: str) -> None:
        """Make a link, unless something has that name."""
        if path not in look(self.account):
            self._as_user(f"ln -s {target} {path}")
            self._own(path, target.encode())

    def add(self, path: str, line: str) -> None:
        """Append a line to a file that may hold lines of hpc-onboard."""
        self._as_user(f"mkdir -p $(dirname {path}); cat >> {path}", line + "\n")
        self._own(path, (self.mine[path].content if path in self.mine else b"") + f"{line}\n".encode())

    def _own(self, path: str, content: bytes) -> None:
        """Take a file of this content for the user's, and the folders around it."""
        here = look(self.account)
        for above in map(str, Path(path).parents):
            if above != ".":
                self.mine.setdefault(above, here[above])
        self.mine[path] = self.mine.get(path, here[path])._replace(content=content)

    def change(self, command: str, *paths: str) -> None:
        """Run a command of the user's that changes what hpc-onboard created: these paths are contested from then on."""
        self._as_user(command)
        self.contested.update(paths)

    def remove(self, path: str) -> None:
        """Remove a path with all below it."""
        self._as_user(f"rm -rf {path}")
        self.mine = {name: one for name, one in self.mine.items() if not f"{name}/".startswith(f"{path}/")}

    def accept_modes(self, here: dict[str, Thing], text: str) -> None:
        """Take the modes that a run made private, and named, for the user's."""
        for path, was in self.mine.items():
            if path in here and here[path].mode == was.mode & ~0o077 and f"changes from {was.mode:04o} to" in text:
                self.mine[path] = was._replace(mode=here[path].mode)

    def _as_user(self, command: str, text: str = "") -> None:
        done = self.account.ssh(command, text=text)
        assert done.returncode == 0, done.stderr

    # -- what may have become of it ------------------------------------------------------------

    def harm(self, here: dict[str, Thing], keys: Iterable[str], is_over: bool) -> Iterator[str]:
        """Say what of the user's is not as it was; is_over: nothing of hpc-onboard is to be left in it."""
        here_former = [one for path, one in here.items() if f"{FORMER}/" in path]
        for path, was in self.mine.items():
            if path in self.contested:
                continue
            now = here.get(path)
            if not is_over and was in here_former:
                continue  # moved away, as the accounts file says
            if now is None:
                yield f"{path} of the user's is gone"
            elif now.kind != was.kind:
                yield f"{path} of the user's is a {now.kind} now"
            elif now.mode != was.mode and (is_over or now.mode != was.mode & ~0o077):
                yield f"{path} has the mode {now.mode:o}, not {was.mode:o}"
            elif not _is_kept(path, was.content, now.content, list(keys), is_over):
                yield f"{path} of the user's has another content: {was.content!r} became {now.content!r}"

    def left(self, here: dict[str, Thing]) -> set[str]:
        """Return what is there and not the user's; folders around what is the user's are not counted."""
        around = {str(above) for path in {*self.mine, *self.contested} for above in Path(path).parents}
        return {path for path in here if path not in self.mine and path not in self.contested and path not in around}


def _is_kept(path: str, was: bytes, now: bytes, keys: list[str], is_over: bool) -> bool:
    """Return True if a content is the user's own, or holds all the user's lines in their order."""
    for key in keys:  # a known key that the user wrote may be a newer one by now
        was, now = was.replace(key.encode(), b"KEY"), now.replace(key.encode(), b"KEY")
    if path not in SHARED or is_over:
        return was == now
    lines = iter(now.splitlines())
    return all(line in lines for line in was.splitlines())


def keyed(here: dict[str, Thing], keys: Iterable[str]) -> dict[str, set[str]]:
    """Return which of the keys each file holds, plainly or in base64, by path; files without a key are left out."""
    found = {path: {key for key in keys if key.encode() in decoded(one.content)} for path, one in here.items()}
    return {path: those for path, those in found.items() if those}
