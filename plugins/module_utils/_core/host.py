# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The one interface to the operating system of the account.

Reads and questions are here; what changes the account is in the methods of the last part, and a
dry run is another Host (dry_run.py) that keeps those changes to itself. Nothing else asks which it is.
Files are written as a draft beside the target, made with its final mode, flushed, renamed, and read back.
"""

import errno
import os
import stat
from typing import Any, Callable, Dict, List, Mapping, Optional, Set

from . import files
from .account import Account, AccountPaths
from .errors import AccountError, as_account_error
from .files import FileEntry
from .open_folders import OpenFolders, OpenHandle, remove_tree


class Host(AccountPaths):
    """The account's files."""

    def __init__(self, account: Account, fingerprint_key: bytes, root: str = "") -> None:
        super().__init__(account, fingerprint_key, root)
        self.created_folders: List[str] = []  # the folders that were made
        self.receipt_notes: Mapping[str, Any] = {}  # what the receipt says of each thing, once it was looked at
        self.receipt_copy: Mapping[str, Any] = {}  # what the sender's copy says, which counts where there is no receipt
        self.removed_keys: Set[str] = set()  # removed or put back, by the keys of their notes
        self.is_following = False  # whether one only looks again at what is under way, and does so often
        self._way = OpenFolders(root, self.shown, self.resolve, self.real)

    # -- questions -----------------------------------------------------------------------------

    def entry(self, path: str) -> Optional[FileEntry]:
        """What lies at path, or None; a link is not followed."""
        return self.lstat(path)

    def lstat(self, path: str) -> Optional[FileEntry]:
        """What lies at a path with no link on its way: entry() and resolve() are made of such looks."""
        name = os.path.basename(path)
        try:
            above = self._way.folder_of(path)
            found = os.stat(name or ".", dir_fd=above, follow_symlinks=False)
            if stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid():
                self._way.saw(path, found)
            return files.to_entry(found, self._target(above, name) if stat.S_ISLNK(found.st_mode) else "")
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ENOTDIR):
                return None
            raise as_account_error(error, "looking at " + self.shown(path)) from None

    def _target(self, folder: int, name: str) -> str:
        target = os.readlink(name, dir_fd=folder)
        return target[len(self.root) :] if self.root and target.startswith(self.root + "/") else target

    def forget_observations(self) -> None:
        """Let go of what was looked at: what is looked at next may have become another thing by then."""
        self._way.forget()

    def read(self, path: str) -> bytes:
        """The content of a file of at most 4 MiB; a link, a pipe or a device is not opened."""
        try:
            with os.fdopen(self._opened(path), "rb") as stream:
                if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                    raise AccountError("%s is not a plain file" % self.shown(path))
                content = stream.read(files.LARGEST + 1)
        except OSError as error:
            raise as_account_error(error, "reading " + self.shown(path)) from None
        if len(content) > files.LARGEST:
            raise AccountError("%s is larger than 4 MiB: that is not such a file" % self.shown(path))
        return content

    def _opened(self, path: str) -> int:
        folder, name = os.path.split(path)
        return files.open_for_reading(name, files.READ, self._way.folder(folder))

    def names(self, folder: str) -> List[str]:
        """The names in a folder; none where there is no folder."""
        try:
            if self.resolved_kind(folder) != "folder":
                return []
            with OpenHandle(files.open_folder(self._way.folder(folder)), "listing " + self.shown(folder)) as handle:
                return sorted(os.listdir(handle))
        except OSError as error:
            raise as_account_error(error, "listing " + self.shown(folder)) from None

    def has_acl(self, path: str) -> bool:
        """Whether an access list beyond the mode stands on the file."""
        try:
            return files.ACL in files.list_attributes(self.path_via_handle(path))
        except OSError as error:
            raise as_account_error(error, "looking for an access list on " + self.shown(path)) from None

    def path_via_handle(self, path: str) -> str:
        """A path through the open folder, for calls that take none; the plain one without /proc (on macOS, say)."""
        folder, name = os.path.split(path)
        handle = self._way.folder(folder)
        return "/proc/self/fd/%d/%s" % (handle, name) if os.path.isdir("/proc/self/fd") else self.real(path)

    def resolve(self, path: str) -> Optional[str]:
        """The path with every link followed but those of others, who could turn them; or None for a loop."""
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
            found = self.lstat(done + "/" + part)
            if found is None or found.kind != "link" or found.is_foreign:
                done += "/" + part
                continue
            if found.target.startswith("/"):
                done = ""
            pending = found.target.strip("/").split("/") + pending
        return None

    def resolved_entry(self, path: str) -> Optional[FileEntry]:
        """What lies there when links are followed."""
        real = self.resolve(path)
        return self.entry(real) if real else None

    def resolved_kind(self, path: str) -> str:
        """What is there when links are followed: folder, file, other or nothing."""
        return getattr(self.resolved_entry(path), "kind", "nothing")

    def why_blocked(self, folder: str) -> Optional[str]:
        """Why folder is not there and cannot be made: what lies where it, or a folder above it, belongs."""
        while self.resolved_kind(folder) == "nothing":
            if self.entry(folder) and self.resolved_kind(folder) == "nothing":  # else another run makes it just now
                return "%s is a link to nothing: fix or remove it, then run again" % self.shown(folder)
            folder = os.path.dirname(folder)
        kind = self.resolved_kind(folder)
        link = "%s is a link of somebody else, who could turn it: name the folder that it leads to, then run again"
        other = "%s is in the way of a folder: move it away, then run again"
        return None if kind == "folder" else (link if kind == "link" else other) % self.shown(folder)

    def unsafe_folder(self, folder: str) -> Optional[str]:
        """Why no secret may lie in folder: the first component that is a link or that others could change."""
        done = ""
        for part in self._private_parts(folder):
            done += "/" + part
            found = self.entry(done)
            if found is None:
                return None
            unsafe = files.why_unsafe(found, self.shown(done))
            if unsafe:
                return unsafe
        return None

    def _private_parts(self, folder: str) -> List[str]:
        """The components of folder. The way to the home is the site's own and may hold links; below none may."""
        inside = folder == self.home or folder.startswith(self.home + "/")
        path = (self.resolve(self.home) or self.home) + folder[len(self.home) :] if inside else folder
        return path.strip("/").split("/")

    # -- changes -------------------------------------------------------------------------------

    def make_folder(
        self, path: str, mode: int, fill: Optional[Callable[[str], None]] = None, area: Optional[str] = None
    ) -> None:
        """Make one folder, with its mode and what fill puts into it from the first moment; that above it is there.

        area: a folder of the site's, in which others make theirs; any other one must be the account's own or root's.
        """
        with self.open_parent(path, "making the folder ", area) as folder:
            if fill:
                put, draft = fill, files.draft_path(path)
                files.make_filled(folder, os.path.basename(path), mode, lambda: put(draft))
                self.forget_observations()
            else:
                self._way.saw(path, files.make_folder(folder, os.path.basename(path), mode))
        self.created_folders.append(path)

    def empty_and_remove(self, path: str, empty: Callable[[str], None]) -> None:
        """Remove one folder with what empty takes out of it, all at once; with anything else in it, it stays."""
        with self.open_parent(path, "removing the folder ") as folder:
            files.empty_and_remove(folder, os.path.basename(path), lambda: empty(files.draft_path(path)))
        self.forget_observations()

    def make_folders(self, path: str, mode: int, area: Optional[str] = None) -> None:
        """Make path and every missing folder above it."""
        problem = self.why_blocked(path)
        if problem:
            raise AccountError(problem)
        if self.resolved_kind(path) == "nothing":
            self.make_folders(os.path.dirname(path), mode, area)
            self.make_folder(path, mode, None, area)

    def make_link(self, path: str, target: str) -> None:
        """Make or replace a symbolic link, in one step."""
        name, draft = os.path.basename(path), files.DRAFT % os.path.basename(path)
        with self.open_parent(path, "making the link ") as folder:
            try:
                files.unlink_if_present(folder, draft)
                os.symlink(self.real(target) if target.startswith("/") else target, draft, dir_fd=folder)
                if not (files.is_free(folder, name) or files.is_link(folder, name)):
                    raise AccountError("%s is there meanwhile and is no link: it stays" % self.shown(path))
                os.rename(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
                files.flush(folder)
            finally:
                files.discard_draft(folder, draft)

    def remove(self, path: str) -> None:
        """Remove a file, a link or an empty folder."""
        found, above = self.lstat(path), os.path.dirname(path)
        is_folder = found is not None and found.kind == "folder" and found.mine
        with self.open_parent(path, "removing ", above if is_folder else None) as folder:
            (os.rmdir if is_folder else os.unlink)(os.path.basename(path), dir_fd=folder)
            files.flush(folder)
        self.forget_observations()

    def remove_folder(self, path: str) -> None:
        """Remove a folder with all that it holds."""
        with self.open_parent(path, "removing ") as above:
            remove_tree(above, os.path.basename(path))
        self.forget_observations()

    def start(self, path: str, detach: Callable[[int], None], pretend: Callable[["Host"], None]) -> None:
        """Start work that takes minutes beside path, in a process of its own that is given the open folder above it.

        In that one nobody else may have a hand. A sandbox pretends: nothing is downloaded there.
        """
        if self.root:
            pretend(self)
            return
        with self.open_parent(path, "starting the work beside ") as folder:
            unsafe = files.why_unsafe(files.to_entry(os.fstat(folder), ""), self.shown(os.path.dirname(path)))
            if unsafe:
                raise AccountError(unsafe)
            detach(folder)

    def set_mode(self, path: str, mode: int) -> None:
        """Set the permission bits of a folder or a plain file of mine; a link is never followed."""
        try:
            with OpenHandle(self._opened(path), "setting the mode of " + self.shown(path)) as handle:
                os.fchmod(handle, mode)
        except OSError as error:
            raise as_account_error(error, "setting the mode of " + self.shown(path)) from None

    def write(self, path: str, old: Optional[bytes], content: bytes, mode: int, private: bool = False) -> None:
        """Replace a file as a whole, durably, if it still holds old (None: if it is still not there).

        A private one lies in safe folders and has no access list.
        """
        name, kept = os.path.basename(path), {} if private or old is None else self._attributes(path)

        def unchanged(_draft: str) -> None:
            if files.read_file_at(folder, name) != old:
                raise AccountError("%s was changed by another program meanwhile: run again" % self.shown(path))

        unsafe = self.unsafe_folder(os.path.dirname(path)) if private else None
        if unsafe:
            raise AccountError(unsafe)
        with self.open_parent(path, "writing ") as folder:
            try:
                files.replace(folder, name, content, mode, kept, unchanged)
            except files.NotKept:
                raise self._not_kept(path) from None
        self.forget_observations()  # the folder may have been changed for another one
        found = self.entry(path)
        if not (found and found.kind == "file" and found.mode == mode and found.mine):
            raise self._not_kept(path)

    def _not_kept(self, path: str) -> AccountError:
        return AccountError("%s is not what was just written: is another program writing it?" % self.shown(path))

    def open_parent(self, path: str, doing: str, area: Optional[str] = None) -> OpenHandle:
        """The folder above a path, opened to change something in it: where somebody else has a hand in it, he could
        lay anything there. area is one of the site's own, in which many work.
        """
        folder = os.path.dirname(path)
        try:
            opened = OpenHandle(files.open_folder(self._way.folder(folder)), doing + self.shown(path))
            is_foreign = files.to_entry(os.fstat(opened.handle), "").is_foreign
        except OSError as error:
            raise as_account_error(error, "opening the folder " + self.shown(folder)) from None
        if is_foreign and not _leads_to(folder, area):
            opened.close()
            raise AccountError("%s belongs to somebody else, who could put anything there" % self.shown(folder))
        return opened

    def _attributes(self, path: str) -> Dict[str, bytes]:
        """The extended attributes of a file that is about to be replaced, access lists among them."""
        try:
            return files.read_attributes(self.path_via_handle(path))
        except OSError as error:
            raise as_account_error(error, "reading the attributes of " + self.shown(path)) from None


def _leads_to(folder: str, area: Optional[str]) -> bool:
    """Whether a folder is the area or lies above it."""
    return area is not None and (area + "/").startswith(folder.rstrip("/") + "/")
