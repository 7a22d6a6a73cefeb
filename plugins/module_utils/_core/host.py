# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The one door to the operating system of the account.

Reads and questions are here; what changes the account is in the methods of the last part, and a
dry run is another Host (dry.py) that keeps those changes to itself. Nothing else asks which it is.
Files are written as a draft beside the target, made with its final mode, flushed, renamed, and read back.
"""

import errno
import hashlib
import hmac
import os
import stat
from typing import Any, Callable, Dict, List, Mapping, Optional

from . import files
from .account import Account
from .errors import AccountError, explained
from .files import Entry


class Host:
    """The account's files. root is the sandbox's folder, below which every absolute path lies, or empty."""

    def __init__(self, account: Account, fingerprint_key: bytes, root: str = "") -> None:
        self.account, self.home, self.root = account, account.home, root
        self.made: List[str] = []  # the folders that were made
        self.noted: Mapping[str, Any] = {}  # what the receipt says of each thing, once it was looked at
        self.fingerprint_key = fingerprint_key

    # -- names ---------------------------------------------------------------------------------

    def fingerprint(self, secret: str) -> str:
        """The keyed short hash that stands for a secret wherever it is shown; the key is this account's alone."""
        digest = hashlib.sha256(secret.encode("utf-8")).digest()
        return "key " + hmac.new(self.fingerprint_key, digest, hashlib.sha256).hexdigest()[:12]

    def expand(self, path: str) -> str:
        """The absolute path for one that begins with ~ or with a variable of the site."""
        head, slash, tail = path.partition("/")
        if head == "~":
            head = self.home
        elif head.startswith("$"):
            head = self.account.variable(head[1:])
        return os.path.normpath("/" + (head + slash + tail).lstrip("/"))

    def shown(self, path: str) -> str:
        """The path as a person writes it: ~ for the home."""
        inside = path == self.home or path.startswith(self.home + "/")
        return "~" + path[len(self.home) :] if inside else path

    def real(self, path: str) -> str:
        """Where a path of the account lies for the system."""
        return self.root + path

    # -- questions -----------------------------------------------------------------------------

    def entry(self, path: str) -> Optional[Entry]:
        """What lies at path, or None; a link is not followed."""
        return self.look_at(path)

    def look_at(self, path: str) -> Optional[Entry]:
        """What lies at a path with no link on its way: entry() and resolve() are made of such looks."""
        try:
            found = os.lstat(self.real(path))
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ENOTDIR):
                return None
            raise explained(error, "looking at " + self.shown(path)) from None
        return files.entry(found, self._target(path) if stat.S_ISLNK(found.st_mode) else "")

    def _target(self, path: str) -> str:
        target = os.readlink(self.real(path))
        inside = self.root and target.startswith(self.root + "/")
        return target[len(self.root) :] if inside else target

    def read(self, path: str) -> bytes:
        """The content of a file of at most 4 MiB; a link, a pipe or a device is not opened."""
        try:
            handle = os.open(self.real(path), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            with os.fdopen(handle, "rb") as stream:
                if not stat.S_ISREG(os.fstat(handle).st_mode):
                    raise AccountError("%s is not a plain file" % self.shown(path))
                content = stream.read(files.LARGEST + 1)
        except OSError as error:
            raise explained(error, "reading " + self.shown(path)) from None
        if len(content) > files.LARGEST:
            raise AccountError("%s is larger than 4 MiB: that is not such a file" % self.shown(path))
        return content

    def names(self, folder: str) -> List[str]:
        """The names in a folder; none where there is no folder."""
        try:
            return sorted(os.listdir(self.real(folder))) if self.kind_behind(folder) == "folder" else []
        except OSError as error:
            raise explained(error, "listing " + self.shown(folder)) from None

    def has_acl(self, path: str) -> bool:
        """Whether an access list beyond the mode stands on the file."""
        try:
            return files.ACL in files.attribute_names(self.real(path))
        except OSError as error:
            raise explained(error, "looking for an access list on " + self.shown(path)) from None

    def resolve(self, path: str) -> Optional[str]:
        """The path with every link followed, or None for a loop."""
        pending = path.strip("/").split("/")
        done = ""
        for _step in range(200):
            if not pending:
                return done or "/"
            part = pending.pop(0)
            if part in ("", "."):
                continue
            if part == "..":
                done = os.path.dirname(done).rstrip("/")
                continue
            found = self.look_at(done + "/" + part)
            if found is None or found.kind != "link":
                done += "/" + part
                continue
            if found.target.startswith("/"):
                done = ""
            pending = found.target.strip("/").split("/") + pending
        return None

    def behind(self, path: str) -> Optional[Entry]:
        """What lies there when links are followed."""
        real = self.resolve(path)
        return self.entry(real) if real else None

    def kind_behind(self, path: str) -> str:
        """What is there when links are followed: folder, file, other or nothing."""
        return getattr(self.behind(path), "kind", "nothing")

    def in_the_way(self, folder: str) -> Optional[str]:
        """Why folder is not there and cannot be made: what lies where it, or a folder above it, belongs."""
        while self.kind_behind(folder) == "nothing":
            if self.entry(folder):
                return "%s is a link to nothing: mend or remove it, then run again" % self.shown(folder)
            folder = os.path.dirname(folder)
        if self.kind_behind(folder) != "folder":
            return "%s is in the way of a folder: move it away, then run again" % self.shown(folder)
        return None

    def unsafe_folder(self, folder: str) -> Optional[str]:
        """Why no secret may lie in folder: the first component that is a link or that others could change."""
        done = ""
        for part in self._private_parts(folder):
            done += "/" + part
            found = self.entry(done)
            if found is None:
                return None
            unsafe = files.unsafe(found, self.shown(done))
            if unsafe:
                return unsafe
        return None

    def _private_parts(self, folder: str) -> List[str]:
        """The components of folder. The way to the home is the site's own and may hold links; below none may."""
        inside = folder == self.home or folder.startswith(self.home + "/")
        path = (self.resolve(self.home) or self.home) + folder[len(self.home) :] if inside else folder
        return path.strip("/").split("/")

    # -- changes -------------------------------------------------------------------------------

    def make_folder(self, path: str, mode: int, fill: Callable[[str], None] = lambda _folder: None) -> None:
        """Make one folder, with its mode and what fill puts into it from the first moment; that above it is there."""
        try:
            files.make_folder(self.real(path), mode, lambda: fill(files.draft_of(path)))
        except OSError as error:
            raise explained(error, "making the folder " + self.shown(path)) from None
        self.made.append(path)

    def take_apart(self, path: str, empty: Callable[[str], None]) -> None:
        """Remove one folder with what empty takes out of it, all at once; with anything else in it, it stays."""
        try:
            files.take_apart(self.real(path), lambda: empty(files.draft_of(path)))
        except OSError as error:
            raise explained(error, "removing the folder " + self.shown(path)) from None

    def make_folders(self, path: str, mode: int) -> None:
        """Make path and every missing folder above it."""
        problem = self.in_the_way(path)
        if problem:
            raise AccountError(problem)
        if self.kind_behind(path) == "nothing":
            self.make_folders(os.path.dirname(path), mode)
            self.make_folder(path, mode)

    def make_link(self, path: str, target: str) -> None:
        """Make or replace a symbolic link, in one step."""
        name, draft = os.path.basename(path), files.DRAFT % os.path.basename(path)
        folder = self._open_folder(os.path.dirname(path))
        try:
            files.unlink_at(folder, draft)
            os.symlink(self.real(target) if target.startswith("/") else target, draft, dir_fd=folder)
            if not (files.free(folder, name) or files.is_link(folder, name)):
                raise AccountError("%s is there meanwhile and is no link: it stays" % self.shown(path))
            os.rename(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
            files.flush(folder)
        except OSError as error:
            raise explained(error, "making the link " + self.shown(path)) from None
        finally:
            files.forget(folder, draft)
            os.close(folder)

    def remove(self, path: str) -> None:
        """Remove a file, a link or an empty folder."""
        found = self.look_at(path)
        try:
            (os.rmdir if found and found.kind == "folder" else os.unlink)(self.real(path))
            files.flush_folder(self.real(os.path.dirname(path)))
        except OSError as error:
            raise explained(error, "removing " + self.shown(path)) from None

    def remove_folder(self, path: str) -> None:
        """Remove a folder with all that it holds."""
        import shutil  # here, because few runs need it and every run would wait for it

        try:
            shutil.rmtree(self.real(path))
        except OSError as error:
            raise explained(error, "removing " + self.shown(path)) from None

    def start(self, detach: Callable[[], None], pretend: Callable[["Host"], None]) -> None:
        """Start work that takes minutes, in a process of its own; a sandbox pretends: nothing is downloaded there."""
        pretend(self) if self.root else detach()

    def set_mode(self, path: str, mode: int) -> None:
        """Set the permission bits of a folder or a plain file of mine; a link is never followed."""
        try:
            handle = os.open(self.real(path), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            try:
                os.fchmod(handle, mode)
            finally:
                os.close(handle)
        except OSError as error:
            raise explained(error, "setting the mode of " + self.shown(path)) from None

    def write(self, path: str, old: Optional[bytes], content: bytes, mode: int, private: bool = False) -> None:
        """Replace a file as a whole, durably, if it still holds old (None: if it is still not there).

        A private one lies in safe folders and has no access list.
        """
        name = os.path.basename(path)
        kept = {} if private or old is None else self._attributes(path)
        folder = self._open_private(os.path.dirname(path)) if private else self._open_folder(os.path.dirname(path))

        def unchanged(_draft: str) -> None:
            if files.read_at(folder, name) != old:
                raise AccountError("%s was changed by another program meanwhile: run again" % self.shown(path))

        try:
            files.replace(folder, name, content, mode, kept, unchanged)
        except files.NotKept:
            raise self._not_kept(path) from None
        except OSError as error:
            raise explained(error, "writing " + self.shown(path)) from None
        finally:
            os.close(folder)
        found = self.entry(path)  # by its path: the folder may have been changed for another one
        if found is None or found.kind != "file" or found.mode != mode:
            raise self._not_kept(path)

    def _not_kept(self, path: str) -> AccountError:
        return AccountError("%s is not what was just written: is another program writing it?" % self.shown(path))

    def _open_folder(self, folder: str) -> int:
        try:
            return os.open(self.real(folder) or "/", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise explained(error, "opening the folder " + self.shown(folder)) from None

    def _open_private(self, folder: str) -> int:
        """Open folder component by component, following no link and trusting none that others could change."""
        done = ""
        try:
            handle = os.open(self.root or "/", files.PASS)
            for part in self._private_parts(folder):
                done += "/" + part
                above, handle = handle, os.open(part, files.PASS, dir_fd=handle)
                os.close(above)
                unsafe = files.unsafe(files.entry(os.fstat(handle), ""), self.shown(done))
                if unsafe:
                    os.close(handle)
                    raise AccountError(unsafe)
            above, handle = handle, os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=handle)
            os.close(above)
        except OSError as error:
            raise explained(error, "opening the folder " + self.shown(done)) from None
        return handle

    def _attributes(self, path: str) -> Dict[str, bytes]:
        """The extended attributes of a file that is about to be replaced, access lists among them."""
        try:
            return files.attributes(self.real(path))
        except OSError as error:
            raise explained(error, "reading the attributes of " + self.shown(path)) from None
