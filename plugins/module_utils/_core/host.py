# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The only interface to the account's file system.

A dry run is another Host (dry_run.py) that overrides the methods which change something. No other code asks which it
is. Files are written as a draft next to the target that has its final mode, is flushed, renamed and read back.
"""

import errno
import os
import stat
from typing import Any, Callable, Dict, List, Mapping, Optional, Set

from . import files
from .account import Account, AccountPaths
from .errors import AccountError, as_account_error
from .files import FileEntry
from .open_folders import OpenFolders, OpenHandle, find_unsafe, move_entry, remove_tree


class Host(AccountPaths):
    """The account's files."""

    def __init__(self, account: Account, fingerprint_key: bytes, root: str = "") -> None:
        super().__init__(account, fingerprint_key, root)
        self.created_folders: List[str] = []  # since the last resource
        self.receipt_notes: Mapping[str, Any] = {}  # the notes of the receipt, once it was inspected
        self.receipt_copy: Mapping[str, Any] = {}  # the sender's copy, used without a receipt
        self.removed_keys: Set[str] = set()  # of notes about keys that were removed or restored
        self.is_following = False  # this run only polls the progress of work
        self._folders = OpenFolders(root, self.shown, self.resolve, self.real)

    # -- questions -----------------------------------------------------------------------------

    def entry(self, path: str) -> Optional[FileEntry]:
        """Return what is at a path, or None; a link is not followed."""
        return self.lstat(path)

    def lstat(self, path: str) -> Optional[FileEntry]:
        """Return what is at a path whose parent folders are no links; entry() and resolve() build on it."""
        name = os.path.basename(path)
        try:
            above = self._folders.folder_of(path)
            found = os.stat(name or ".", dir_fd=above, follow_symlinks=False)
            if stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid():
                self._folders.remember(path, found)
            return files.to_entry(found, self._target(above, name) if stat.S_ISLNK(found.st_mode) else "")
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ENOTDIR):
                return None
            raise as_account_error(error, "inspecting " + self.shown(path)) from None

    def _target(self, folder: int, name: str) -> str:
        """Return the target of a link; in a sandbox without the sandbox's root."""
        target = os.readlink(name, dir_fd=folder)
        return target[len(self.root) :] if self.root and target.startswith(self.root + "/") else target

    def forget_observations(self) -> None:
        """Close all open folders and forget their identities: what is inspected next may have changed."""
        self._folders.forget()

    def read(self, path: str) -> bytes:
        """Return the content of a file of at most 4 MiB. Links, pipes and devices are not opened."""
        try:
            with os.fdopen(self._open_file(path), "rb") as stream:
                if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                    raise AccountError("%s is not a regular file" % self.shown(path))
                content = stream.read(files.LARGEST + 1)
        except OSError as error:
            raise as_account_error(error, "reading " + self.shown(path)) from None
        if len(content) > files.LARGEST:
            raise AccountError("%s is larger than 4 MiB, so it is not the expected file" % self.shown(path))
        return content

    def _open_file(self, path: str) -> int:
        """Open a file for reading through its open parent folder, and return the handle."""
        folder, name = os.path.split(path)
        return files.open_for_reading(name, files.READ, self._folders.folder(folder))

    def names(self, folder: str) -> List[str]:
        """Return the sorted names in a folder; none if there is no folder."""
        try:
            if self.resolved_kind(folder) != "folder":
                return []
            with OpenHandle(files.open_folder(self._folders.folder(folder)), "listing " + self.shown(folder)) as handle:
                return sorted(os.listdir(handle))
        except OSError as error:
            raise as_account_error(error, "listing " + self.shown(folder)) from None

    def has_acl(self, path: str) -> bool:
        """Return True if the file has an access list (ACL)."""
        try:
            return files.ACL in files.list_attributes(self.path_via_handle(path))
        except OSError as error:
            raise as_account_error(error, "reading the access list of " + self.shown(path)) from None

    def path_via_handle(self, path: str) -> str:
        """Return a path via the open parent folder, for calls that take no handle; without /proc, the real path."""
        folder, name = os.path.split(path)
        handle = self._folders.folder(folder)
        return "/proc/self/fd/%d/%s" % (handle, name) if os.path.isdir("/proc/self/fd") else self.real(path)

    def resolve(self, path: str) -> Optional[str]:
        """Return the path with links resolved, except those of other users, who could change them; None for a loop."""
        done = self.open_above(path)
        pending = path[len(done) :].strip("/").split("/")
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
            done = "" if found.target.startswith("/") else done
            pending = found.target.strip("/").split("/") + pending
        return None

    def open_above(self, path: str) -> str:
        """Return the open folder next above a path, if it has no other path; "" if none is."""
        return self._folders.without_links(path)

    def resolved_entry(self, path: str) -> Optional[FileEntry]:
        """Return what is at a path after links are resolved."""
        real = self.resolve(path)
        return self.entry(real) if real else None

    def resolved_kind(self, path: str) -> str:
        """Return the kind of what is at a path after links are resolved, or "nothing"."""
        return getattr(self.resolved_entry(path), "kind", "nothing")

    def why_blocked(self, folder: str) -> Optional[str]:
        """Return why a missing folder cannot be created, or None: something else is at its path or above it."""
        while self.resolved_kind(folder) == "nothing":
            if self.entry(folder) and self.resolved_kind(folder) == "nothing":  # else another run has just created it
                return "%s is a broken link: fix or remove the link, then run again" % self.shown(folder)
            folder = os.path.dirname(folder)
        kind = self.resolved_kind(folder)
        link = "%s is a link owned by another user, who could change it: set its target in accounts.yml, then run again"
        other = "%s is not a folder, but a folder is needed there: move it away, then run again"
        return None if kind == "folder" else (link if kind == "link" else other) % self.shown(folder)

    def unsafe_folder(self, folder: str) -> Optional[str]:
        """Return why no secret may be stored in a folder: a component is a link or can be changed by others."""
        return find_unsafe(self._private_parts(folder), self.entry, self.shown)

    def _private_parts(self, folder: str) -> List[str]:
        """Return the components of a folder. The site may use links above the home, so these are resolved."""
        inside = folder == self.home or folder.startswith(self.home + "/")
        path = (self.resolve(self.home) or self.home) + folder[len(self.home) :] if inside else folder
        return path.strip("/").split("/")

    # -- changes -------------------------------------------------------------------------------

    def make_folder(
        self, path: str, mode: int, fill: Optional[Callable[[str], None]] = None, area: Optional[str] = None
    ) -> None:
        """Create one folder in an existing one, with its mode and with what fill writes, in one step.

        area: a shared folder of the site; any other parent must belong to the account or root.
        """
        with self.open_parent(path, "creating the folder ", area) as folder:
            if fill:
                put, draft = fill, files.draft_path(path)
                files.make_filled(folder, os.path.basename(path), mode, lambda: put(draft))
                self.forget_observations()
            else:
                self._folders.remember(path, files.make_folder(folder, os.path.basename(path), mode))
        self.created_folders.append(path)

    def empty_and_remove(self, path: str, empty: Callable[[str], None]) -> None:
        """Remove a folder and what empty removes from it, in one step. With anything else in it, it stays."""
        with self.open_parent(path, "removing the folder ") as folder:
            files.empty_and_remove(folder, os.path.basename(path), lambda: empty(files.draft_path(path)))
        self.forget_observations()

    def make_folders(self, path: str, mode: int, area: Optional[str] = None) -> None:
        """Create a folder and every missing one above it."""
        problem = self.why_blocked(path)
        if problem:
            raise AccountError(problem)
        if self.resolved_kind(path) == "nothing":
            self.make_folders(os.path.dirname(path), mode, area)
            self.make_folder(path, mode, None, area)

    def make_link(self, path: str, target: str) -> None:
        """Create or replace a symbolic link, in one step."""
        name, draft = os.path.basename(path), files.DRAFT % os.path.basename(path)
        with self.open_parent(path, "creating the link ") as folder:
            try:
                files.unlink_if_present(folder, draft)
                os.symlink(self.real(target) if target.startswith("/") else target, draft, dir_fd=folder)
                if not (files.is_free(folder, name) or files.is_link(folder, name)):
                    raise AccountError("%s was created by another program, and not as a link" % self.shown(path))
                os.rename(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
                files.flush(folder)
            finally:
                files.discard_draft(folder, draft)

    def move(self, path: str, to: str) -> None:
        """Move a file, a link or a folder to a free path on the same file system, in one step."""
        with self.open_parent(path, "moving ") as above, self.open_parent(
            to, "moving %s to " % self.shown(path)
        ) as folder:
            if not move_entry(above, os.path.basename(path), folder, os.path.basename(to)):
                raise AccountError("%s was created by another program and was not replaced: run again" % self.shown(to))
        self.forget_observations()

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
        """Start work of minutes next to a path. detach: starts its process, and gets the open parent folder.

        pretend: called instead in a sandbox. Raise AccountError if others can change the folder.
        """
        if self.root:
            pretend(self)
            return
        with self.open_parent(path, "starting the job in ") as folder:
            unsafe = files.why_unsafe(files.to_entry(os.fstat(folder), ""), self.shown(os.path.dirname(path)))
            if unsafe:
                raise AccountError(unsafe)
            detach(folder)

    def set_mode(self, path: str, mode: int) -> None:
        """Set the permission bits of a folder or a regular file; a link is not followed."""
        try:
            with OpenHandle(self._open_file(path), "setting the mode of " + self.shown(path)) as handle:
                os.fchmod(handle, mode)
        except OSError as error:
            raise as_account_error(error, "setting the mode of " + self.shown(path)) from None

    def write(self, path: str, old: Optional[bytes], content: bytes, mode: int, private: bool = False) -> None:
        """Replace a file as a whole, durably, if its content is still old (None: if it is still missing).

        private: refuse folders that others can change, and drop access lists.
        """
        name, kept = os.path.basename(path), {} if private or old is None else self._attributes(path)

        def unchanged(_draft: str) -> None:
            if files.read_file_at(folder, name) != old:
                raise AccountError("%s was changed by another program; run again" % self.shown(path))

        unsafe = self.unsafe_folder(os.path.dirname(path)) if private else None
        if unsafe:
            raise AccountError(unsafe)
        with self.open_parent(path, "writing ") as folder:
            try:
                files.replace(folder, name, content, mode, kept, unchanged)
            except files.NotKept:
                raise self._lost_write_error(path) from None
        self.forget_observations()  # the folder may have been replaced
        found = self.entry(path)
        if not (found and found.kind == "file" and found.mode == mode and found.mine):
            raise self._lost_write_error(path)

    def _lost_write_error(self, path: str) -> AccountError:
        text = "%s does not have the content just written: is another program writing to it?"
        return AccountError(text % self.shown(path))

    def open_parent(self, path: str, doing: str, area: Optional[str] = None) -> OpenHandle:
        """Open the folder above a path to change something in it. Raise AccountError if another user owns it.

        area: a shared folder of the site that may belong to another user.
        """
        folder = os.path.dirname(path)
        try:
            opened = OpenHandle(files.open_folder(self._folders.folder(folder)), doing + self.shown(path))
            is_foreign = files.to_entry(os.fstat(opened.handle), "").is_foreign
        except OSError as error:
            raise as_account_error(error, "opening the folder " + self.shown(folder)) from None
        if is_foreign and not (area and (area + "/").startswith(folder.rstrip("/") + "/")):
            opened.close()
            raise AccountError("%s belongs to another user, who could replace its content" % self.shown(folder))
        return opened

    def _attributes(self, path: str) -> Dict[str, bytes]:
        """Return the extended attributes, including access lists, of a file that is about to be replaced."""
        try:
            return files.read_attributes(self.path_via_handle(path))
        except OSError as error:
            raise as_account_error(error, "reading the attributes of " + self.shown(path)) from None
