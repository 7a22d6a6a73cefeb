# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The base class of resources that a job creates: the job's folder, its progress, and the reasons why it cannot start.

A job is a process in the background, for work that takes minutes, with a folder of its own next to what it creates. The
job itself is in another file, which takes longer to import and is needed only when a job starts. A Host reads and
changes the account's files.
"""

import os
from typing import Any, Dict, Optional

from .._core import files
from .._core.errors import AccountError
from .._core.host import Host
from .._core.resource import Resource

FINISHED_MARK = ".hpc.onboard"  # the file in a finished folder that describes its content
UNFINISHED_NOTE = "making"  # the file in the job's folder with the path of the folder that is being created


class JobResource(Resource):
    """A resource that a job creates. PLACE: the option with the path of the resource."""

    PLACE = "path"

    @property
    def job_folder(self) -> str:
        """Return the path of the job's folder, next to the resource."""
        parent, name = os.path.split(self.options[self.PLACE])
        return os.path.join(parent, ".%s.hpc.onboard" % name)

    def progress(self, host: Host) -> Optional[Dict[str, Any]]:
        """Return the progress of this resource's job, or why the job failed; None without a job."""
        if not self.has_job_folder(host):
            return None
        from .job import read_progress  # imported here, because most runs have no job

        return read_progress(host.path_via_handle(self.job_folder))

    def has_job_folder(self, host: Host) -> bool:
        """Return True if the job's folder exists. A folder that others can read was not created by hpc-onboard."""
        folder = host.entry(self.job_folder)
        return folder is not None and folder.is_private

    def unfinished_path(self, host: Host) -> Optional[str]:
        """Return the path of the folder that a job began to create and did not finish, or None."""
        return read_text(host, os.path.join(self.job_folder, UNFINISHED_NOTE)) if self.has_job_folder(host) else None

    def why_not_startable(self, host: Host) -> Optional[str]:
        """Return why no job can start for this resource (a missing folder, a conflict or an unsafe folder), or None.

        The option root names the site's folder above the resource, such as a project's, if the resource has one.
        """
        parent = os.path.dirname(self.options[self.PLACE])
        # the folder that must exist; without a folder of the user above it, only an existing parent folder is accepted
        root = self.options.get("root") or self._find_own_folder_above(host) or parent
        if host.resolved_kind(root) == "link":  # of another user, so the link is not followed
            return host.why_blocked(root)
        if host.resolved_kind(root) != "folder":
            of_site = "%s does not exist, and only the site can create it: check the project name"
            of_user = "%s does not exist, and you do not own the folder above it: set another path"
            return (of_site if self.options.get("root") else of_user) % host.shown(root)
        return host.why_blocked(parent) or self._why_unsafe(host)

    def _find_own_folder_above(self, host: Host) -> Optional[str]:
        """Return the nearest existing folder above the resource if the user owns this folder, else None."""
        folder = os.path.dirname(self.options[self.PLACE])
        while host.entry(folder) is None and folder != "/":
            folder = os.path.dirname(folder)
        entry = host.resolved_entry(folder)
        return folder if entry and entry.mine else None

    def _why_unsafe(self, host: Host) -> Optional[str]:
        """Return why other users could change what a job writes, or None.

        Either the parent folder is unsafe, or the job's folder exists, but hpc-onboard did not create it.
        """
        parent = os.path.dirname(self.options[self.PLACE])
        entry = host.resolved_entry(parent)
        reason = files.why_unsafe(entry, host.shown(parent)) if entry else None
        if reason:
            return reason
        if host.entry(self.job_folder) is None or self.has_job_folder(host):
            return None
        text = "%s already exists and was not created by hpc-onboard: rename or move it, then run hpc-onboard again"
        return text % host.shown(self.job_folder)


def read_text(host: Host, path: str) -> Optional[str]:
    """Return the text of a small regular file, or None if no such file exists."""
    entry = host.entry(path)
    if not entry or entry.kind != "file":
        return None
    try:
        return host.read(path).decode("utf-8", "replace")
    except AccountError:
        if host.entry(path) is None:  # a job has removed the file since
            return None
        raise
