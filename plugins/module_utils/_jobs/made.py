# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a job makes, as a resource: the job's folder beside it, how far it is, and what stands in its way.

Apart from the work, which loads longer and is needed once.
"""

import os
from typing import Any, Dict, Optional

from .._core import files
from .._core.errors import AccountError
from .._core.host import Host
from .._core.resource import Resource

MADE = ".hpc.onboard"  # in what a job has finished: what it is
MAKING = "making"  # in the job's folder: the path of what is being made from nothing


class MadeByJob(Resource):
    """A resource whose work takes minutes. PLACE is the option that names where it goes."""

    PLACE = "path"

    @property
    def job_folder(self) -> str:
        """The folder of the job, beside what it makes."""
        above, name = os.path.split(self.options[self.PLACE])
        return os.path.join(above, ".%s.hpc.onboard" % name)

    def progress(self, host: Host) -> Optional[Dict[str, Any]]:
        if not self.is_working(host):
            return None
        from .job import progress_of  # here, because it is under way once, and looked at ever after

        return progress_of(host.path_via_handle(self.job_folder))

    def is_working(self, host: Host) -> bool:
        """Whether a job of ours has left its folder; one that others may look into was never made by us."""
        found = host.entry(self.job_folder)
        return found is not None and found.is_private

    def making(self, host: Host) -> Optional[str]:
        """The path of what a job has begun and not finished."""
        return words(host, os.path.join(self.job_folder, MAKING)) if self.is_working(host) else None

    def cannot_begin(self, host: Host) -> Optional[str]:
        """Why nothing can be made at this place: no area, a thing in the way, or others with a hand in it."""
        above = os.path.dirname(self.options[self.PLACE])
        root = self.options.get("root") or above
        if host.resolved_kind(root) == "link":
            return host.why_blocked(root)
        if host.resolved_kind(root) != "folder":
            return "%s is not there, and only the site can make it: is the project's name right?" % host.shown(root)
        return host.why_blocked(above) or self._in_reach(host)

    def _in_reach(self, host: Host) -> Optional[str]:
        """Why what is run could be changed by others, or the job's folder is taken by somebody."""
        above = os.path.dirname(self.options[self.PLACE])
        found = host.resolved_entry(above)
        unsafe = files.why_unsafe(found, host.shown(above)) if found else None
        if unsafe or host.entry(self.job_folder) is None or self.is_working(host):
            return unsafe
        return "%s is there and was not made by us: move it away, then run again" % host.shown(self.job_folder)


def words(host: Host, path: str) -> Optional[str]:
    """What a small text file holds, or None where there is none."""
    found = host.entry(path)
    if not found or found.kind != "file":
        return None
    try:
        return host.read(path).decode("utf-8", "replace")
    except AccountError:
        if host.entry(path) is None:  # a job that takes it out was quicker
            return None
        raise
