# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The jobs that create and remove a Python environment. An existing one stays until the new one is finished.

A job is a process in the background, with a folder of its own. Each version of an environment has its own folder,
because its programs contain their path. A link points to the current version. A finished version contains a mark, a
small file that describes it. While a version is being created, a note in the job's folder contains its path. A Host
reads and changes the account's files.
"""

import os
import shlex
import shutil
from typing import Dict, List

from .._core.errors import AccountError
from .._core.host import Host
from .._core.search_path import find_program
from .env_spec import LOCK, EnvSpec, read_packages
from .job import CREATED_BY_OTHERS_TEXT, NOT_UNFINISHED_TEXT, write_small_file
from .made import FINISHED_MARK
from .modules import wrap_with_modules
from .programs import ProgramJob, read_if_exists, simulate_file

REMOVED_VARIABLES = ("PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "VIRTUAL_ENV", "PIP_USER", "PIP_TARGET", "PIP_PREFIX")
STEPS = 4  # create, install, write the lock file, switch the link


class PythonEnvJob(ProgramJob):
    """Creates a version of an environment, and points the link to it."""

    def __init__(self, folder: str, spec: EnvSpec) -> None:
        """folder: the job's private folder. spec: the desired environment."""
        super().__init__(folder)
        self._spec = spec
        self._version = ""  # the name of the new version, once work() or simulate() has chosen it

    def work(self) -> None:
        """Create the new version, then switch the link, then remove versions older than the previous version."""
        self._remove_unfinished()
        self._version = self._choose_version_name()
        os.makedirs(self._versions, exist_ok=True)
        write_small_file(self.note, self._version_path)
        write_small_file(os.path.join(self._versions, FINISHED_MARK), self._spec.render_folder_mark())
        try:
            self._create_environment()
            self._install_packages()
            self.report("writing the lock file", 3, STEPS)
            self._write_lock_and_mark()
        except (AccountError, OSError):
            self._remove_unfinished()  # the disk may be full: free the space
            raise
        os.unlink(self.note)
        previous_version = self._switch_link()
        self._remove_old_versions(previous_version)

    def simulate(self, host: Host) -> None:
        """Write the marks, an empty python and the link of a finished environment."""
        spec = self._spec
        names = spec.version_names()
        self._version = next(name for name in names if host.entry(os.path.join(spec.versions, name)) is None)
        path = self._version_path
        for folder in (path + "/bin", path + "/lib/python3/site-packages"):
            host.make_folders(folder, 0o755)
        simulate_file(host, os.path.join(spec.versions, FINISHED_MARK), spec.render_folder_mark(), 0o644)
        simulate_file(host, path + "/bin/python", "", 0o644)
        simulate_file(host, os.path.join(path, FINISHED_MARK), spec.render_mark(locked=[]), 0o644)
        host.make_link(spec.path, self._link_text)

    # -- paths ---------------------------------------------------------------------------------

    @property
    def _versions(self) -> str:
        """Return the path of the folder of all versions through the open parent folder. Programs use spec.versions."""
        return os.path.join(self.parent, os.path.basename(self._spec.versions))

    @property
    def _version_path(self) -> str:
        """Return the path of the new version for programs and for the content of files."""
        return os.path.join(self._spec.versions, self._version)

    @property
    def _version_via_handle(self) -> str:
        """Return the path of the new version through the open parent folder, for this process's own access to files."""
        return os.path.join(self._versions, self._version)

    @property
    def _link_text(self) -> str:
        """Return the target of the link: relative, because compute nodes may have the folder at another path."""
        return os.path.join(os.path.basename(self._spec.versions), self._version)

    def _choose_version_name(self) -> str:
        """Return a name for the new version that no existing version has."""
        names = self._spec.version_names()
        return next(name for name in names if not os.path.lexists(os.path.join(self._versions, name)))

    def _remove_unfinished(self) -> None:
        """Remove the version that this or an earlier job began to create and did not finish."""
        noted_path = read_if_exists(self.note)
        if not noted_path:
            return
        parent, name = os.path.split(noted_path)
        if parent != self._spec.versions or name in ("", ".", ".."):
            raise AccountError(NOT_UNFINISHED_TEXT % (noted_path, self.display_path))
        path = os.path.join(self._versions, name)
        if os.path.lexists(path) and not self._is_current(name):  # never remove the version in use
            self.report("removing an unfinished environment")
            shutil.rmtree(path)
        os.unlink(self.note)

    def _is_current(self, name: str) -> bool:
        """Return True if the link points to this version."""
        return self._read_link() == os.path.join(os.path.basename(self._versions), name)

    def _read_link(self) -> str:
        """Return the present target of the link, or "" if no link exists."""
        link = os.path.join(self.parent, os.path.basename(self._spec.path))
        return os.readlink(link) if os.path.islink(link) else ""

    # -- the steps -----------------------------------------------------------------------------

    def _create_environment(self) -> None:
        """Create the empty environment."""
        self.report("creating the environment", 0, STEPS)
        self._run_with_modules(self._build_create_command(), "creating the environment")
        if self._spec.options["offline"] and not self._uses_uv:  # the site's wheels may need a newer pip than Python's
            self._pip_install(["--upgrade", "pip"], "updating pip")

    def _install_packages(self) -> None:
        """Install the packages, if any are requested."""
        number = len(self._spec.packages)
        if number:
            self.report("installing %s" % ("1 package" if number == 1 else "%d packages" % number), 1, STEPS)
            self._pip_install(self._spec.packages, "installing the packages")

    def _pip_install(self, arguments: List[str], step: str) -> None:
        """Run "pip install" of pip or uv with these arguments. step: the title of this step in messages."""
        if self._uses_uv:
            command = [self._uv, "pip", "install", "--python", self._python]
        else:
            command = [self._python, "-m", "pip", "install", "--no-input", "--disable-pip-version-check"]
        self._run_with_modules([*command, *self._spec.index_options(), *arguments], step)

    def _write_lock_and_mark(self) -> None:
        """Write the lock and the activation files, and last the mark of a finished version."""
        if self._uses_uv:
            freeze = [self._uv, "pip", "freeze", "--python", self._python]
        else:
            freeze = [self._python, "-m", "pip", "freeze", "--disable-pip-version-check"]
        lock = os.path.join(self._version_path, LOCK)
        # the shell command writes the output of freeze to the lock file
        self._run_with_modules(
            ["/bin/sh", "-c", 'lock=$1; shift; exec "$@" >"$lock"', "sh", lock, *freeze], "writing the lock file"
        )
        folder = self._version_via_handle
        write_small_file(os.path.join(folder, "activate"), self._render_activation())
        if self._spec.options["in_job"]:  # the variable with the path of a node's own disk, such as $SLURM_TMPDIR
            write_small_file(os.path.join(folder, "activate-in-job"), self._render_activation_in_job())
        write_small_file(os.path.join(folder, FINISHED_MARK), self._spec.render_mark(list_packages(folder)))

    def _switch_link(self) -> str:
        """Point the link to the new version, atomically. Return the name of the previous version, or ""."""
        previous_target, link = self._read_link(), os.path.join(self.parent, os.path.basename(self._spec.path))
        points_to_version = os.path.dirname(previous_target) == os.path.basename(self._versions)
        if os.path.lexists(link) and not points_to_version:
            raise AccountError(CREATED_BY_OTHERS_TEXT % self._spec.path)
        draft = os.path.join(self.folder, "link")
        if os.path.lexists(draft):
            os.unlink(draft)
        os.symlink(self._link_text, draft)
        os.rename(draft, link)
        return os.path.basename(previous_target)

    def _remove_old_versions(self, previous: str) -> None:
        """Remove all versions except the new version and the previous version, which Slurm jobs may still use."""
        for name in os.listdir(self._versions):
            if name not in (FINISHED_MARK, self._version, previous):
                # On NFS, files that a program still uses cannot be removed. The next job removes the rest.
                shutil.rmtree(os.path.join(self._versions, name), ignore_errors=True)

    # -- programs ------------------------------------------------------------------------------

    @property
    def _python(self) -> str:
        return os.path.join(self._version_path, "bin", "python")

    @property
    def _uv(self) -> str:
        """Return the path of uv. If the account does not have uv, return "uv", a command that then fails."""
        path = "%s:%s" % (os.environ.get("PATH", ""), os.path.expanduser("~/.local/bin"))
        return find_program("uv", path) or "uv"

    @property
    def _uses_uv(self) -> bool:
        """Return True if the user has chosen uv, or has left the choice open and uv is installed."""
        maker = self._spec.options["maker"]
        return bool(maker == "uv" or (maker == "any" and self._uv != "uv"))

    def _build_create_command(self) -> List[str]:
        """Return the command that creates the empty environment with uv, virtualenv or venv."""
        python = self._spec.options["python"]
        if self._uses_uv:
            return [self._uv, "venv", "--python", python, self._version_path]
        if self._spec.options["maker"] == "virtualenv":
            return ["virtualenv", "--no-download", "--python", python, self._version_path]
        return [python, "-m", "venv", self._version_path]  # for "venv", and for "any" without uv

    def _run_with_modules(self, command: List[str], step: str) -> None:
        """Run a command with the modules loaded. step: the title of this step in messages."""
        command = wrap_with_modules(self._spec.modules, command)
        self.run(command, title=step, created=self._spec.path, environment=self._build_environment())

    def _build_environment(self) -> Dict[str, str]:
        """Return the account's environment without variables that confuse pip, and with caches in the job's folder."""
        environment = self.clean_environment(REMOVED_VARIABLES, self._spec.options["proxies"])
        environment["PIP_CACHE_DIR"] = environment["UV_CACHE_DIR"] = os.path.join(self.folder, "cache")
        environment["VIRTUALENV_OVERRIDE_APP_DATA"] = os.path.join(self.folder, "virtualenv")
        return environment

    # -- files that the user sources -----------------------------------------------------------

    def _render_activation(self) -> str:
        """Return the file that loads the modules and activates the environment."""
        path = shlex.quote(self._spec.path)
        return "".join(
            ["# Source this in bash or zsh:  . %s/activate\n" % path]
            + ["module load %s\n" % shlex.quote(module) for module in self._spec.modules]
            + [". %s/bin/activate\n" % path]
        )

    def _render_activation_in_job(self) -> str:
        """Return the file that a Slurm job sources to create the same environment on the node's own disk.

        The option in_job names the variable that contains the path of this disk in a job.
        """
        spec = self._spec
        path, name = shlex.quote(spec.path), shlex.quote(os.path.basename(spec.path))
        local_path = '"%s"/%s' % (spec.options["in_job"], name)
        # With the Python of the environment; also in place of uv, which adds no pip: the commands below run pip.
        create_command = "%s/bin/python -m venv" % path
        if spec.options["maker"] == "virtualenv":
            create_command = 'VIRTUALENV_OVERRIDE_APP_DATA="%s"/virtualenv virtualenv --quiet --no-download --python %s'
            create_command %= (spec.options["in_job"], spec.options["python"])
        options = " ".join(shlex.quote(word) for word in spec.index_options())
        return "".join(
            ["# Source this in a job:  . %s/activate-in-job\n" % path]
            + ["# This file creates the environment on the node's own disk, from the lock file, and activates it.\n"]
            + ["module load %s\n" % shlex.quote(module) for module in spec.modules]
            + ["%s %s &&\n    . %s/bin/activate &&\n" % (create_command, local_path, local_path)]
            + ["    pip install --quiet --disable-pip-version-check %s -r %s/%s\n" % (options, path, LOCK)]
        )


