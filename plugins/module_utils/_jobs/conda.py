# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The installation of conda and its environments, which takes minutes: download, check and run the installer.

The job reads from the account what is done, so it can be killed and started again: the part of the installer that
arrived is kept, and an unfinished prefix or environment of ours is created again.
"""

import os
import shutil
from typing import Dict, List, Mapping

from .._core.errors import AccountError
from .._core.host import Host
from .._formats import condarc, origin_mark
from .conda_spec import CondaSpec
from .download import check_sha256, fetch
from .job import MARK, Job, JobFailed, write_small_file
from .made import MADE, MAKING
from .programs import ProgramFailed, ProgramJob, read_if_exists

REMOVED_VARIABLES = (
    "PYTHONPATH",
    "PYTHONHOME",
    "PYTHONSTARTUP",
    "CONDARC",
    "CI",
    "LD_PRELOAD",
    "LD_LIBRARY_PATH",
    "BASH_ENV",
)
TERMS = (
    "you have not accepted a channel's terms of service. Read them, then run '%s/bin/conda tos accept',"
    " or set conda-forge as the channel"
)
TERMS_SIGNS = ("CondaToSNonInteractiveError", "Terms of Service have not been accepted")
INSTALLER = "installer.sh"  # conda's installer refuses to run without this suffix


class CondaJob(ProgramJob):
    """Installs conda into its prefix, and creates and updates its environments."""

    def __init__(self, folder: str, spec: CondaSpec, update: bool) -> None:
        """update: the prefix is finished and has an older version."""
        super().__init__(folder)
        self._spec = spec
        self._update = update
        self._steps = 3 + len(spec.environments)

    def work(self) -> None:
        """Install what is missing, write the settings, and create or update the environments that differ."""
        self._remove_unfinished()
        prefix = self._prefix
        if self._update or not os.path.exists(os.path.join(prefix, MADE)):
            self._fetch()
            self._install()
        self._write_settings()
        for number, environment in enumerate(self._spec.environments):
            marker = os.path.join(prefix, "envs", environment["name"], MADE)
            if read_if_exists(marker) != origin_mark.digest(environment["content"]):
                self.report("environment %s" % environment["name"], 3 + number, self._steps)
                self._make_environment(environment, marker)

    def simulate(self, host: Host) -> None:
        """Write the marks and settings of a finished conda, without its programs."""
        prefix = self._spec.prefix
        files = {MADE: self._spec.made, condarc.PLACE: self._spec.settings}
        for environment in self._spec.environments:
            files["envs/%s/%s" % (environment["name"], MADE)] = origin_mark.digest(environment["content"])
        for name, content in files.items():
            path = os.path.join(prefix, name)
            host.make_folders(os.path.dirname(path), 0o755)
            found = host.entry(path)
            host.write(path, host.read(path) if found else None, content.encode("utf-8"), 0o644)

    def _remove_unfinished(self) -> None:
        """Remove the prefix or environment that an earlier job began to create and did not finish."""
        half = read_if_exists(os.path.join(self.folder, MAKING))
        if half:
            begun = self._resolve_own(half)
            if not os.path.exists(os.path.join(begun, MADE)) and os.path.lexists(begun):
                self.report("removing an unfinished installation")
                shutil.rmtree(begun)

    @property
    def _prefix(self) -> str:
        """Return the prefix by way of the opened folder above it. Programs and file contents use spec.prefix."""
        return os.path.join(self.above, os.path.basename(self._spec.prefix))

    def _resolve_own(self, path: str) -> str:
        """Return a path of the prefix or an environment by way of the opened folder. Raise AccountError for others."""
        above, name = os.path.split(path)
        if path == self._spec.prefix:
            return self._prefix
        if above != os.path.join(self._spec.prefix, "envs") or name in ("", ".", ".."):
            raise AccountError(
                "%s is recorded as unfinished, but was not created by hpc-onboard, so it is not removed" % path
            )
        return os.path.join(self._prefix, "envs", name)

    def _note_unfinished(self, path: str) -> None:
        """Note that path is about to be created. Until it is finished, the next job may remove it."""
        write_small_file(os.path.join(self.folder, MAKING), path)

    def _note_finished(self, marker: str, content: str) -> None:
        """Write the mark of a finished folder, and forget that it is being created."""
        write_small_file(marker, content)
        os.unlink(os.path.join(self.folder, MAKING))

    # -- the installer -------------------------------------------------------------------------

    @property
    def _installer(self) -> str:
        """Return the path of the downloaded installer, in the job's folder."""
        return os.path.join(self.folder, INSTALLER)

    def _fetch(self) -> None:
        """Download the installer. If the account has no network, the error names the file for the controller."""
        spec = self._spec
        step = "downloading %s" % spec.title
        try:
            fetch(spec.url, self._installer, spec.sha256, spec.proxies, lambda a, b: self.report(step, a, b, "bytes"))
        except JobFailed as error:
            if error.wants is not None:
                place = os.path.join(os.path.dirname(spec.prefix), self.name, INSTALLER)
                error.wants = {"url": spec.url, "sha256": spec.sha256, "path": place}
            raise

    def _install(self) -> None:
        """Check and run the installer, try the new conda, and mark the prefix as finished."""
        spec = self._spec
        self.report("checking the installer", 0, self._steps)
        check_sha256(self._installer, spec.sha256)
        self.report("installing %s" % spec.title, 1, self._steps)
        if not self._update:
            if os.path.lexists(self._prefix):
                raise AccountError("%s was created by another program during this job and is not changed" % spec.prefix)
            self._note_unfinished(spec.prefix)
        line = ["bash", self._installer, "-b", "-p", spec.prefix] + (["-u"] if self._update else [])
        self._run(line, "the installer", HOME=self.folder)  # it writes into the home, wherever the prefix is
        self._run([os.path.join(self._prefix, "bin", "conda"), "--version"], "the new conda")
        os.unlink(self._installer)
        if self._update:
            write_small_file(os.path.join(self._prefix, MADE), spec.made)
        else:
            self._note_finished(os.path.join(self._prefix, MADE), spec.made)

    def _write_settings(self) -> None:
        """Write the settings of hpc-onboard into the prefix."""
        self.report("writing the settings", 2, self._steps)
        file = os.path.join(self._prefix, condarc.PLACE)
        os.makedirs(os.path.dirname(file), exist_ok=True)
        write_small_file(file, self._spec.settings)

    # -- the environments ----------------------------------------------------------------------

    def _make_environment(self, environment: Mapping[str, str], marker: str) -> None:
        """Create or update one environment from its file, and write its mark."""
        name, folder = environment["name"], os.path.dirname(marker)
        explicit = condarc.is_explicit(environment["content"])
        file = os.path.join(self.folder, "%s.%s" % (name, "txt" if explicit else "yml"))
        write_small_file(file, environment["content"])
        is_finished = os.path.exists(marker)
        if is_finished:
            line = ["install", "--yes", "-n", name] if explicit else ["env", "update", "--prune", "-n", name]
        else:
            if os.path.lexists(folder):
                raise AccountError(
                    "the environment %s was created by another program during this job and is not changed" % name
                )
            self._note_unfinished(os.path.join(self._spec.prefix, "envs", name))
            line = ["create", "--yes", "-n", name] if explicit else ["env", "create", "-n", name]
        conda = os.path.join(self._prefix, "bin", "conda")
        self._run([conda, *line, "--file", file], "conda for the environment %s" % name)
        if is_finished:
            write_small_file(marker, origin_mark.digest(environment["content"]))
        else:
            self._note_finished(marker, origin_mark.digest(environment["content"]))

    def _run(self, line: List[str], what: str, **more: str) -> None:
        """Run a program to its end. Raises AccountError with the end of its output if it fails."""
        try:
            self.run(line, what, self._spec.prefix, self._environment(more))
        except ProgramFailed as error:
            if any(sign in error.output for sign in TERMS_SIGNS):
                raise AccountError(TERMS % self._spec.prefix) from None
            raise

    def _environment(self, more: Mapping[str, str]) -> Dict[str, str]:
        """Return the account's environment without variables that confuse conda. No terms of service are accepted."""
        kept = {name: value for name, value in os.environ.items() if name not in REMOVED_VARIABLES}
        kept.update(render_proxy_variables(self._spec.proxies))
        kept.update(more)
        kept[MARK] = self.mark
        kept["CONDA_PLUGINS_AUTO_ACCEPT_TOS"] = "false"
        kept["PIP_CACHE_DIR"] = os.path.join(self.folder, "pip")
        kept["PYTHONNOUSERSITE"] = "1"
        return kept


class RemovalJob(Job):
    """Removes a conda of ours, with the environments that hpc-onboard created."""

    def __init__(self, folder: str, prefix: str) -> None:
        super().__init__(folder)
        self._prefix = prefix

    def work(self) -> None:
        """Remove the prefix. A note in the job's folder says first that it is ours, because its marks go early."""
        self.report("removing %s" % self._prefix)
        write_small_file(os.path.join(self.folder, MAKING), self._prefix)
        prefix = os.path.join(self.above, os.path.basename(self._prefix))
        made = os.path.join(prefix, MADE)
        if os.path.lexists(made):
            os.unlink(made)
        shutil.rmtree(prefix)

    def simulate(self, host: Host) -> None:
        host.remove_folder(self._prefix)


def render_proxy_variables(proxies: Mapping[str, str]) -> Dict[str, str]:
    """Return the environment variables that name the proxies, in small and capital letters."""
    named = {"%s_proxy" % name: value for name, value in proxies.items()}
    return dict(named, **{name.upper(): value for name, value in named.items()})
