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
        if self.options["state"] == "absent":
            return {}
        spec = self._spec
        state = {"conda": spec.made, condarc.PLACE: spec.settings}
        for environment in self.options["environments"]:
            state["environment %s" % environment["name"]] = origin_mark.digest(environment["content"])
        return state

    def inspect(self, host: Host) -> State:
        prefix = self.options["prefix"]
        there = host.resolved_entry(prefix)
        if there is None:
            return {}
        kind = there.kind
        if there.is_foreign:
            return {"is": "folder of somebody else"}  # whatever its files say: its commands would run as us
        made = read_text(host, os.path.join(prefix, MADE))
        if made is None:
            return {"is": "half made" if self._half_made(host) else kind}
        state = {"conda": self._no_older(made)}
        settings = read_text(host, os.path.join(prefix, condarc.PLACE))
        if settings is not None:
            state[condarc.PLACE] = settings
        for environment in self.options["environments"]:
            folder = os.path.join(prefix, "envs", environment["name"])
            if host.entry(folder):
                unknown = "half made" if self.unfinished_path(host) == folder else "made by somebody else"
                state["environment %s" % environment["name"]] = read_text(host, os.path.join(folder, MADE)) or unknown
        return state

    def _no_older(self, made: str) -> str:
        """Return the desired mark for the same or a newer version of the distribution: conda updates itself, too."""
        desired, found = self._spec.made.split(" "), made.split(" ")
        is_same = len(found) == len(desired) and (found[0], found[-1]) == (desired[0], desired[-1])
        if is_same and condarc.version_numbers(found[1]) >= condarc.version_numbers(desired[1]):
            return self._spec.made
        return made

    def _half_made(self, host: Host) -> bool:
        return bool(self.unfinished_path(host) == self.options["prefix"])

    def obstacle(self, before: State, host: Host) -> Optional[str]:
        shown = host.shown(self.options["prefix"])
        if before.get("is", "half made") != "half made":
            return (
                "%s already exists and was not created by hpc-onboard: name another prefix, or move it, then run again"
                % shown
            )
        if self.options["state"] == "absent":
            return None if "is" in before else self._others_environments(host)  # half made: nobody could add any
        if before and "is" not in before:
            return self._not_ours_to_change(before, shown)
        return self.why_not_startable(host) or self._impossible(host)

    def _not_ours_to_change(self, before: State, shown: str) -> Optional[str]:
        found, desired = before["conda"].split(" "), self._spec.made.split(" ")
        if (found[0], found[-1]) != (desired[0], desired[-1]):
            return "%s contains %s, but you ask for %s: name another prefix" % (shown, before["conda"], self._spec.made)
        settings = before.get(condarc.PLACE)
        if settings and not origin_mark.is_unchanged(settings):
            return "%s/%s was changed by hand: move what is yours into %s/.condarc and delete it, then run again" % (
                shown,
                condarc.PLACE,
                shown,
            )
        for field, value in before.items():
            if value == "made by somebody else":
                return (
                    "the %s already exists and was not created by hpc-onboard: rename or remove it, then run again"
                    % field
                )
        return None

    def _impossible(self, host: Host) -> Optional[str]:
        """Return why an installation would fail: no installer for this machine, an old glibc, too little space."""
        if machine() not in self.options["installers"]:
            known = ", ".join(sorted(self.options["installers"]))
            return "there is no %s for %s, only for %s" % (self.options["distribution"], machine(), known)
        from .._jobs.machine import glibc_version

        found = glibc_version()
        if found and condarc.version_numbers(found) < condarc.version_numbers(self.options["glibc"]):
            return "%s needs glibc %s, and this login node has %s: take an older version or miniforge" % (
                self._spec.title,
                self.options["glibc"],
                found,
            )
        return self._why_too_little_space(host)

    def _why_too_little_space(self, host: Host) -> Optional[str]:
        from .._jobs.machine import measure_free_space
        from .._scan.amounts import format_count, format_size

        above, spaces = measure_free_space(host, os.path.dirname(self.options["prefix"]))
        for whose, left in spaces:
            lacking = [
                "%s left of the %s that it takes" % (shown(has), shown(needs))
                for has, needs, shown in (
                    (left.bytes, self.options["bytes"], format_size),
                    (left.files, self.options["files"], lambda number: format_count(number, "file")),
                )
                if has is not None and has < needs
            ]
            if lacking:
                advice = "remove files or ask the site for more, then run again"
                return "%s has too little room at %s: %s; %s" % (whose, above, " and ".join(lacking), advice)
        return None

    def _others_environments(self, host: Host) -> Optional[str]:
        """Return why the prefix must not be removed: an environment of the user's. Else None."""
        folder = os.path.join(self.options["prefix"], "envs")
        for name in host.names(folder):
            if read_text(host, os.path.join(folder, name, MADE)) is None and not name.startswith("."):
                return "the environment %s in %s is yours: remove it first (conda env remove -n %s)" % (
                    name,
                    host.shown(folder),
                    name,
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
                    "~/%s holds a block of 'conda init', which runs conda at every login and may lead to another one:"
                    " 'conda init --reverse' takes it out" % name
                ]
        return []

    # -- changes -------------------------------------------------------------------------------

    def apply(self, host: Host) -> None:
        from .._jobs.conda import CondaJob, RemovalJob

        if self.options["state"] == "absent":
            RemovalJob(self.job_folder, self.options["prefix"]).start(host)
            return
        host.make_folders(os.path.dirname(self.options["prefix"]), 0o700, self.options.get("root"))
        made = read_text(host, os.path.join(self.options["prefix"], MADE))
        update = made is not None and self._no_older(made) != self._spec.made
        CondaJob(self.job_folder, self._spec, update).start(host)


class UsersConda(CondaInstall):
    """A conda that the user installed, whatever its version. It is recognised by its files, and never run."""

    def desired(self, host: Host) -> State:
        return {} if self.options["state"] == "absent" else {"conda": OWN}

    def inspect(self, host: Host) -> State:
        prefix = self.options["prefix"]
        found = host.entry(prefix)
        if found is None:
            return {}
        parts = [host.resolved_entry(os.path.join(prefix, part)) for part in PARTS]
        is_conda = found.kind == "folder" and all(part and part.kind == "file" and part.mine for part in parts)
        is_users = found.mine and host.entry(os.path.join(prefix, MADE)) is None
        return {"conda": OWN} if is_conda and is_users else {"is": found.kind}

    def obstacle(self, before: State, host: Host) -> Optional[str]:
        shown = host.shown(self.options["prefix"])
        if self.options["state"] == "absent":
            return "%s is yours and stays" % shown
        if before.get("conda") == OWN:
            return None
        if not before:
            return "%s does not exist: set conda: {prefix: ...} to the conda that you have" % shown
        text = "%s is not a conda that you installed (it needs %s, all yours): set another prefix, or distribution"
        return text % (shown, ", ".join(PARTS))

    def evidence(self, before: State, host: Host) -> Evidence:
        if before.get("conda") != OWN:
            return {}
        folder = os.path.join(self.options["prefix"], "envs")
        names = [one for one in host.names(folder) if host.entry(os.path.join(folder, one, HISTORY))]
        return {"adopted": "equivalent", "environments": names[:MOST]}

    def remarks(self, host: Host) -> List[str]:
        return []  # a block of 'conda init' is the user's choice of this one

    def apply(self, host: Host) -> None:
        raise AccountError("%s: it is only used" % self.identity)
