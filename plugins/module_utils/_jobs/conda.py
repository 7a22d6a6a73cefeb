# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fetches, checks and runs conda's installer, and makes the environments: what takes minutes on the account.

What is done is read from the account each time, so a job that was killed is gone on with: a part of the
installer is kept, a half-made prefix or environment that is ours is made anew.
"""

import os
import shutil
from typing import Dict, List, Mapping

from .._core.errors import AccountError
from .._core.host import Host
from .._formats import condarc, origin_mark
from .conda_spec import Wanted
from .download import check_sum, fetch
from .job import MARK, Failed, Job, put
from .made import MADE, MAKING
from .programs import ProgramJob, Unsuccessful, written

TAKEN_OUT = ("PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "CONDARC", "CI", "LD_PRELOAD", "LD_LIBRARY_PATH", "BASH_ENV")
TERMS = (
    "a channel's terms of service are not accepted; that is for you to do: read them, then run"
    " '%s/bin/conda tos accept', or take conda-forge as the channel"
)
TERMS_SIGNS = ("CondaToSNonInteractiveError", "Terms of Service have not been accepted")
INSTALLER = "installer.sh"  # it refuses to run under another ending


class CondaJob(ProgramJob):
    """Installs conda into its prefix and keeps its environments."""

    def __init__(self, folder: str, wanted: Wanted, update: bool) -> None:
        """update: a finished prefix of ours holds an older version."""
        super().__init__(folder)
        self._wanted = wanted
        self._update = update
        self._steps = 3 + len(wanted.environments)

    def work(self) -> None:
        """Install what is not installed, write the settings, make the environments that are not as wanted."""
        self._start_over()
        prefix = self._prefix
        if self._update or not os.path.exists(os.path.join(prefix, MADE)):
            self._fetch()
            self._install()
        self._settle()
        for number, environment in enumerate(self._wanted.environments):
            marker = os.path.join(prefix, "envs", environment["name"], MADE)
            if written(marker) != origin_mark.digest(environment["content"]):
                self.say("environment %s" % environment["name"], 3 + number, self._steps)
                self._make(environment, marker)

    def pretend(self, host: Host) -> None:
        prefix = self._wanted.prefix
        files = {MADE: self._wanted.made, condarc.PLACE: self._wanted.settings}
        for environment in self._wanted.environments:
            files["envs/%s/%s" % (environment["name"], MADE)] = origin_mark.digest(environment["content"])
        for name, content in files.items():
            path = os.path.join(prefix, name)
            host.make_folders(os.path.dirname(path), 0o755)
            found = host.entry(path)
            host.write(path, host.read(path) if found else None, content.encode("utf-8"), 0o644)

    def _start_over(self) -> None:
        """Take out what an earlier job had begun to make and did not finish; it is nobody's."""
        half = written(os.path.join(self.folder, MAKING))
        if half:
            begun = self._of_ours(half)
            if not os.path.exists(os.path.join(begun, MADE)) and os.path.lexists(begun):
                self.say("clearing away what was half made")
                shutil.rmtree(begun)

    @property
    def _prefix(self) -> str:
        """The prefix in the folder as it was opened; its path is for what is written into it, and for programs."""
        return os.path.join(self.above, os.path.basename(self._wanted.prefix))

    def _of_ours(self, path: str) -> str:
        """The prefix, or the folder of an environment, that has this path; nothing else is ever begun, or removed."""
        above, name = os.path.split(path)
        if path == self._wanted.prefix:
            return self._prefix
        if above != os.path.join(self._wanted.prefix, "envs") or name in ("", ".", ".."):
            raise AccountError("%s is said to be half made, but is none of ours: it stays" % path)
        return os.path.join(self._prefix, "envs", name)

    def _begin(self, path: str) -> None:
        """Note that path is about to be made from nothing: until it is finished, it may be taken out again."""
        put(os.path.join(self.folder, MAKING), path)

    def _finished(self, marker: str, content: str) -> None:
        put(marker, content)
        os.unlink(os.path.join(self.folder, MAKING))

    # -- the installer -------------------------------------------------------------------------

    @property
    def _installer(self) -> str:
        return os.path.join(self.folder, INSTALLER)

    def _fetch(self) -> None:
        wanted = self._wanted
        step = "downloading %s" % wanted.title
        try:
            fetch(
                wanted.url, self._installer, wanted.sha256, wanted.proxies, lambda a, b: self.say(step, a, b, "bytes")
            )
        except Failed as error:
            if error.wants is not None:
                place = os.path.join(os.path.dirname(wanted.prefix), self.name, INSTALLER)
                error.wants = {"url": wanted.url, "sha256": wanted.sha256, "path": place}
            raise

    def _install(self) -> None:
        wanted = self._wanted
        self.say("checking the installer", 0, self._steps)
        check_sum(self._installer, wanted.sha256)
        self.say("installing %s" % wanted.title, 1, self._steps)
        if not self._update:
            if os.path.lexists(self._prefix):
                raise AccountError("%s was made meanwhile, not by us: it stays" % wanted.prefix)
            self._begin(wanted.prefix)
        line = ["bash", self._installer, "-b", "-p", wanted.prefix] + (["-u"] if self._update else [])
        self._run(line, "the installer", HOME=self.folder)  # it writes into the home, wherever the prefix lies
        self._run([os.path.join(self._prefix, "bin", "conda"), "--version"], "the new conda")
        os.unlink(self._installer)
        if self._update:
            put(os.path.join(self._prefix, MADE), wanted.made)
        else:
            self._finished(os.path.join(self._prefix, MADE), wanted.made)

    def _settle(self) -> None:
        """Write our settings into the prefix."""
        self.say("writing the settings", 2, self._steps)
        file = os.path.join(self._prefix, condarc.PLACE)
        os.makedirs(os.path.dirname(file), exist_ok=True)
        put(file, self._wanted.settings)

    # -- the environments ----------------------------------------------------------------------

    def _make(self, environment: Mapping[str, str], marker: str) -> None:
        name, folder = environment["name"], os.path.dirname(marker)
        explicit = condarc.is_explicit(environment["content"])
        file = os.path.join(self.folder, "%s.%s" % (name, "txt" if explicit else "yml"))
        put(file, environment["content"])
        there = os.path.exists(marker)
        if there:
            line = ["install", "--yes", "-n", name] if explicit else ["env", "update", "--prune", "-n", name]
        else:
            if os.path.lexists(folder):
                raise AccountError("the environment %s was made meanwhile, not by us: it stays" % name)
            self._begin(os.path.join(self._wanted.prefix, "envs", name))
            line = ["create", "--yes", "-n", name] if explicit else ["env", "create", "-n", name]
        conda = os.path.join(self._prefix, "bin", "conda")
        self._run([conda, *line, "--file", file], "the environment %s" % name)
        if there:
            put(marker, origin_mark.digest(environment["content"]))
        else:
            self._finished(marker, origin_mark.digest(environment["content"]))

    def _run(self, line: List[str], what: str, **more: str) -> None:
        """Run a program to its end. Raises AccountError with its last words when it fails."""
        try:
            self.run(line, what, self._wanted.prefix, self._environment(more))
        except Unsuccessful as error:
            if any(sign in error.said for sign in TERMS_SIGNS):
                raise AccountError(TERMS % self._wanted.prefix) from None
            raise

    def _environment(self, more: Mapping[str, str]) -> Dict[str, str]:
        """The account's environment without what would lead conda astray, and with nothing accepted for anybody."""
        kept = {name: value for name, value in os.environ.items() if name not in TAKEN_OUT}
        kept.update(proxy_variables(self._wanted.proxies))
        kept.update(more)
        kept[MARK] = self.mark
        kept["CONDA_PLUGINS_AUTO_ACCEPT_TOS"] = "false"
        kept["PIP_CACHE_DIR"] = os.path.join(self.folder, "pip")
        kept["PYTHONNOUSERSITE"] = "1"
        return kept


class RemovalJob(Job):
    """Takes out a conda of ours, with the environments that we made."""

    def __init__(self, folder: str, prefix: str) -> None:
        super().__init__(folder)
        self._prefix = prefix

    def work(self) -> None:
        """Note first that what is left is ours: the marks that say so are among the first things to go."""
        self.say("removing %s" % self._prefix)
        put(os.path.join(self.folder, MAKING), self._prefix)
        prefix = os.path.join(self.above, os.path.basename(self._prefix))
        made = os.path.join(prefix, MADE)
        if os.path.lexists(made):
            os.unlink(made)
        shutil.rmtree(prefix)

    def pretend(self, host: Host) -> None:
        host.remove_folder(self._prefix)


def proxy_variables(proxies: Mapping[str, str]) -> Dict[str, str]:
    """The environment variables that name the proxies, in both spellings that programs look for."""
    named = {"%s_proxy" % name: value for name, value in proxies.items()}
    return dict(named, **{name.upper(): value for name, value in named.items()})
