# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A conda of the account's own in a storage area, with its settings and environments.

The job leaves a small file in each finished folder, so inspection is quick. A prefix without one is unfinished (then
the job's folder says so) or was not created by hpc-onboard.
"""

import os
from typing import List, Optional

from .._core.errors import AccountError
from .._core.host import Host
from .._core.resource import Evidence, State
from .._formats import condarc, origin_mark, startup
from .._jobs.conda_spec import CondaSpec, machine
from .._jobs.made import MADE, JobResource, read_text
from .._options.conda_options import MACHINE, OWN, CondaInstallOptions

HISTORY = "conda-meta/history"
PARTS = (HISTORY, "bin/conda", "etc/profile.d/conda.sh")  # files that each conda has, the last one for shells
MOST = 100  # environments that are listed


class CondaInstall(CondaInstallOptions, JobResource):
    """A conda from a pinned installer, and its environments from files."""

    PLACE = "prefix"

    def bound(self, host: Host) -> "CondaInstall":
        """Return the resource with expanded paths; a UsersConda for a conda that the user installed."""
        prefix = host.expand(self.options["prefix"].replace(MACHINE, machine()))
        root = host.expand(self.options["root"]) if self.options.get("root") else None
        resource_type = UsersConda if self.options["distribution"] == OWN else CondaInstall
        resource = resource_type(dict(self.options, prefix=prefix, root=root))
        resource.identity = self.identity
        return resource

    def touches(self, host: Host) -> List[str]:
        return [self.options["prefix"]]

    # -- states --------------------------------------------------------------------------------

    @property
    def _spec(self) -> CondaSpec:
        installer = self.options["installers"].get(machine()) or {"url": "", "sha256": ""}
        return CondaSpec(self.options["prefix"], self.options, installer)

    def desired(self, host: Host) -> State:
        """Return the version, the settings, and the hash of each environment's file."""
        if self.options["state"] == "absent":
            return {}
        spec = self._spec
        state = {"conda": spec.made, condarc.PLACE: spec.settings}
        for environment in self.options["environments"]:
            state["environment %s" % environment["name"]] = origin_mark.digest(environment["content"])
        return state

    def inspect(self, host: Host) -> State:
        """Return the same fields from the marks on the account.

        For a prefix that is not a finished conda of hpc-onboard, return only the field 'is'.
        """
        prefix = self.options["prefix"]
        there = host.resolved_entry(prefix)
        if there is None:
            return {}
        kind = there.kind
        if there.is_foreign:
            return {"is": "folder of another user"}  # whatever its files contain: its commands would run as this user
        made = read_text(host, os.path.join(prefix, MADE))
        if made is None:
            return {"is": "unfinished" if self._is_unfinished(host) else kind}
        state = {"conda": self._accept_newer(made)}
        settings = read_text(host, os.path.join(prefix, condarc.PLACE))
        if settings is not None:
            state[condarc.PLACE] = settings
        for environment in self.options["environments"]:
            folder = os.path.join(prefix, "envs", environment["name"])
            if host.entry(folder):
                unknown = "unfinished" if self.unfinished_path(host) == folder else "not created by hpc-onboard"
                state["environment %s" % environment["name"]] = read_text(host, os.path.join(folder, MADE)) or unknown
        return state

    def _accept_newer(self, made: str) -> str:
        """Return the desired mark for the same or a newer version of the distribution: conda updates itself, too."""
        desired, found = self._spec.made.split(" "), made.split(" ")
        is_same = len(found) == len(desired) and (found[0], found[-1]) == (desired[0], desired[-1])
        if is_same and condarc.version_numbers(found[1]) >= condarc.version_numbers(desired[1]):
            return self._spec.made
        return made

    def _is_unfinished(self, host: Host) -> bool:
        """Return True if a job began to create the prefix and did not finish."""
        return bool(self.unfinished_path(host) == self.options["prefix"])

    def obstacle(self, before: State, host: Host) -> Optional[str]:
        """Return why the prefix must not be changed or cannot be created, or None."""
        shown = host.shown(self.options["prefix"])
        if before.get("is", "unfinished") != "unfinished":
            return (
                "%s already exists and was not created by hpc-onboard: set another prefix, or move it, then run again"
                % shown
            )
        if self.options["state"] == "absent":
            return None if "is" in before else self._why_not_removable(host)  # unfinished: nobody could add any
        if before and "is" not in before:
            return self._why_not_changeable(before, shown)
        return self.why_not_startable(host) or self._why_not_installable(host)

    def _why_not_changeable(self, before: State, shown: str) -> Optional[str]:
        """Return why a finished conda must not be changed: another version, or changes by hand. Else None."""
        found, desired = before["conda"].split(" "), self._spec.made.split(" ")
        if (found[0], found[-1]) != (desired[0], desired[-1]):
            return "%s contains %s, but %s is set: set another prefix" % (shown, before["conda"], self._spec.made)
        settings = before.get(condarc.PLACE)
        if settings and not origin_mark.is_unchanged(settings):
            return (
                "%s/%s was changed by hand: move your settings to %s/.condarc and delete this file, then run again"
                % (
                    shown,
                    condarc.PLACE,
                    shown,
                )
            )
        for field, value in before.items():
            if value == "not created by hpc-onboard":
                return (
                    "the %s already exists and was not created by hpc-onboard: rename or remove it, then run again"
                    % field
                )
        return None

    def _why_not_installable(self, host: Host) -> Optional[str]:
        """Return why an installation would fail: no installer for this machine, an old glibc, too little space."""
        if machine() not in self.options["installers"]:
            known = ", ".join(sorted(self.options["installers"]))
            return "%s has no installer for %s; available: %s" % (self.options["distribution"], machine(), known)
        from .._jobs.machine import glibc_version

        found = glibc_version()
        if found and condarc.version_numbers(found) < condarc.version_numbers(self.options["glibc"]):
            return "%s needs glibc %s, but this login node has %s: set an older version, or distribution miniforge" % (
                self._spec.title,
                self.options["glibc"],
                found,
            )
        return self._why_too_little_space(host)

    def _why_too_little_space(self, host: Host) -> Optional[str]:
        """Return why the disk or the quota is too small for an installation, or None."""
        from .._jobs.machine import measure_free_space
        from .._scan.amounts import format_count, format_size

        above, spaces = measure_free_space(host, os.path.dirname(self.options["prefix"]))
        for whose, left in spaces:
            lacking = [
                "%s left, but %s needed" % (shown(has), shown(needs))
                for has, needs, shown in (
                    (left.bytes, self.options["bytes"], format_size),
                    (left.files, self.options["files"], lambda number: format_count(number, "file")),
                )
                if has is not None and has < needs
            ]
            if lacking:
                advice = "remove files or ask the site for more, then run again"
                return "%s has too little space at %s: %s; %s" % (whose, above, " and ".join(lacking), advice)
        return None

    def _why_not_removable(self, host: Host) -> Optional[str]:
        """Return why the prefix must not be removed: an environment of the user's. Else None."""
        folder = os.path.join(self.options["prefix"], "envs")
        for name in host.names(folder):
            if read_text(host, os.path.join(folder, name, MADE)) is None and not name.startswith("."):
                return (
                    "hpc-onboard did not create the environment %s in %s: remove it first (conda env remove -n %s)"
                    % (
                        name,
                        host.shown(folder),
                        name,
                    )
                )
        return None

    def remarks(self, host: Host) -> List[str]:
        """Return a warning about a block of 'conda init' in a start-up file, which is not changed."""
        for name in startup.FILES:
            path = os.path.join(host.home, name)
            if host.resolved_kind(path) == "file" and startup.has_conda_block(
                read_text(host, host.resolve(path) or "") or ""
            ):
                return [
                    "~/%s contains a block of 'conda init', which runs conda at every login, maybe a different conda."
                    " To remove the block, run: conda init --reverse" % name
                ]
        return []

    # -- changes -------------------------------------------------------------------------------

    def apply(self, host: Host) -> None:
        """Start the job that installs, updates or removes."""
        from .._jobs.conda import CondaJob, RemovalJob

        if self.options["state"] == "absent":
            RemovalJob(self.job_folder, self.options["prefix"]).start(host)
            return
        host.make_folders(os.path.dirname(self.options["prefix"]), 0o700, self.options.get("root"))
        made = read_text(host, os.path.join(self.options["prefix"], MADE))
        update = made is not None and self._accept_newer(made) != self._spec.made
        CondaJob(self.job_folder, self._spec, update).start(host)


class UsersConda(CondaInstall):
    """A conda that the user installed, whatever its version. It is recognised by its files, and never run."""

    def desired(self, host: Host) -> State:
        """Return only that the user's conda exists: it has no desired version."""
        return {} if self.options["state"] == "absent" else {"conda": OWN}

    def inspect(self, host: Host) -> State:
        """Return that the prefix is a conda that the user owns, by its files alone; else what is there."""
        prefix = self.options["prefix"]
        found = host.entry(prefix)
        if found is None:
            return {}
        parts = [host.resolved_entry(os.path.join(prefix, part)) for part in PARTS]
        is_conda = found.kind == "folder" and all(part and part.kind == "file" and part.mine for part in parts)
        is_users = found.mine and host.entry(os.path.join(prefix, MADE)) is None
        return {"conda": OWN} if is_conda and is_users else {"is": found.kind}

    def obstacle(self, before: State, host: Host) -> Optional[str]:
        """Return why the prefix cannot be used, or why it is not removed; None if it is a conda."""
        shown = host.shown(self.options["prefix"])
        if self.options["state"] == "absent":
            return "%s is a conda that you installed; hpc-onboard does not remove it" % shown
        if before.get("conda") == OWN:
            return None
        if not before:
            return "%s does not exist: set conda: {prefix: ...} to the path of your conda" % shown
        text = (
            "%s is not a conda that you installed (expected %s, all owned by you): set another prefix or distribution"
        )
        return text % (shown, ", ".join(PARTS))

    def evidence(self, before: State, host: Host) -> Evidence:
        """Return the environments of the user's conda, for the controller."""
        if before.get("conda") != OWN:
            return {}
        folder = os.path.join(self.options["prefix"], "envs")
        names = [one for one in host.names(folder) if host.entry(os.path.join(folder, one, HISTORY))]
        return {"adopted": "equivalent", "environments": names[:MOST]}

    def remarks(self, host: Host) -> List[str]:
        """Return no warning about 'conda init'."""
        return []  # a block of 'conda init' is the user's choice of this one

    def apply(self, host: Host) -> None:
        """Raise AccountError: a conda of the user is never changed."""
        raise AccountError("%s: hpc-onboard does not change a conda that you installed" % self.identity)
