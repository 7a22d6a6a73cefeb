# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The account's own conda installation in a storage area, with its settings and environments.

A job, a process in the background, installs conda. The job writes a mark, a small file, into each finished folder, so
inspection is quick. A prefix (the folder of a conda) without a mark is unfinished (the job's folder records that) or
was not created by hpc-onboard.

A run compares the states from inspect() and desired(); an empty state means that the resource is absent. If the states
differ and obstacle() returns None, the run calls apply(). remarks() returns notes for the user, and evidence() returns
observations for programs. before is the state from inspect(). A Host reads and changes the account's files.
"""

import os
from typing import List, Optional

from .._core.edited_file import read_text_if_possible
from .._core.errors import AccountError
from .._core.host import Host
from .._core.resource import Evidence, State
from .._formats import condarc, origin_mark, startup
from .._jobs.conda_spec import CondaSpec, read_architecture
from .._jobs.made import FINISHED_MARK, JobResource, read_text
from .._options.conda_options import MACHINE, OWN, CondaInstallOptions

HISTORY = "conda-meta/history"  # every environment has this file
CONDA_FILES = (HISTORY, "bin/conda", "etc/profile.d/conda.sh")  # every conda installation has these files
MAX_LISTED = 100  # environments
USERS_OWN = "not created by hpc-onboard"  # in a state: the mark of an environment that has none


class CondaInstall(CondaInstallOptions, JobResource):
    """A conda installed by a pinned installer, and its environments, each described by a file."""

    PLACE = "prefix"  # the option with the path of the installation

    def with_expanded_paths(self, host: Host) -> "CondaInstall":
        """Return the resource with absolute paths, as a UsersConda if the user installed the conda.

        MACHINE in the prefix is a placeholder for the architecture. root: the folder above that must exist already.
        The identity, which names the resource in the receipt (the account's record of what hpc-onboard created), still
        contains the original prefix.
        """
        prefix = host.expand(self.options["prefix"].replace(MACHINE, read_architecture()))
        root = host.expand(self.options["root"]) if self.options.get("root") else None
        resource_type = UsersConda if self.options["distribution"] == OWN else CondaInstall
        resource = resource_type(dict(self.options, prefix=prefix, root=root))
        resource.identity = self.identity
        return resource

    def touches(self, host: Host) -> List[str]:
        """Return the only path that this resource depends on."""
        return [self.options["prefix"]]

    # -- states --------------------------------------------------------------------------------

    @property
    def _spec(self) -> CondaSpec:
        """Return the desired conda, with the installer for the architecture of this machine."""
        no_installer = {"url": "", "sha256": ""}  # _why_not_installable() reports the missing installer
        installer = self.options["installers"].get(read_architecture()) or no_installer
        return CondaSpec(self.options["prefix"], self.options, installer)

    def desired(self, host: Host) -> State:
        """Return the mark with the version, the text of the settings file, and the hash of each environment's file.

        condarc.PLACE is the path of the settings file below the prefix. For a removal, return {}.
        """
        if self.options["state"] == "absent":
            return {}
        spec = self._spec
        state = {"conda": spec.mark, condarc.PLACE: spec.settings}
        for environment in self.options["environments"]:
            state["environment %s" % environment["name"]] = origin_mark.hash_text(environment["content"])
        return state

    def inspect(self, host: Host) -> State:
        """Return the same fields as desired(), read from the mark files on the account.

        Return {} if the prefix does not exist. For a prefix that is not a finished conda of hpc-onboard, return only
        the field "is": "unfinished", "folder of another user", or the kind of the entry.

        An environment's mark is the hash of its file. For an environment without a mark, return why it has none.
        """
        prefix = self.options["prefix"]
        entry = host.resolved_entry(prefix)
        if entry is None:
            return {}
        if entry.is_foreign:  # a mark written by another user cannot be trusted: you would run that user's programs
            return {"is": "folder of another user"}
        mark = read_text(host, os.path.join(prefix, FINISHED_MARK))
        if mark is None:
            return {"is": "unfinished" if self.unfinished_path(host) == prefix else entry.kind}
        state = {"conda": self._replace_newer_mark(mark)}
        settings = read_text(host, os.path.join(prefix, condarc.PLACE))
        if settings is not None:
            state[condarc.PLACE] = settings
        for environment in self.options["environments"]:
            folder = os.path.join(prefix, "envs", environment["name"])
            if host.entry(folder):
                why_no_mark = "unfinished" if self.unfinished_path(host) == folder else USERS_OWN
                environment_mark = read_text(host, os.path.join(folder, FINISHED_MARK))
                state["environment %s" % environment["name"]] = environment_mark or why_no_mark
        return state

    def _replace_newer_mark(self, mark: str) -> str:
        """Return the desired mark instead of the mark of a newer version, because conda can also update itself.

        A mark is "DISTRIBUTION VERSION for MACHINE". Any other mark is returned unchanged.
        """
        desired, present = self._spec.mark.split(" "), mark.split(" ")
        if len(present) != len(desired) or (present[0], present[-1]) != (desired[0], desired[-1]):
            return mark  # of another distribution or machine
        is_new_enough = condarc.parse_version(present[1]) >= condarc.parse_version(desired[1])
        return self._spec.mark if is_new_enough else mark

    def obstacle(self, before: State, host: Host) -> Optional[str]:
        """Return why the prefix must not be changed or cannot be created, or None. before: see inspect()."""
        display_path = host.shown(self.options["prefix"])
        kind = before.get("is")  # None: a finished conda, or nothing exists
        if kind not in (None, "unfinished"):
            return (
                "%s already exists and was not created by hpc-onboard: rename or move it, or set another prefix. Then"
                " run hpc-onboard again" % display_path
            )
        if self.options["state"] == "absent":
            return None if kind else self._why_not_removable(host)  # an unfinished prefix has no environments
        if before and not kind:  # a finished conda, which may need an update
            return self._why_not_changeable(before, display_path)
        # the conda is to be installed, or installed again
        return self.why_not_startable(host) or self._why_not_installable(host)

    def _why_not_changeable(self, before: State, display_path: str) -> Optional[str]:
        """Return why a finished conda must not be changed, or None. display_path: the prefix in messages.

        The reason is another distribution or architecture, settings changed by hand, or an environment of the user.
        """
        present, desired = before["conda"].split(" "), self._spec.mark.split(" ")
        if (present[0], present[-1]) != (desired[0], desired[-1]):
            text = "%s contains %s, but the settings require %s: set another prefix"
            return text % (display_path, before["conda"], self._spec.mark)
        settings = before.get(condarc.PLACE)
        if settings and not origin_mark.is_unchanged(settings):
            return (
                "%s/%s was changed by hand: move your settings to ~/.condarc and delete this file, then run hpc-onboard"
                " again" % (display_path, condarc.PLACE)
            )
        for field, value in before.items():
            if value == USERS_OWN:
                return (
                    "the %s already exists and was not created by hpc-onboard: rename or remove it, then run"
                    " hpc-onboard again" % field
                )
        return None

    def _why_not_installable(self, host: Host) -> Optional[str]:
        """Return why an installation would fail (no installer, an old glibc, or too little space), or None."""
        architecture = read_architecture()
        if architecture not in self.options["installers"]:
            available = ", ".join(sorted(self.options["installers"]))
            return "%s has no installer for %s; available: %s" % (self.options["distribution"], architecture, available)
        from .._jobs.machine import read_glibc_version

        glibc = read_glibc_version()
        # "": a system without glibc, which is not checked
        if glibc and condarc.parse_version(glibc) < condarc.parse_version(self.options["glibc"]):
            return (
                "%s needs glibc %s or newer, but this login node has %s: set an older version of conda, or set the"
                " distribution to miniforge" % (self._spec.title, self.options["glibc"], glibc)
            )
        return self._why_too_little_space(host)

    def _why_too_little_space(self, host: Host) -> Optional[str]:
        """Return why the disk or the quota is too small for an installation, or None.

        place: the existing folder whose free space is measured. left: the free bytes and files of a limit.
        """
        from .._jobs.machine import measure_free_space
        from .._scan.amounts import format_count, format_size

        place, limits = measure_free_space(host, os.path.dirname(self.options["prefix"]))
        needed_bytes, needed_files = self.options["bytes"], self.options["files"]
        for limit, left in limits:  # limit: "the file system" or "your quota"
            shortages = []  # an unknown limit (None) is not checked
            if left.bytes is not None and left.bytes < needed_bytes:
                sizes = format_size(left.bytes), format_size(needed_bytes)
                shortages.append("%s has %s left, but %s is needed" % (limit, *sizes))
            if left.files is not None and left.files < needed_files:
                counts = format_count(left.files, "file"), format_count(needed_files, "file")
                shortages.append("%s has %s left, but %s are needed" % (limit, *counts))
            if shortages:
                advice = "Remove files or ask the site for more space, then run hpc-onboard again"
                return "not enough space at %s: %s. %s" % (place, ", and ".join(shortages), advice)
        return None

    def _why_not_removable(self, host: Host) -> Optional[str]:
        """Return why the prefix must not be removed (the user created an environment in it), or None."""
        folder = os.path.join(self.options["prefix"], "envs")
        for name in host.names(folder):
            is_environment = not name.startswith(".")  # conda creates hidden files for its own use
            if is_environment and read_text(host, os.path.join(folder, name, FINISHED_MARK)) is None:
                text = "hpc-onboard did not create the environment %s in %s: remove it first (conda env remove -n %s)"
                return text % (name, host.shown(folder), name)
        return None

    def remarks(self, host: Host) -> List[str]:
        """Return a warning about the first start-up file with a 'conda init' block; the file is not changed."""
        for name in startup.FILES:
            if startup.has_conda_block(read_text_if_possible(host, os.path.join(host.home, name))):
                return [
                    "~/%s contains a 'conda init' block, which runs conda at every login, possibly a different"
                    " installation. To remove the block, run: conda init --reverse" % name
                ]
        return []

    # -- changes -------------------------------------------------------------------------------

    def apply(self, host: Host) -> None:
        """Start the job that installs, updates or removes the conda."""
        from .._jobs.conda import CondaJob, CondaRemovalJob

        if self.options["state"] == "absent":
            CondaRemovalJob(self.job_folder, self.options["prefix"]).start(host)
            return
        area = self.options.get("root")  # a folder that the site or another user may own
        host.make_folders(os.path.dirname(self.options["prefix"]), 0o700, area=area)
        mark = read_text(host, os.path.join(self.options["prefix"], FINISHED_MARK))
        is_outdated = mark is not None and self._replace_newer_mark(mark) != self._spec.mark
        CondaJob(self.job_folder, self._spec, is_outdated=is_outdated).start(host)


class UsersConda(CondaInstall):
    """A conda that the user installed, of any version. It is recognised by its files, and never run."""

    def desired(self, host: Host) -> State:
        """Return a state without a version: any conda of the user is accepted."""
        return {} if self.options["state"] == "absent" else {"conda": OWN}

    def inspect(self, host: Host) -> State:
        """Return the desired state if the prefix is the user's own conda, else {is: kind of the entry}.

        Return {} if the prefix does not exist.
        """
        prefix = self.options["prefix"]
        entry = host.entry(prefix)
        if entry is None:
            return {}
        files = [host.resolved_entry(os.path.join(prefix, name)) for name in CONDA_FILES]
        is_conda = entry.kind == "folder" and all(file and file.kind == "file" and file.mine for file in files)
        is_users = entry.mine and host.entry(os.path.join(prefix, FINISHED_MARK)) is None
        return {"conda": OWN} if is_conda and is_users else {"is": entry.kind}

    def obstacle(self, before: State, host: Host) -> Optional[str]:
        """Return why the prefix cannot be used as the user's conda, or None; for a removal, why nothing is removed."""
        display_path = host.shown(self.options["prefix"])
        if self.options["state"] == "absent":
            return "%s is your own conda installation, which hpc-onboard does not remove" % display_path
        if before.get("conda") == OWN:
            return None
        if not before:
            return "%s does not exist: set the prefix of conda to the path of your conda installation" % display_path
        text = "%s is not your own conda installation (expected %s, owned by you): set another prefix or distribution"
        return text % (display_path, ", ".join(CONDA_FILES))

    def evidence(self, before: State, host: Host) -> Evidence:
        """Return {adopted: "equivalent", environments: their names} if the prefix is the user's conda; else {}.

        "adopted": hpc-onboard uses what the user created, without changes.
        """
        if before.get("conda") != OWN:
            return {}
        folder = os.path.join(self.options["prefix"], "envs")
        names = [name for name in host.names(folder) if host.entry(os.path.join(folder, name, HISTORY))]
        return {"adopted": "equivalent", "environments": names[:MAX_LISTED]}

    def remarks(self, host: Host) -> List[str]:
        """Return no warning: the user chose to run 'conda init' for this conda."""
        return []

    def apply(self, host: Host) -> None:
        """Raise AccountError: a conda of the user is never changed."""
        raise AccountError("%s: hpc-onboard does not change your own conda installation" % self.identity)
