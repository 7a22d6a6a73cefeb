# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The only interface to the file system of the account, or of a sandbox: a folder that simulates an account.

For dry runs, DryRunHost overrides the methods that change files. The receipt records what hpc-onboard has created.
"""

import errno
import os
import stat
from typing import Any, Callable, Dict, List, Mapping, Optional, Set

from . import files
from .account import Account, AccountPaths
from .errors import AccountError, as_account_error
from .files import FileEntry
from .open_folders import OpenFolders, OpenHandle, is_of_other_user, move_entry, remove_tree, why_path_unsafe

LOST_CHANGES = "hpc-onboard's changes to %s were lost: check whether another program is writing to the file"
OTHER_USER = "%s belongs to another user, who could replace its content: use another folder"
CREATED_SINCE = "another program has just created %s, which hpc-onboard does not replace: run hpc-onboard again"


class Host(AccountPaths):
    """Reads and changes the files of the account. Paths are absolute; mode: permission bits; root: see AccountPaths."""

    def __init__(self, account: Account, fingerprint_key: bytes, root: str = "") -> None:
        super().__init__(account, fingerprint_key, root)
        self.created_folders: List[str] = []  # for the resource that is being reconciled
        self.receipt_notes: Mapping[str, Any] = {}  # by key, one for each resource in the receipt, once it was read
        self.receipt_copy: Mapping[str, Any] = {}  # the user's machine's copy of these notes, used without a receipt
        self.removed_keys: Set[str] = set()  # note keys of secrets that were removed or restored
        self.is_following = False  # True if this run only polls the progress of jobs
        self._folders = OpenFolders(root, self.shown, self.resolve, self.real)

    def entry(self, path: str) -> Optional[FileEntry]:
        """Return the file, folder or link at a path, or None; a link is not followed."""
        return self.lstat(path)

    def lstat(self, path: str) -> Optional[FileEntry]:
        """Return the entry at a path without links in its folders, or None; entry() and resolve() call this method."""
        name = path.rpartition("/")[2]
        try:
            parent = self._folders.parent_handle(path)
            status = os.stat(name or ".", dir_fd=parent, follow_symlinks=False)  # "/" has no name
            if stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid():
                self._folders.remember(path, status)  # so that a change notices if the folder was replaced
            return files.to_entry(status, self._read_target(parent, name) if stat.S_ISLNK(status.st_mode) else "")
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ENOTDIR):
                return None
            raise as_account_error(error, "inspecting " + self.shown(path)) from None

    def _read_target(self, folder: int, name: str) -> str:
        """Return the target of a link, without the root of a sandbox."""
        target = os.readlink(name, dir_fd=folder)
        return target[len(self.root) :] if self.root and target.startswith(self.root + "/") else target

    def forget_observations(self) -> None:
        """Close all open folders and forget their identities, so that changed folders can be opened."""
        self._folders.forget()

    def read(self, path: str) -> bytes:
        """Return the content of a file of at most 4 MiB. Raise AccountError for a link, a pipe or a device."""
        try:
            with os.fdopen(self._open_file(path), "rb") as stream:
                if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                    raise AccountError("%s is not a regular file" % self.shown(path))
                content = stream.read(files.LARGEST + 1)
        except OSError as error:
            raise as_account_error(error, "reading " + self.shown(path)) from None
        if len(content) > files.LARGEST:
            raise AccountError("%s is larger than 4 MiB, so it cannot be the expected file" % self.shown(path))
        return content

    def _open_file(self, path: str) -> int:
        """Open a file for reading through its open parent folder, and return the handle."""
        return files.open_for_reading(os.path.basename(path), files.READ, self._folders.handle(os.path.dirname(path)))

    def names(self, folder: str) -> List[str]:
        """Return the sorted names in a folder; an empty list if the path is not a folder."""
        try:
            if self.resolved_kind(folder) != "folder":
                return []
            with OpenHandle(files.open_folder(self._folders.handle(folder)), "listing " + self.shown(folder)) as handle:
                return sorted(os.listdir(handle))
        except OSError as error:
            raise as_account_error(error, "listing " + self.shown(folder)) from None

    def has_acl(self, path: str) -> bool:
        """Return True if the file has an access list (ACL)."""
        try:
            return files.ACL in files.list_attributes(self.path_via_handle(path))
        except OSError as error:
            raise as_account_error(error, "reading the access list of %s" % self.shown(path)) from None

    def path_via_handle(self, path: str) -> str:
        """Return a path via the open parent folder, for calls that accept no handle; without /proc, the real path."""
        folder, name = os.path.split(path)
        handle = self._folders.handle(folder)
        return "/proc/self/fd/%d/%s" % (handle, name) if os.path.isdir("/proc/self/fd") else self.real(path)

    def resolve(self, path: str) -> Optional[str]:
        """Return the path with links resolved; None for a loop. Links of other users, who may change them, stay."""
        resolved = self.nearest_open_folder(path)  # has no link above it
        pending = path[len(resolved) :].strip("/").split("/")
        for _step in range(200):  # with more components and links than this, the path has a loop
            if not pending:
                return resolved or "/"
            part = pending.pop(0)
            if part == "..":
                resolved = os.path.dirname(resolved).rstrip("/")
            elif part not in ("", "."):
                found = self.lstat(resolved + "/" + part)
                if found and found.kind == "link" and not found.is_foreign:
                    resolved = "" if found.target.startswith("/") else resolved
                    pending = found.target.strip("/").split("/") + pending
                else:
                    resolved += "/" + part
        return None

    def nearest_open_folder(self, path: str) -> str:
        """Return the nearest folder above a path that is open and was reached without a link, or ""."""
        return self._folders.nearest_without_links(path)

    def resolved_entry(self, path: str) -> Optional[FileEntry]:
        """Return the entry at a path after links are resolved, or None."""
        real = self.resolve(path)
        return self.entry(real) if real else None

    def resolved_kind(self, path: str) -> str:
        """Return the kind of the entry at a path after links are resolved, or "nothing"."""
        found = self.resolved_entry(path)
        return found.kind if found else "nothing"

    def why_blocked(self, folder: str) -> Optional[str]:
        """Return why a folder cannot be created: an entry at its path or above is not a folder. Else return None."""
        while self.resolved_kind(folder) == "nothing":
            # asked again, because another program may have created the target since
            if self.entry(folder) and self.resolved_kind(folder) == "nothing":
                return "%s is a broken link: fix or remove the link, then run hpc-onboard again" % self.shown(folder)
            folder = os.path.dirname(folder)
        kind = self.resolved_kind(folder)
        text = "%s is not a folder, but must be one: rename or move it, then run hpc-onboard again"
        if kind == "link":  # resolve() does not follow a link of another user
            text = (
                "%s is a link that another user owns and could change: in accounts.yml, set the link's target instead"
            )
        return None if kind == "folder" else text % self.shown(folder)

    def why_unsafe_folder(self, folder: str) -> Optional[str]:
        """Return why no secret may be stored in a folder: a component is a link, or others can change it; else None."""
        path = folder
        if folder == self.home or folder.startswith(self.home + "/"):  # links of the site above the home are allowed
            path = (self.resolve(self.home) or self.home) + folder[len(self.home) :]
        return why_path_unsafe(path.strip("/").split("/"), self.entry, self.shown)

    def make_folder(
        self, path: str, mode: int, fill: Optional[Callable[[str], None]] = None, area: Optional[str] = None
    ) -> None:
        """Create one folder in an existing one, with its mode and with the files that fill writes, in one step.

        fill: called with the path of the folder's draft. area: a folder that, like those above it, any user may own.
        """
        with self.open_parent(path, "creating the folder ", area) as folder:
            if fill:
                draft = files.draft_path(path)
                files.make_filled_folder(folder, os.path.basename(path), mode, lambda: fill(draft))
                self.forget_observations()
            else:
                self._folders.remember(path, files.make_folder(folder, os.path.basename(path), mode))
        self.created_folders.append(path)

    def empty_and_remove(self, path: str, empty: Callable[[str], None]) -> None:
        """Remove a folder in one step, if empty(draft) removes all of its content. Otherwise the folder stays."""
        with self.open_parent(path, "removing the folder ") as folder:
            files.empty_and_remove(folder, os.path.basename(path), lambda: empty(files.draft_path(path)))
        self.forget_observations()

    def make_folders(self, path: str, mode: int, area: Optional[str] = None) -> None:
        """Create a folder and every missing folder above it. area: see make_folder."""
        problem = self.why_blocked(path)
        if problem:
            raise AccountError(problem)
        if self.resolved_kind(path) == "nothing":
            self.make_folders(os.path.dirname(path), mode, area)
            self.make_folder(path, mode, area=area)

    def make_link(self, path: str, target: str) -> None:
        """Create or replace a symbolic link, in one step."""
        name, draft = os.path.basename(path), files.DRAFT % os.path.basename(path)
        with self.open_parent(path, "creating the link ") as folder:
            try:
                files.unlink_if_present(folder, draft)
                real_target = self.real(target) if target.startswith("/") else target  # of a sandbox: below its root
                os.symlink(real_target, draft, dir_fd=folder)
                if not (files.is_free(folder, name) or files.is_link(folder, name)):
                    raise AccountError(CREATED_SINCE % self.shown(path))
                os.rename(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
                files.flush(folder)
            finally:
                files.discard_draft(folder, draft)

    def move(self, path: str, new_path: str) -> None:
        """Move a file, a link or a folder to a free path on the same file system, in one step."""
        doing = "moving %s to " % self.shown(path)
        with self.open_parent(path, "moving ") as source, self.open_parent(new_path, doing) as target:
            if not move_entry(source, os.path.basename(path), target, os.path.basename(new_path)):
                raise AccountError(CREATED_SINCE % self.shown(new_path))
        self.forget_observations()

    def remove(self, path: str) -> None:
        """Remove a file, a link or an empty folder."""
        found = self.lstat(path)
        is_folder = found is not None and found.kind == "folder" and found.mine
        area = os.path.dirname(path) if is_folder else None  # a folder of the account may be in a shared area
        with self.open_parent(path, "removing ", area) as folder:
            (os.rmdir if is_folder else os.unlink)(os.path.basename(path), dir_fd=folder)
            files.flush(folder)
        self.forget_observations()

    def remove_folder(self, path: str) -> None:
        """Remove a folder with its content."""
        with self.open_parent(path, "removing ") as above:
            remove_tree(above, os.path.basename(path))
        self.forget_observations()

    def start_job(self, path: str, detach: Callable[[int], None], pretend: Callable[["Host"], None]) -> None:
        """Start a job. path: the job's folder. Raise AccountError if others can change the folder above it.

        detach: starts the process; called with the handle of the folder above. pretend: simulates the job in a sandbox.
        """
        if self.root:
            pretend(self)
            return
        with self.open_parent(path, "starting a job in ") as folder:
            unsafe = files.why_unsafe(files.to_entry(os.fstat(folder), target=""), self.shown(os.path.dirname(path)))
            if unsafe:
                raise AccountError(unsafe)
            detach(folder)

    def set_mode(self, path: str, mode: int) -> None:
        """Set the permission bits of a folder or a regular file; a link is not followed."""
        try:
            with OpenHandle(self._open_file(path), "setting the mode of %s" % self.shown(path)) as handle:
                os.fchmod(handle, mode)
        except OSError as error:
            raise as_account_error(error, "setting the mode of %s" % self.shown(path)) from None

    def write(self, path: str, old: Optional[bytes], content: bytes, mode: int, private: bool = False) -> None:
        """Create or replace a file completely and durably. Raise AccountError if another program has changed the file.

        old: the content that the file must still have; None if no file may exist. private: raise AccountError if others
        can change the folder, and remove access lists.
        """
        attributes = {} if private or old is None else self._read_attributes(path)

        def check_unchanged(_draft: str) -> None:
            """Raise AccountError if the file was changed. Called by files.replace, while folder (below) is open."""
            if files.read_file_at(folder, os.path.basename(path)) != old:
                raise AccountError("%s was changed by another program; run hpc-onboard again" % self.shown(path))

        unsafe = self.why_unsafe_folder(os.path.dirname(path)) if private else None
        if unsafe:
            raise AccountError(unsafe)
        with self.open_parent(path, "writing ") as folder:
            try:
                files.replace(folder, os.path.basename(path), content, mode, attributes, check_unchanged)
            except files.NotKept:
                raise AccountError(LOST_CHANGES % self.shown(path)) from None
        self.forget_observations()  # the folder may have been replaced
        found = self.entry(path)
        if not (found and found.kind == "file" and found.mode == mode and found.mine):
            raise AccountError(LOST_CHANGES % self.shown(path))

    def open_parent(self, path: str, doing: str, area: Optional[str] = None) -> OpenHandle:
        """Open the folder above a path to change its content. Raise AccountError if another user owns the folder.

        doing: the start of a message, such as "writing ". area: a folder that, like those above it, any user may own.
        """
        folder = os.path.dirname(path)
        try:
            opened = OpenHandle(files.open_folder(self._folders.handle(folder)), doing + self.shown(path))
            entry = files.to_entry(os.fstat(opened.handle), target="")
        except OSError as error:
            raise as_account_error(error, "opening the folder " + self.shown(folder)) from None
        if is_of_other_user(entry, folder, area):
            opened.close()
            raise AccountError(OTHER_USER % self.shown(folder))
        return opened

    def _read_attributes(self, path: str) -> Dict[str, bytes]:
        """Return the extended attributes that a replacement of the file must keep, including access lists."""
        try:
            return files.read_attributes(self.path_via_handle(path))
        except OSError as error:
            raise as_account_error(error, "reading the attributes of %s" % self.shown(path)) from None
