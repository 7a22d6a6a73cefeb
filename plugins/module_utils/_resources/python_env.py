# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A Python environment of the account, created from modules and packages, with a lock; a change creates a new one.

Its path is a link to the folder that was created last. Its state comes from a small file that the job writes into this
folder at its end, and from the names of the installed packages.
"""

import os
from typing import List, Optional

from .._core.host import Host
from .._core.resource import State
from .._jobs.env_spec import AS_LOCKED, EnvSpec, compared, installed, read_mark, versions_folder
from .._jobs.made import MADE, JobResource, read_text
from .._options.env_options import PythonEnvOptions

THERE, HALF, GONE, NO_PYTHON = "an environment", "nothing", "missing files", "a missing Python"


class PythonEnv(PythonEnvOptions, JobResource):
    """A Python environment. Packages that were installed by hand stay."""

    KEEPS_USER_EDITS = True

    def touches(self, host: Host) -> List[str]:
        return [self.path, versions_folder(self.path)]

    @property
    def _spec(self) -> EnvSpec:
        return EnvSpec(self.options)

    def desired(self, host: Host) -> State:
        """Return what the environment is made from, that no package was changed by hand, and that the link works."""
        if self.options["state"] == "absent":
            return {}
        return dict(self._spec.made_from(), installed=AS_LOCKED, **{"points to": THERE})

    def inspect(self, host: Host) -> State:
        """Return the same fields from the mark of the environment that the link points to.

        For anything that hpc-onboard did not create, return only the field 'is'.
        """
        there, versions = host.entry(self.path), versions_folder(self.path)
        if there is None:
            return {"points to": HALF} if self._is_ours(versions, host) else {}
        place = os.path.join(os.path.dirname(self.path), there.target)
        if there.kind != "link" or there.is_foreign or os.path.dirname(place) != versions:
            return {"is": there.kind}
        mark = read_mark(read_text(host, os.path.join(place, MADE)))
        if not mark:
            return {"points to": GONE}  # a purge takes the files and leaves links and folders
        state = dict(mark["made_from"])
        state["installed"] = compared(mark["locked"], self._packages(place, host))
        state["points to"] = NO_PYTHON if host.resolved_kind(place + "/bin/python") == "nothing" else THERE
        return state

    def _is_ours(self, versions: str, host: Host) -> bool:
        """Return True if a job of ours began the versions next to the place, which has no link yet."""
        found = host.entry(versions)
        if found is None or found.kind != "folder" or found.is_foreign:
            return False
        begun = os.path.dirname(self.unfinished_path(host) or "") == versions
        return begun or read_text(host, os.path.join(versions, MADE)) is not None

    def _packages(self, place: str, host: Host) -> List[str]:
        """Return the packages that are installed now, as name==version."""
        library = os.path.join(place, "lib")
        folders = [os.path.join(library, name, "site-packages") for name in host.names(library)]
        return installed([name for folder in folders for name in host.names(folder)])

    def obstacle(self, before: State, host: Host) -> Optional[str]:
        """Return why the environment must not be changed or cannot be created, or None."""
        shown = host.shown(self.path)
        if "is" in before:
            return (
                "%s already exists and was not created by hpc-onboard: set another path, or move it, then run again"
                % shown
            )
        if before.get("installed", AS_LOCKED) != AS_LOCKED:
            return (
                "packages in %s were changed by hand (%s): add the changes to packages, or remove the environment"
                " (rm %s), then run again" % (shown, before["installed"], shown)
            )
        if self.options["state"] == "absent" or before == self.desired(host):
            return None
        return self._foreign_versions(host) or self.why_not_startable(host) or self._find_missing(host)

    def _foreign_versions(self, host: Host) -> Optional[str]:
        """Return why the folder of versions cannot be used, or None."""
        versions = versions_folder(self.path)
        if host.entry(versions) is None or self._is_ours(versions, host):
            return None
        return "%s already exists and was not created by hpc-onboard: move it away, then run again" % host.shown(
            versions
        )

    def _find_missing(self, host: Host) -> Optional[str]:
        """Return which packages or modules the site lacks, or None. A sandbox has none of the site's programs."""
        under_way = self.progress(host)
        if host.root or not (self.options["offline"] or self.options["modules"]):
            return None  # the job itself asks an index
        if under_way is not None and "failed" not in under_way:
            return None
        from .._jobs.modules import find_missing

        return find_missing(self._spec, os.environ)

    def apply(self, host: Host) -> None:
        """Start the job that creates or removes the environment."""
        from .._jobs.python_env import EnvRemovalJob, PythonEnvJob

        if self.options["state"] == "absent":
            EnvRemovalJob(self.job_folder, self.path, versions_folder(self.path)).start(host)
            return
        host.make_folders(os.path.dirname(self.path), 0o700, self.options.get("root"))
        PythonEnvJob(self.job_folder, self._spec).start(host)