class EnvRemovalJob(ProgramJob):
    """Removes an environment that hpc-onboard created: the link first, then all versions."""

    def __init__(self, folder: str, path: str, versions: str) -> None:
        """folder: the job's private folder. path: of the link. versions: the folder of all versions."""
        super().__init__(folder)
        self._path = path
        self._versions = versions

    def work(self) -> None:
        """Remove the link, unless the user has changed its target, and then the folder of all versions."""
        self.report("removing %s" % self._path)
        link = os.path.join(self.parent, os.path.basename(self._path))
        folder = os.path.join(self.parent, os.path.basename(self._versions))
        if os.path.islink(link) and os.path.dirname(os.readlink(link)) == os.path.basename(self._versions):
            os.unlink(link)
        # if this job is interrupted, the next one removes the rest only with a note of a path in the folder, and no
        # version is named "rest"
        write_small_file(self.note, os.path.join(self._versions, "rest"))
        if os.path.lexists(folder):
            shutil.rmtree(folder)

    def simulate(self, host: Host) -> None:
        """Remove the link and all versions."""
        if host.entry(self._path):
            host.remove(self._path)
        if host.entry(self._versions):
            host.remove_folder(self._versions)


def list_packages(environment: str) -> List[str]:
    """Return the packages in an environment as name==version. environment: the path of its folder."""
    library = os.path.join(environment, "lib")
    pythons = [name for name in os.listdir(library) if name.startswith("python")]
    folders = [os.path.join(library, python, "site-packages") for python in pythons]
    return read_packages([name for folder in folders if os.path.isdir(folder) for name in os.listdir(folder)])
