# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A Python environment of the account, created from modules and packages, with a lock file (the packages' versions).

Each change starts a job, a process in the background, which creates a new version in a folder of its own. The path of
the environment is a link to the newest version. The state is read from a mark, a small file that the job writes last,
and from the names of the installed packages.

A run compares the states from inspect() and desired(); an empty state means that the resource is absent. If the states
differ and obstacle() returns None, the run calls apply(). before is the state from inspect(). A Host reads and changes
the account's files.
"""

import os
from typing import List, Optional

from .._core.host import Host
from .._core.resource import Resource, State
from .._jobs.env_spec import AS_LOCKED, EnvSpec, describe_difference, read_mark, read_packages, versions_folder
from .._jobs.made import FINISHED_MARK, JobResource, read_text
from .._options.env_options import PythonEnvOptions

WORKING, UNFINISHED, PURGED, NO_PYTHON = "an environment", "nothing", "missing files", "a missing Python"
"""Values of the field "points to" of a state. UNFINISHED: the folder of versions exists, but no link. PURGED: a purge
deletes the files and leaves links and folders."""


class PythonEnv(PythonEnvOptions, JobResource):
    """A Python environment. Packages that were installed by hand stay."""

    KEEPS_USER_EDITS = True

    def with_expanded_paths(self, host: Host) -> Resource:
        """Return this environment with absolute paths, also of the folders with wheels: pip expands no variables."""
        resource = super().with_expanded_paths(host)
        resource.options["wheels"] = [host.expand(folder) for folder in self.options["wheels"]]
        return resource

    def touches(self, host: Host) -> List[str]:
        """Return the paths that this resource depends on: the link and the folder of all versions."""
        return [self.path, versions_folder(self.path)]

    @property
    def _spec(self) -> EnvSpec:
        return EnvSpec(self.options)  # the desired environment

    def desired(self, host: Host) -> State:
        """Return the inputs of the environment, unchanged packages (AS_LOCKED), and a working link."""
        if self.options["state"] == "absent":
            return {}
        return dict(self._spec.describe_inputs(), installed=AS_LOCKED, **{"points to": WORKING})

    def inspect(self, host: Host) -> State:
        """Return the same fields as desired(), read from the mark of the version that the link points to.

        "installed" compares the installed packages with those that the mark lists as locked.
        For anything that hpc-onboard did not create, return only the field "is", the kind of the entry.
        """
        link, versions = host.entry(self.path), versions_folder(self.path)
        if link is None:
            return {"points to": UNFINISHED} if self._is_our_folder(versions, host) else {}
        version = os.path.join(os.path.dirname(self.path), link.target)
        points_to_version = link.kind == "link" and os.path.dirname(version) == versions
        if link.is_foreign or not points_to_version:
            return {"is": link.kind}
        mark = read_mark(read_text(host, os.path.join(version, FINISHED_MARK)))
        if not mark:  # the link is switched only to a finished version, so the mark was deleted
            return {"points to": PURGED}
        state = dict(mark["made_from"])
        state["installed"] = describe_difference(mark["locked"], self._list_packages(version, host))
        state["points to"] = NO_PYTHON if host.resolved_kind(version + "/bin/python") == "nothing" else WORKING
        return state

    def _is_our_folder(self, versions: str, host: Host) -> bool:
        """Return True if hpc-onboard created the folder of versions, or a job of hpc-onboard began to create it."""
        folder = host.entry(versions)
        if folder is None or folder.kind != "folder" or folder.is_foreign:
            return False
        is_begun = os.path.dirname(self.unfinished_path(host) or "") == versions
        return is_begun or read_text(host, os.path.join(versions, FINISHED_MARK)) is not None

    def _list_packages(self, version: str, host: Host) -> List[str]:
        """Return the packages that are installed in the folder of a version, as name==version."""
        library = os.path.join(version, "lib")
        folders = [os.path.join(library, name, "site-packages") for name in host.names(library)]
        return read_packages([name for folder in folders for name in host.names(folder)])

    def obstacle(self, before: State, host: Host) -> Optional[str]:
        """Return why the environment must not be changed or cannot be created, or None. before: see inspect()."""
        display_path = host.shown(self.path)
        if "is" in before:
            return (
                "%s already exists and was not created by hpc-onboard: rename or move it, or set another path. Then run"
                " hpc-onboard again" % display_path
            )
        if before.get("installed", AS_LOCKED) != AS_LOCKED:
            return (
                "packages in %s were changed by hand (%s). To keep the changes, update the option packages. Then remove"
                " the environment's link (rm %s) and run hpc-onboard again"
                % (display_path, before["installed"], display_path)
            )
        if self.options["state"] == "absent" or before == self.desired(host):
            return None
        return self._why_versions_blocked(host) or self.why_not_startable(host) or self._why_not_available(host)

    def _why_versions_blocked(self, host: Host) -> Optional[str]:
        """Return why the folder of versions cannot be used, or None."""
        versions = versions_folder(self.path)
        if host.entry(versions) is None or self._is_our_folder(versions, host):
            return None
        text = "%s already exists and was not created by hpc-onboard: rename or move it, then run hpc-onboard again"
        return text % host.shown(versions)

    def _why_not_available(self, host: Host) -> Optional[str]:
        """Return which packages or modules the site lacks, or None."""
        if host.root:  # a sandbox, which simulates an account, has none of the site's programs
            return None
        if not (self.options["offline"] or self.options["modules"]):  # all packages come from an index
            return None  # pip reports missing packages in the job
        progress = self.progress(host)
        if progress is not None and "failed" not in progress:  # a job is running, so this was checked already
            return None
        from .._jobs.modules import explain_missing

        return explain_missing(self._spec, os.environ)

    def apply(self, host: Host) -> None:
        """Start the job that creates or removes the environment."""
        from .._jobs.python_env import EnvRemovalJob, PythonEnvJob

        if self.options["state"] == "absent":
            EnvRemovalJob(self.job_folder, self.path, versions_folder(self.path)).start(host)
            return
        area = self.options.get("root")  # a folder that the site or another user may own
        host.make_folders(os.path.dirname(self.path), 0o700, area=area)
        PythonEnvJob(self.job_folder, self._spec).start(host)
