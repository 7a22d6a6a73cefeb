# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The jobs that install and remove conda, which takes minutes: they download, check and run its installer.

A job is a process in the background, with a folder of its own. Each finished folder of a conda contains a mark, a small
file that describes the content. While a folder is being created, a note in the job's folder contains its path. So a job
can be killed and started again: the next job continues the download of the installer, and creates an unfinished prefix
(the folder of the conda) or environment again. A Host reads and changes the account's files.
"""

import os
import shutil
from typing import Dict, List, Mapping

from .._core.errors import AccountError
from .._core.host import Host
from .._formats import condarc, origin_mark
from .conda_spec import CondaSpec
from .download import check_sha256, download_file
from .job import CREATED_BY_OTHERS_TEXT, NOT_UNFINISHED_TEXT, JobFailed, write_small_file
from .made import FINISHED_MARK
from .programs import ProgramFailed, ProgramJob, read_if_exists, simulate_file

REMOVED_VARIABLES = (  # of the user's environment, because they change what the installer and conda do
    "PYTHONPATH",
    "PYTHONHOME",
    "PYTHONSTARTUP",
    "CONDARC",
    "CI",
    "LD_PRELOAD",
    "LD_LIBRARY_PATH",
    "BASH_ENV",
)
TERMS_TEXT = (
    "you have not accepted a channel's terms of service. Read them, then run '%s/bin/conda tos accept',"
    " or set conda-forge as the channel"
)
TERMS_SIGNS = ("CondaToSNonInteractiveError", "Terms of Service have not been accepted")  # in conda's output
FIXED_STEPS = 3  # check the installer, run it, write the settings; then one step for each environment
INSTALLER = "installer.sh"  # conda's installer refuses to run without this suffix


class CondaJob(ProgramJob):
    """Installs conda into its prefix, and creates and updates its environments."""

    def __init__(self, folder: str, spec: CondaSpec, is_outdated: bool) -> None:
        """folder: the job's private folder. spec: the desired conda.

        is_outdated: True if the prefix contains a finished conda that is older than the desired version.
        """
        super().__init__(folder)
        self._spec = spec
        self._is_outdated = is_outdated
        self._steps = FIXED_STEPS + len(spec.environments)

    def work(self) -> None:
        """Install what is missing, write the settings, and create or update the environments that differ."""
        self._remove_unfinished()
        prefix = self._prefix
        if self._is_outdated or not os.path.exists(os.path.join(prefix, FINISHED_MARK)):
            self._download_installer()
            self._run_installer()
        self._write_settings()
        for number, environment in enumerate(self._spec.environments):
            mark_path = os.path.join(prefix, "envs", environment["name"], FINISHED_MARK)
            # the mark has the digest of the file from which the environment was last created or updated
            if read_if_exists(mark_path) != origin_mark.hash_text(environment["content"]):
                self.report("environment %s" % environment["name"], FIXED_STEPS + number, self._steps)
                self._make_environment(environment, mark_path)

    def simulate(self, host: Host) -> None:
        """Write the marks and settings of a finished conda, but none of its programs."""
        prefix = self._spec.prefix
        files = {FINISHED_MARK: self._spec.mark, condarc.PLACE: self._spec.settings}
        for environment in self._spec.environments:
            files["envs/%s/%s" % (environment["name"], FINISHED_MARK)] = origin_mark.hash_text(environment["content"])
        for name, content in files.items():
            path = os.path.join(prefix, name)
            host.make_folders(os.path.dirname(path), 0o755)
            simulate_file(host, path, content, 0o644)

    def _remove_unfinished(self) -> None:
        """Remove the prefix or environment that an earlier job began to create and did not finish."""
        noted_path = read_if_exists(self.note)
        if noted_path:
            path = self._resolve_unfinished(noted_path)
            if not os.path.exists(os.path.join(path, FINISHED_MARK)) and os.path.lexists(path):
                self.report("removing an unfinished installation")
                shutil.rmtree(path)

    @property
    def _prefix(self) -> str:
        """Return the path of the prefix through the handle of its open parent folder.

        No other user can replace an open folder. Only this process has the handle, so commands, and the contents of
        files, use spec.prefix.
        """
        return os.path.join(self.parent, os.path.basename(self._spec.prefix))

    def _resolve_unfinished(self, path: str) -> str:
        """Return the path through the open parent folder of an unfinished prefix or environment.

        Raise AccountError for any other path, which hpc-onboard would not have noted.
        """
        parent, name = os.path.split(path)
        if path == self._spec.prefix:
            return self._prefix
        if parent != os.path.join(self._spec.prefix, "envs") or name in ("", ".", ".."):
            raise AccountError(NOT_UNFINISHED_TEXT % (path, self.display_path))
        return os.path.join(self._prefix, "envs", name)

    def _mark_finished(self, mark_path: str, mark: str) -> None:
        """Write the mark of a finished folder into its file, and remove the note, if the folder was unfinished."""
        write_small_file(mark_path, mark)
        if os.path.exists(self.note):
            os.unlink(self.note)

    # -- the installer -------------------------------------------------------------------------

    @property
    def _installer(self) -> str:
        """Return the path of the downloaded installer, in the job's folder."""
        return os.path.join(self.folder, INSTALLER)

    def _download_installer(self) -> None:
        """Download the installer. If no connection succeeds, the error asks the user's machine to send the file."""
        spec = self._spec
        step = "downloading %s" % spec.title
        try:
            download_file(
                spec.url,
                self._installer,
                spec.sha256,
                spec.proxies,
                lambda done, total: self.report(step, done, total, unit="bytes"),
            )
        except JobFailed as error:
            if error.wants is not None:  # no connection succeeded: the user's machine can send the file
                # the ordinary path: another process, which has no handle of this job, stores the file there
                path = os.path.join(os.path.dirname(spec.prefix), self.name, INSTALLER)
                error.wants = {"url": spec.url, "sha256": spec.sha256, "path": path}
            raise

    def _run_installer(self) -> None:
        """Check and run the installer, start the new conda once, and mark the prefix as finished."""
        spec = self._spec
        self.report("checking the installer", 0, self._steps)
        check_sha256(self._installer, spec.sha256)
        self.report("installing %s" % spec.title, 1, self._steps)
        command = ["bash", self._installer, "-b", "-p", spec.prefix]  # -b: without questions
        if self._is_outdated:
            command.append("-u")  # update the existing installation
        else:
            if os.path.lexists(self._prefix):
                raise AccountError(CREATED_BY_OTHERS_TEXT % spec.prefix)
            write_small_file(self.note, spec.prefix)
        self._run(command, "the installer", HOME=self.folder)  # the installer also writes into the home
        self._run([os.path.join(self._prefix, "bin", "conda"), "--version"], "the new conda")
        os.unlink(self._installer)
        self._mark_finished(os.path.join(self._prefix, FINISHED_MARK), spec.mark)

    def _write_settings(self) -> None:
        """Write the settings of hpc-onboard into the prefix."""
        self.report("writing the settings", 2, self._steps)
        file = os.path.join(self._prefix, condarc.PLACE)
        os.makedirs(os.path.dirname(file), exist_ok=True)
        write_small_file(file, self._spec.settings)

    # -- the environments ----------------------------------------------------------------------

    def _make_environment(self, environment: Mapping[str, str], mark_path: str) -> None:
        """Create or update one environment from its file, and write its mark.

        environment: its "name" and its "content", the text of the file. mark_path: of the mark's file.
        """
        name, folder = environment["name"], os.path.dirname(mark_path)
        is_explicit = condarc.is_explicit(environment["content"])  # the file lists the addresses of packages
        file = os.path.join(self.folder, "%s.%s" % (name, "txt" if is_explicit else "yml"))
        write_small_file(file, environment["content"])
        is_finished = os.path.exists(mark_path)
        path = os.path.join(self._spec.prefix, "envs", name)
        if not is_finished:
            if os.path.lexists(folder):
                raise AccountError(CREATED_BY_OTHERS_TEXT % path)
            write_small_file(self.note, path)
        conda = [os.path.join(self._prefix, "bin", "conda"), *_choose_subcommand(is_explicit, is_finished)]
        # -p, because the user's settings may have another folder for environments with a name (-n)
        self._run([*conda, "-p", path, "--file", file], "conda for the environment %s" % name)
        self._mark_finished(mark_path, origin_mark.hash_text(environment["content"]))

    def _run(self, command: List[str], title: str, **variables: str) -> None:
        """Run a command to its end. title: the command's name in messages. variables: set for this command only.

        Raise AccountError if the command fails.
        """
        try:
            environment = self._build_environment(variables)
            self.run(command, title, created=self._spec.prefix, environment=environment)
        except ProgramFailed as error:
            if any(sign in error.output for sign in TERMS_SIGNS):
                raise AccountError(TERMS_TEXT % self._spec.prefix) from None
            raise

    def _build_environment(self, variables: Mapping[str, str]) -> Dict[str, str]:
        """Return the account's environment without variables that confuse conda, and with these variables."""
        environment = self.clean_environment(REMOVED_VARIABLES, self._spec.proxies)
        environment.update(variables)
        environment["CONDA_PLUGINS_AUTO_ACCEPT_TOS"] = "false"  # only the user may accept a channel's terms of service
        environment["PIP_CACHE_DIR"] = os.path.join(self.folder, "pip")
        return environment


