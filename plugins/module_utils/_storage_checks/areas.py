# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The check for broken links, links to purged storage, purged folders, and files that will be purged soon.

An area is a storage folder of the account. In a purged area, the site deletes files that are not used for some days.
Roles are the Ansible roles of hpc-onboard, which create links and folders of their own.
"""

import os
import re
import stat
from typing import Any, Dict, Iterator, List, Optional

from .._audit_checks.audit_check import (
    OWN_MODE,
    OWN_TARGET,
    AuditCheck,
    is_in,
    is_node_local,
    real_home,
    resolve_readable,
)
from .._core.errors import AccountError
from .._core.host import Host
from .._fixes import offers
from .._scan.filled_folders import folders_to_enter, is_filled
from .._scan.walk import FolderListing, Limits, Walk, WalkedEntry, format_walked
from .purged_files import DAYS_AHEAD, FilesDue, TreeCounts

LINK_LIMITS = Limits(entries=6000, seconds=3.0, depth=4)  # of the search for links in the home directory
HIDDEN_FOLDERS = (".config", ".local")  # hidden folders of the home directory whose links are checked as well
SHALLOW_FOLDERS = (  # hidden folders of the home directory, of which only the links in the folder itself are checked
    *(".cache", ".ssh", ".conda", ".vim", ".emacs.d", ".jupyter", ".ipython", ".julia", ".apptainer", ".singularity"),
    *(".enroot", ".nv", ".triton", ".keras", ".ollama", ".vscode-server", ".cursor-server", ".cargo", ".rustup"),
    *(".npm", ".spack", ".nextflow", ".docker", ".mamba"),
)
MOST = 200  # names of one such folder
SKIPPED = ("Trash",)  # folders whose links do not matter
AREA_LIMITS = Limits(entries=20000, seconds=8.0)  # of the walk through one purged area
LASTING_NAMES = re.compile(
    r"^\.?(?:(?:mini|ana)?conda\d?|(?:mini|mamba)forge\d?|(?:micro)?mamba|(?:virtual|v)?envs?"
    r"|data(?:sets?)?|models?|software|apps|local|results?|projects?|work|store|home|thesis|dissertation|phd|papers?"
    r"|weights|experiments?|corp(?:us|ora)|publications?|manuscripts?|references?|genomes?|permanent|keep|library"
    r"|libraries|pipelines?|raw|pretrained|databases?|teaching|lectures?|slides|photos|proposals?|theses|scripts?"
    r"|code|src|repos?|git|doc(?:ument)?s|backups?|archives?|notes|figures|notebooks|checkpoints?)\Z"
)
"""Names of links, or words in these names, that mean data that users expect to keep."""
TEMPORARY_WORDS = re.compile(r"scratch|te?mp|cache|fast|purge|trash|old|test")
"""Words in the names of data that users do not expect to keep."""
LOCK_TARGET = re.compile(r"^[^/]*(?::\+\d+|@[^/]+\.\d+(?::\d+)?)\Z")
"""Targets of lock links: '127.0.0.1:+4242' of Mozilla's programs, 'ada@host.4242:17' of Emacs."""


