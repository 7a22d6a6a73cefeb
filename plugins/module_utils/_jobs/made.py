# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The base of resources that a job creates: the job's folder, its progress, and the reasons why it cannot start.

The job itself is in a file of its own, which takes longer to load and is needed once.
"""

import os
from typing import Any, Dict, Optional

from .._core import files
from .._core.errors import AccountError
from .._core.host import Host
from .._core.resource import Resource

MADE = ".hpc.onboard"  # the file in a finished folder that says what it contains
MAKING = "making"  # the file in the job's folder with the path of what is being created


class JobResource(Resource):
    """A resource whose work takes minutes. PLACE is the option that names where it goes."""

    PLACE = "path"

    @property
    def job_folder(self) -> str:
        """Return the path of the job's folder, next to what the job creates."""
        above, name = os.path.split(self.options[self.PLACE])
        return os.path.join(above, ".%s.hpc.onboard" % name)

    def progress(self, host: Host) -> Optional[Dict[str, Any]]:
        """Return the progress of this resource's job, or why it failed; None without a job."""
        if not self.is_working(host):
            return None
        from .job import read_progress  # imported here, because most runs have no job

        return read_progress(host.path_via_handle(self.job_folder))

    def is_working(self, host: Host) -> bool:
        """Return True if a job's folder exists. A folder that others can read was not created by hpc-onboard."""
        found = host.entry(self.job_folder)
        return found is not None and found.is_private

    def unfinished_path(self, host: Host) -> Optional[str]:
        """Return the path of what a job began to create and did not finish, or None."""
        return read_text(host, os.path.join(self.job_folder, MAKING)) if self.is_working(host) else None

    def why_not_startable(self, host: Host) -> Optional[str]:
        """Return why no job can start at this place, or None: no area, a conflict, or an unsafe folder."""
        above = os.path.dirname(self.options[self.PLACE])
        root = self.options.get("root") or self._find_own_folder_above(host) or above
        if host.resolved_kind(root) == "link":
            return host.why_blocked(root)
        if host.resolved_kind(root) != "folder":
            site = "only the site can create it: is the project's name right?"
            why = site if self.options.get("root") else "you do not own the folder above it: set another path"
            return "%s does not exist, and %s" % (host.shown(root), why)
        return host.why_blocked(above) or self._why_unsafe(host)

    def _find_own_folder_above(self, host: Host) -> Optional[str]:
        """Return the closest existing folder above, if it is the user's own: all below it can be created."""
        folder = os.path.dirname(self.options[self.PLACE])
        while host.entry(folder) is None and folder != "/":
            folder = os.path.dirname(folder)
        found = host.resolved_entry(folder)
        return folder if found and found.mine else None

    def _why_unsafe(self, host: Host) -> Optional[str]:
        """Return why other users could change what is run, or why the job's folder is not ours; else None."""
        above = os.path.dirname(self.options[self.PLACE])
        found = host.resolved_entry(above)
        unsafe = files.why_unsafe(found, host.shown(above)) if found else None
        if unsafe or host.entry(self.job_folder) is None or self.is_working(host):
            return unsafe
        return "%s already exists and was not created by hpc-onboard: move it away, then run again" % host.shown(
            self.job_folder
        )


def read_text(host: Host, path: str) -> Optional[str]:
    """Return the text of a small file, or None if it does not exist."""
    found = host.entry(path)
    if not found or found.kind != "file":
        return None
    try:
        return host.read(path).decode("utf-8", "replace")
    except AccountError:
        if host.entry(path) is None:  # a job removed it since
            return None
        raise
