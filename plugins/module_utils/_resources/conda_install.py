# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A conda of the account's own in a storage area, with its settings and environments.

What is there is read from small files that we leave when a thing is finished; so looking costs nothing,
and a prefix without one is either half made by us (the job's folder says so) or not ours.
"""

import os
from typing import List, Optional

from .._core.host import Host
from .._core.resource import State
from .._formats import condarc, origin_mark, startup
from .._jobs.conda_spec import Wanted, machine
from .._jobs.made import MADE, MadeByJob, words
from .._options.conda_options import MACHINE, CondaInstallOptions


class CondaInstall(CondaInstallOptions, MadeByJob):
    """A conda that is installed from a pinned installer, and environments that are as their files say."""

    PLACE = "prefix"

    def bound(self, host: Host) -> "CondaInstall":
        prefix = host.expand(self.options["prefix"].replace(MACHINE, machine()))
        root = host.expand(self.options["root"]) if self.options.get("root") else None
        resource = CondaInstall(dict(self.options, prefix=prefix, root=root))
        resource.identity = self.identity
        return resource

    def touches(self, host: Host) -> List[str]:
        return [self.options["prefix"]]

    # -- states --------------------------------------------------------------------------------

    @property
    def _wanted(self) -> Wanted:
        installer = self.options["installers"].get(machine()) or {"url": "", "sha256": ""}
        return Wanted(self.options["prefix"], self.options, installer)

    def desired(self, host: Host) -> State:
        if self.options["state"] == "absent":
            return {}
        wanted = self._wanted
        state = {"conda": wanted.made, condarc.PLACE: wanted.settings}
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
        made = words(host, os.path.join(prefix, MADE))
        if made is None:
            return {"is": "half made" if self._half_made(host) else kind}
        state = {"conda": self._no_older(made)}
        settings = words(host, os.path.join(prefix, condarc.PLACE))
        if settings is not None:
            state[condarc.PLACE] = settings
        for environment in self.options["environments"]:
            folder = os.path.join(prefix, "envs", environment["name"])
            if host.entry(folder):
                unknown = "half made" if self.making(host) == folder else "made by somebody else"
                state["environment %s" % environment["name"]] = words(host, os.path.join(folder, MADE)) or unknown
        return state

    def _no_older(self, made: str) -> str:
        """A newer version of the same distribution is as good as the wanted one: conda updates itself, too."""
        wanted = self._wanted.made.split(" ")
        found = made.split(" ")
        same = len(found) == len(wanted) and (found[0], found[-1]) == (wanted[0], wanted[-1])
        return (
            self._wanted.made
            if same and condarc.version_numbers(found[1]) >= condarc.version_numbers(wanted[1])
            else made
        )

    def _half_made(self, host: Host) -> bool:
        return bool(self.making(host) == self.options["prefix"])

    def obstacle(self, before: State, host: Host) -> Optional[str]:
        shown = host.shown(self.options["prefix"])
        if before.get("is", "half made") != "half made":
            return "%s is there and was not made by us: name another prefix, or move it away, then run again" % shown
        if self.options["state"] == "absent":
            return None if "is" in before else self._others_environments(host)  # half made: nobody could add any
        if before and "is" not in before:
            return self._not_ours_to_change(before, shown)
        return self.cannot_begin(host) or self._impossible(host)

    def _not_ours_to_change(self, before: State, shown: str) -> Optional[str]:
        found, wanted = before["conda"].split(" "), self._wanted.made.split(" ")
        if (found[0], found[-1]) != (wanted[0], wanted[-1]):
            return "%s holds %s, but %s is wanted: name another prefix" % (shown, before["conda"], self._wanted.made)
        settings = before.get(condarc.PLACE)
        if settings and not origin_mark.is_unchanged(settings):
            return "%s/%s was changed by hand: move what is yours into %s/.condarc and delete it, then run again" % (
                shown,
                condarc.PLACE,
                shown,
            )
        for field, value in before.items():
            if value == "made by somebody else":
                return "the %s is there and was not made by us: name it otherwise, or remove it, then run again" % field
        return None

    def _impossible(self, host: Host) -> Optional[str]:
        """Why an installation would fail: no installer for this machine, too old a system, too little room."""
        if machine() not in self.options["installers"]:
            known = ", ".join(sorted(self.options["installers"]))
            return "there is no %s for %s, only for %s" % (self.options["distribution"], machine(), known)
        from .._jobs.machine import libc

        found = libc()
        if found and condarc.version_numbers(found) < condarc.version_numbers(self.options["glibc"]):
            return "%s needs glibc %s, and this login node has %s: take an older version or miniforge" % (
                self._wanted.title,
                self.options["glibc"],
                found,
            )
        return self._too_little_room(host)

    def _too_little_room(self, host: Host) -> Optional[str]:
        from .._jobs.machine import room
        from .._scan.amounts import format_count, format_size

        above, rooms = room(host, os.path.dirname(self.options["prefix"]))
        for whose, left in rooms:
            lacking = [
                "%s left of the %s that it takes" % (shown(has), shown(needs))
                for has, needs, shown in (
                    (left.bytes, self.options["bytes"], format_size),
                    (left.files, self.options["files"], lambda number: format_count(number, "file")),
                )
                if has is not None and has < needs
            ]
            if lacking:
                return "%s has too little room at %s: %s; remove files or ask the site for more, then run again" % (
                    whose,
                    above,
                    " and ".join(lacking),
                )
        return None

    def _others_environments(self, host: Host) -> Optional[str]:
        """Environments below the prefix that are not ours; with them it is not ours to remove."""
        folder = os.path.join(self.options["prefix"], "envs")
        for name in host.names(folder):
            if words(host, os.path.join(folder, name, MADE)) is None and not name.startswith("."):
                return "the environment %s in %s is yours: remove it first (conda env remove -n %s)" % (
                    name,
                    host.shown(folder),
                    name,
                )
        return None

    def remarks(self, host: Host) -> List[str]:
        """A block of 'conda init' in a start-up file: reported, and left to its owner."""
        for name in startup.FILES:
            path = os.path.join(host.home, name)
            if host.resolved_kind(path) == "file" and startup.has_conda_block(
                words(host, host.resolve(path) or "") or ""
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
        made = words(host, os.path.join(self.options["prefix"], MADE))
        update = made is not None and self._no_older(made) != self._wanted.made
        CondaJob(self.job_folder, self._wanted, update).start(host)