class Areas(AuditCheck):
    """The links in the home directory, and the account's areas on storage that is purged."""

    KIND = "areas"
    TITLE = "links and purged storage"
    PATH_OPTIONS = ("purged", "own", "made", "written")
    OPTIONS: Dict[str, Dict[str, Any]] = {
        # Areas whose site deletes files after some days. Each entry has the keys name, path, days and clock (the file's
        # time that the site compares, see last_use). In the next three options, path is the only key.
        "purged": {"type": "list", "elements": "dict", "default": []},
        # links of roles, which the roles check
        "own": {"type": "list", "elements": "dict", "default": []},
        # folders that roles create
        "made": {"type": "list", "elements": "dict", "default": []},
        # folders to which the account must be able to write
        "written": {"type": "list", "elements": "dict", "default": []},
        # names of links, in addition to LASTING_NAMES
        "kept": {"type": "list", "elements": "str", "default": []},
    }

    def run(self, host: Host) -> None:
        """Check the links, then the purged areas, then the folders to which the account must be able to write."""
        for path in self._find_links(host):
            try:
                self._check_link(path, host)
            except AccountError as error:
                self.skip(str(error))
        for area in self.entries("purged"):
            self._check_area(area, host)
        self._check_written(host)

    def _check_written(self, host: Host) -> None:
        """Report the folders of the option written to which the account cannot write, without folders below them."""
        closed: List[str] = []
        for entry in sorted(self.entries("written"), key=lambda folder: str(folder["path"])):
            path = entry["path"]
            try:
                real = host.resolve(path)
                if not real or host.resolved_kind(real) != "folder":
                    continue  # other checks report a missing folder
                if os.access(host.real(real), os.W_OK | os.X_OK):
                    continue
            except AccountError as error:
                self.skip(str(error))
                continue
            if not any(is_in(path, reported) for reported in closed):
                closed.append(path)
                self._report_closed_folder(path, real, host)

    def _report_closed_folder(self, path: str, real: str, host: Host) -> None:
        """Report why the account cannot write to a folder. real: the folder's path without symbolic links."""
        if os.statvfs(host.real(real)).f_flag & os.ST_RDONLY:
            self.report("DIR-003", host.shown(path), "the file system of this folder is read-only")
            return
        entry, parent = host.entry(real), host.entry(os.path.dirname(real))
        # A site closes a whole area. If the parent folder belongs to the user, the user has changed the mode.
        is_in_own_folder = path == host.home or bool(parent and parent.mine)
        is_closed_by_user = bool(entry and entry.mine and is_in_own_folder)
        text = "you have no write permission for this folder, which belongs to another user (mode %s)"
        if entry and entry.mine:
            text = "you have no write permission for this folder (mode %s)"
        mode = "%04o" % entry.mode if entry else "unknown"
        self.report("DIR-003", host.shown(path), text % mode, case=OWN_MODE if is_closed_by_user else "")

    # -- links ---------------------------------------------------------------------------------

    def _find_links(self, host: Host) -> Iterator[str]:
        """Yield the links in the home directory and its upper folders, except those of roles and locks of editors.

        A relative link that stays in the same folder of the home directory is yielded only if it is circular, because
        such links are part of the folder's content.
        """
        own = [link["path"] for link in self.entries("own")]
        walk = Walk(host, LINK_LIMITS)
        for listing in walk.folders(host.home):
            is_home = listing.folder == host.home
            if is_filled(listing) and "pyvenv.cfg" not in listing.files:
                listing.folders = []  # the walk enters none of them
                continue  # the program that filled the folder also made its links
            listing.folders = _folders_to_search(listing, is_home)
            for name in [entry.name for entry in listing.entries if entry.is_symlink()]:
                path = listing.path(name)
                is_lock = name.startswith(".#")  # of Emacs
                if path not in own and not is_lock and (is_home or self._leaves_its_folder(path, host)):
                    yield path
        for folder in [host.home + "/" + name for name in SHALLOW_FOLDERS]:
            for path in self._list_links(folder, host):
                if path not in own:
                    yield path
        if walk.cut and walk.cut_at == host.home:
            self.skip("~ contains too many entries; only the first %d were checked" % LINK_LIMITS.entries)

    def _list_links(self, folder: str, host: Host) -> List[str]:
        """Return the links in a folder whose targets are absolute paths."""
        try:
            names = host.names(folder)[:MOST] if getattr(host.entry(folder), "kind", "") == "folder" else []
            paths = ["%s/%s" % (folder, name) for name in names]
            return [path for path in paths if getattr(host.entry(path), "target", "").startswith("/")]
        except AccountError as error:
            self.skip(str(error))
            return []

    def _leaves_its_folder(self, path: str, host: Host) -> bool:
        """Return True for a link to an absolute path or into another folder of the home, and for a circular link."""
        try:
            target = getattr(host.entry(path), "target", "")
            top = host.home + "/" + path[len(host.home) + 1 :].split("/")[0]  # the folder in the home directory
            is_inside = is_in(os.path.normpath(os.path.join(os.path.dirname(path), target)), top)
            return bool(target) and (not is_inside or target[0] == "/" or host.resolve(path) is None)
        except AccountError as error:
            self.skip(str(error))
            return False

    def _check_link(self, path: str, host: Host) -> None:
        """Report a link that is circular or broken, or whose target is purged although its name means lasting data."""
        shown, real = host.shown(path), host.resolve(path)
        if real is None:
            fix = offers.offer_link_fix(host, path)
            self.report("LNK-005", shown, "the link is circular", auto_fix=fix)
            return
        area = self._purged_area_of(real, host)
        if host.entry(real) is None:
            target = getattr(host.entry(path), "target", "")
            if LOCK_TARGET.search(target) or is_node_local(target, host) or is_node_local(real, host):
                return  # a lock needs no target, and a node-local target may exist on another node
            text = "the target %s does not exist" % real
            if area:
                text = "the target %s does not exist: it was on %s, which is purged" % (real, area["name"])
            fix = offers.offer_link_fix(host, path)
            case = OWN_TARGET if is_in(real, real_home(host)) and not area else ""
            self.report("LNK-003", shown, text, auto_fix=fix, case=case)  # the case selects the advice
        elif area and not self._is_of_tool(path, host) and self._is_lasting_name(os.path.basename(path)):
            text = "the target %s is on %s, where files are deleted after %d days"
            self.report("LNK-005", shown, text % (real, area["name"], area["days"]))

    def _purged_area_of(self, path: str, host: Host) -> Optional[Dict[str, Any]]:
        """Return the entry of the option purged for the area that contains a path, or None."""
        for area in self.entries("purged"):
            # The area's path may be a link.
            if is_in(path, area["path"]) or is_in(path, resolve_readable(area["path"], host) or area["path"]):
                return area
        return None

    def _is_of_tool(self, path: str, host: Host) -> bool:
        """Return True for a link in the folder of a tool, whose name the tool has chosen."""
        return os.path.dirname(path)[len(host.home) + 1 :] in SHALLOW_FOLDERS

    def _is_lasting_name(self, name: str) -> bool:
        """Return True if users expect to keep the data that a link with this name points to."""
        if name in self.options["kept"] or LASTING_NAMES.match(name):
            return True
        lower = name.lower()
        if TEMPORARY_WORDS.search(lower):
            return False
        words = re.split(r"[^a-z0-9]+", lower)
        return any(LASTING_NAMES.match(word.rstrip("0123456789")) for word in words)  # such as "models2"

    # -- purged areas --------------------------------------------------------------------------

    def _check_area(self, area: Dict[str, Any], host: Host) -> None:
        """Report the folders of an area whose files were purged, and the number of files that will be purged soon.

        area: an entry of the option purged.
        """
        try:
            real = host.resolve(area["path"])
            if not real or host.resolved_kind(real) != "folder":
                return  # the check of the link to the area reports a missing target
        except AccountError as error:
            self.skip(str(error))
            return
        walk, due = Walk(host, AREA_LIMITS), FilesDue(area)
        trees: Dict[str, TreeCounts] = {}  # name of a folder of the area -> the numbers of its entries,
        # because a purge leaves folders and dead links behind
        name = ""
        for entry in walk.below(real):
            name = entry.path[len(real) :].lstrip("/").split("/")[0]
            trees.setdefault(name, TreeCounts()).add(entry, _is_dead_link(entry, real, host))
            due.add(entry)
        shown = host.shown(area["path"])
        if walk.cut:
            self.skip("%s contains too many files to check them all; the rest is unknown" % shown)
            trees.pop(name, None)  # the walk ended in this folder
        if walk.skipped.paths:
            path, why = walk.skipped.paths[0]
            self.skip("%s could not be checked completely: %s (%s)" % (shown, path, why))
        for name, tree in sorted(trees.items()):
            path = os.path.join(real, name)
            is_partly_read = any(is_in(skipped, host.shown(path)) for skipped, _why in walk.skipped.paths)
            if tree.looks_purged() and not is_partly_read and not self._contains_folder_of_role(path, host):
                text = "this folder contains %s, but no files: on %s, files are deleted after %d days"
                self.report("USE-003", "%s/%s" % (shown, name), text % (tree.describe(), area["name"], area["days"]))
        if due.files:
            files = format_walked(due.files, "file", walk)
            text = "%s will be purged within %d days" % (files, DAYS_AHEAD)
            if walk.cut != "time":  # else, the next walk may find another first file
                text = "%s will be purged within %d days, the first one %s" % (files, DAYS_AHEAD, due.describe_first())
            self.report("USE-003", shown, text)

    def _contains_folder_of_role(self, path: str, host: Host) -> bool:
        """Return True if a role has created the folder, or a folder below it, which may be empty from the start."""
        folders = [resolve_readable(folder["path"], host) or folder["path"] for folder in self.entries("made")]
        return any(is_in(folder, path) for folder in folders)


def _folders_to_search(listing: FolderListing, is_home: bool) -> List[str]:
    """Return the names of the subfolders whose links are checked. is_home: the folder is the home directory."""
    names = [name for name in folders_to_enter(listing) if name not in SKIPPED]
    if "pyvenv.cfg" in listing.files:  # the links of a Python environment to its interpreter are in bin
        return [name for name in names if name == "bin"]
    return [name for name in names if not name.startswith(".") or (is_home and name in HIDDEN_FOLDERS)]


def _is_dead_link(entry: WalkedEntry, area: str, host: Host) -> bool:
    """Return True if the entry is a link to a path in the area that no longer exists."""
    if not stat.S_ISLNK(entry.status.st_mode):
        return False
    try:
        real = host.resolve(entry.path)
        return real is not None and is_in(real, area) and host.entry(real) is None
    except AccountError:
        return False