def _choose_subcommand(is_explicit: bool, is_finished: bool) -> List[str]:
    """Return conda's subcommand that creates or updates an environment from a file.

    is_explicit: the file lists the addresses of packages, which "conda env" rejects. is_finished: the environment
    exists already.
    """
    if is_explicit:
        return ["install" if is_finished else "create", "--yes"]
    return ["env", "update", "--prune"] if is_finished else ["env", "create"]


class CondaRemovalJob(ProgramJob):
    """Removes a conda that hpc-onboard installed, with its environments."""

    def __init__(self, folder: str, prefix: str) -> None:
        """folder: the job's private folder. prefix: the folder of the conda."""
        super().__init__(folder)
        self._prefix = prefix

    def work(self) -> None:
        """Remove the prefix, noted as unfinished: after an interruption, the next run removes the rest."""
        self.report("removing %s" % self._prefix)
        write_small_file(self.note, self._prefix)
        prefix = os.path.join(self.parent, os.path.basename(self._prefix))  # through the open parent folder
        mark = os.path.join(prefix, FINISHED_MARK)
        if os.path.lexists(mark):
            os.unlink(mark)  # first, because a prefix with a mark counts as finished
        shutil.rmtree(prefix)

    def simulate(self, host: Host) -> None:
        """Remove the prefix from the simulated account."""
        host.remove_folder(self._prefix)
