# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The check for a setup that the user made before hpc-onboard: conda, cache folders, images and launchers.

Only `hpc-onboard adopt` sends this check. The check runs no program. It reports only what it recognizes with certainty,
and its remarks name the rest. Each reported item is something that hpc-onboard may use instead of creating it anew. A
launcher is a script that starts a job with srun; an area is a storage folder of the account.
"""

import os
from typing import Any, Dict, Iterator, List, Optional, Tuple

from .._core.errors import AccountError
from .._core.host import Host
from .._core.resource import Evidence, State
from .._formats.settings import Setting, find_settings
from .._scan import launcher_text
from .._scan.search import Search
from .._scan.walk import FolderListing, Limits, Walk
from .._shells.start_up import login_shell_files
from .audit_check import AuditCheck, is_in, read_text, real_home, resolve_readable, via_home

CONDA = ("conda-meta/history", "bin/conda", "etc/profile.d/conda.sh")  # files that each conda installation has
LIMITS = Limits(entries=20000, seconds=8.0, depth=1)  # of the walk through the home directory and all areas
MOST = 500  # subfolders of one folder that are checked
MOST_IMAGES = 20
SIF = (32, b"SIF_MAGIC")  # (offset, bytes) that mark an image of Apptainer
SQUASHFS = (0, b"hsqs")
IMAGE_MARKS = {".sif": SIF, ".sqsh": SQUASHFS}  # by the ending of the file
LONGEST_SCRIPT = 16 * 1024  # bytes of a launcher that are read


class ExistingSetup(AuditCheck):
    """The user's own installations, folders, images and scripts that a role could use."""

    KIND = "existing_setup"
    TITLE = "existing setup"
    PATH_OPTIONS = ("areas", "programs")
    NEEDS_SHELL = True
    OPTIONS: Dict[str, Dict[str, Any]] = {
        # folders in which conda and images may be; each entry has the key path
        "areas": {"type": "list", "elements": "dict", "default": []},
        # variables that set the folders of caches
        "variables": {"type": "list", "elements": "str", "default": []},
        # launchers in the desired state; each entry has the key path
        "programs": {"type": "list", "elements": "dict", "default": []},
    }

    def __init__(self, options: Any) -> None:
        super().__init__(options)
        self._items: List[Dict[str, Any]] = []  # what is reported, each with its "what" and "path" (see _add_item)

    def run(self, host: Host) -> None:
        """Record conda installations, images, cache variables and launchers; evidence() returns them."""
        variables = self._path_variables(host)
        settings = list(self._read_settings(host))
        self._find_in_folders(host)
        self._find_variables(host, settings, variables)
        self._find_launchers(host, settings, variables)

    def evidence(self, before: State, host: Host) -> Evidence:
        """Return the evidence of every check (see AuditCheck), and as "existing" the recorded items, if any."""
        evidence = super().evidence(before, host)
        return dict(evidence, existing=self._items) if self._items else evidence

    def _add_item(self, host: Host, what: str, path: str, name: str = "", place: str = "",
                  options: Optional[List[str]] = None) -> None:  # fmt: skip
        """Record an existing item.

        what: "conda", "image", "variable" or "launcher". name: the name of a variable or launcher. place: the file and
        line that sets a variable. options: the options of srun in a launcher.
        """
        real = host.resolve(path) or path
        item = {"what": what, "path": path, "shown": host.shown(path), "name": name, "at": place}
        self._items.append(dict(item, in_home=is_in(real, real_home(host)), words=options or []))

    # -- start-up files ------------------------------------------------------------------------

    def _path_variables(self, host: Host) -> Dict[str, str]:
        """Return the variables of the login shell that are absolute paths, such as $SCRATCH, and HOME."""
        try:
            variables = host.account.environment()
        except AccountError as error:
            self.skip("the variables of the login shell are unknown: %s" % error)
            variables = {}
        paths = {name: value for name, value in variables.items() if value.startswith("/")}
        return dict(paths, HOME=host.home)

    def _read_settings(self, host: Host) -> Iterator[Tuple[str, Setting]]:
        """Yield (path, setting) for each line that sets a variable in the files of the login shell."""
        for path in login_shell_files(host):
            for setting in find_settings(read_text(self, host, path)):
                yield path, setting

    def _find_variables(self, host: Host, settings: List[Tuple[str, Setting]], variables: Dict[str, str]) -> None:
        """Record each variable of the options whose value is certain and usable; else add a remark.

        settings: (path of the file, setting). variables: the variables of the login shell, to expand the values.
        """
        for name in self.options["variables"]:
            exports = [(path, setting) for path, setting in settings if setting.name == name and setting.exported]
            exports = [(path, setting) for path, setting in exports if setting.text.strip()]  # not empty
            if not exports:
                continue
            # A setting that does not begin its line may be in a condition, so its value is uncertain.
            values = {setting.expand_value(variables) if setting.begins_line else "" for _path, setting in exports}
            path, last = exports[-1]
            place = "%s:%d" % (host.shown(path), last.line)
            value = values.pop() if len(values) == 1 else ""  # several values are uncertain, so unusable
            why = self._why_unusable(value, host)
            if why:
                self.skip("%s in %s was skipped: %s" % (name, place, why))
            else:
                self._add_item(host, "variable", os.path.normpath(value), name, place)

    def _why_unusable(self, value: str, host: Host) -> str:
        """Return why a variable's value cannot be used as a folder; empty if it can. value: empty if uncertain."""
        if not value.startswith("/"):
            return "hpc-onboard cannot determine the value"
        try:
            is_folder = host.resolved_kind(os.path.normpath(value)) == "folder"
        except AccountError as error:
            return str(error)
        return "" if is_folder else "the folder does not exist"

    # -- folders -------------------------------------------------------------------------------

    def _find_in_folders(self, host: Host) -> None:
        """Record conda installations and images in the home directory, in the areas, and in their subfolders."""
        areas = [resolve_readable(area["path"], host) for area in self.entries("areas")]
        walk = Walk(host, LIMITS)
        images: List[str] = []
        for place in dict.fromkeys([real_home(host)] + [area for area in areas if area]):
            for listing in walk.folders(place):
                paths = [listing.path(name) for name in listing.files]
                images += [path for path in paths if self._is_image(host, path)]
                # The walk enters only the folders that remain in the listing: the user's, one level deep.
                listing.folders = self._own_folders(host, listing) if listing.folder == place else []
                for path in map(listing.path, listing.folders):
                    if all(self._is_mine(host, os.path.join(path, name)) for name in CONDA):
                        self._add_item(host, "conda", via_home(path, host))
            if walk.cut:  # a limit has ended the walk
                self.skip("%s contains too many files to check them all" % host.shown(place))
        for path in images[:MOST_IMAGES]:
            self._add_item(host, "image", via_home(path, host))

    def _own_folders(self, host: Host, listing: FolderListing) -> List[str]:
        """Return the names of the user's subfolders, because an area may also contain folders of other users."""
        return [name for name in listing.folders[:MOST] if self._is_mine(host, listing.path(name), "folder")]

    def _is_mine(self, host: Host, path: str, kind: str = "file") -> bool:
        """Return True if the path is of this kind ("file" or "folder") and belongs to the user."""
        try:
            entry = host.entry(path)
        except AccountError:
            return False  # without permission, the path is not the user's
        return entry is not None and entry.kind == kind and entry.mine

    def _is_image(self, host: Host, path: str) -> bool:
        """Return True if the user's file has the ending and the first bytes of a container image."""
        mark = IMAGE_MARKS.get(os.path.splitext(path)[1])
        if not mark or not self._is_mine(host, path):
            return False
        offset, content = mark
        head = Search(host, [os.path.dirname(path)]).read_bytes(path, offset + len(content))
        return head[offset:] == content

    # -- launchers -----------------------------------------------------------------------------

    def _find_launchers(self, host: Host, settings: List[Tuple[str, Setting]], variables: Dict[str, str]) -> None:
        """Record each script with the name of a launcher, in the launchers' folders and on PATH of any shell.

        settings: (path of the file, setting). variables: the variables of the login shell.
        """
        launchers = [entry["path"] for entry in self.entries("programs")]
        names = sorted({os.path.basename(path) for path in launchers})
        folders = [os.path.dirname(path) for path in launchers] + variables.get("PATH", "").split(":")
        for _path, setting in settings:
            if setting.name == "PATH":
                parts = setting.text.strip().strip("\"'").split(":")
                folders += [launcher_text.expand_folder(part, variables) for part in parts]
        for folder in dict.fromkeys(os.path.normpath(path) for path in folders if path.startswith("/")):
            for name in names:
                self._check_launcher(host, os.path.join(folder, name), name)

    def _check_launcher(self, host: Host, path: str, name: str) -> None:
        """Record a script with its options of srun. The script may belong to the user or to a colleague."""
        try:
            real = host.resolve(path)
            entry = host.entry(real) if real else None
            if real is None or entry is None or entry.kind != "file" or not entry.mode & 0o111:
                return  # not an executable file
            if entry.is_roots and not entry.mine:
                return  # a program of the site
            text = Search(host, [os.path.dirname(real)]).read_bytes(real, LONGEST_SCRIPT).decode("latin-1")
        except AccountError as error:
            self.skip(str(error))
            return
        self._add_item(host, "launcher", path, name, options=launcher_text.find_srun_options(text))
