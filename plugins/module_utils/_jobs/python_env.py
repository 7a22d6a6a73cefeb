# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The creation of a Python environment, next to the existing one, which stays until the new one is finished.

Each version has a folder of its own, because its programs contain their path; a link points to the last one.
"""

import os
import shlex
import shutil
from typing import Dict, List

from .._core.errors import AccountError
from .._core.host import Host
from .._core.search_path import find_program
from .conda import render_proxy_variables
from .env_spec import LOCK, EnvSpec, installed
from .job import MARK, write_small_file
from .made import MADE, MAKING
from .modules import with_modules
from .programs import ProgramJob, read_if_exists

REMOVED_VARIABLES = ("PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "VIRTUAL_ENV", "PIP_USER", "PIP_TARGET", "PIP_PREFIX")
STEPS = 4


class PythonEnvJob(ProgramJob):
    """Creates an environment, and points the link to it."""

    def __init__(self, folder: str, spec: EnvSpec) -> None:
        super().__init__(folder)
        self._spec = spec
        self._version = ""

    def work(self) -> None:
        """Create it completely, then switch the link, then remove versions older than the previous one."""
        self._remove_unfinished()
        self._version = self._free_name()
        os.makedirs(self._versions, exist_ok=True)
        write_small_file(os.path.join(self.folder, MAKING), self._place)
        write_small_file(os.path.join(self._versions, MADE), self._spec.about())
        try:
            self._create()
            self._install()
            self.report("writing the lock file", 3, STEPS)
            self._finish()
        except (AccountError, OSError):
            self._remove_unfinished()  # free its space: the disk may be full
            raise
        os.unlink(os.path.join(self.folder, MAKING))
        before = self._switch_link()
        self._remove_old_versions(before)

    def simulate(self, host: Host) -> None:
        """Write the mark, an empty python and the link of a finished environment."""
        spec = self._spec
        self._version = next(
            name for name in self._spec.names() if host.entry(os.path.join(spec.versions, name)) is None
        )
        tree = [spec.versions, self._place, self._place + "/bin", self._place + "/lib", self._place + "/lib/python3"]
        for folder in tree[:-1]:
            host.make_folders(folder, 0o755)
        host.make_folders(tree[-1] + "/site-packages", 0o755)
        _simulate_file(host, os.path.join(spec.versions, MADE), spec.about())
        _simulate_file(host, self._place + "/bin/python", "")
        _simulate_file(host, os.path.join(self._place, MADE), spec.mark([]))
        host.make_link(spec.path, self._target)

    # -- where it goes -------------------------------------------------------------------------

    @property
    def _versions(self) -> str:
        """Return the folder of all versions by way of the opened folder. Programs use spec.versions."""
        return os.path.join(self.above, os.path.basename(self._spec.versions))

    @property
    def _place(self) -> str:
        """Return the path of the new version, as its programs and files name it."""
        return os.path.join(self._spec.versions, self._version)

    @property
    def _place_via_handle(self) -> str:
        """Return the path of the new version through the open folder, for writing files."""
        return os.path.join(self._versions, self._version)

    @property
    def _target(self) -> str:
        """Return the target of the link: relative, because the folder may have another path on compute nodes."""
        return os.path.join(os.path.basename(self._spec.versions), self._version)

    def _free_name(self) -> str:
        """Return a folder name that no existing version has."""
        return next(name for name in self._spec.names() if not os.path.lexists(os.path.join(self._versions, name)))

    def _remove_unfinished(self) -> None:
        """Remove a version that an earlier job began and did not finish; no link points to it."""
        half = read_if_exists(os.path.join(self.folder, MAKING))
        if not half:
            return
        above, name = os.path.split(half)
        if above != self._spec.versions or name in ("", ".", ".."):
            raise AccountError(
                "%s is recorded as unfinished, but was not created by hpc-onboard, so it is not removed" % half
            )
        begun = os.path.join(self._versions, name)
        if os.path.lexists(begun) and not self._is_current(name):
            self.report("removing an unfinished environment")
            shutil.rmtree(begun)
        os.unlink(os.path.join(self.folder, MAKING))

    def _is_current(self, name: str) -> bool:
        """Return True if the link points to this version."""
        return self._link_target() == os.path.join(os.path.basename(self._versions), name)

    def _link_target(self) -> str:
        """Return the present target of the link, or ""."""
        link = os.path.join(self.above, os.path.basename(self._spec.path))
        return os.readlink(link) if os.path.islink(link) else ""

    # -- the steps -----------------------------------------------------------------------------

    def _create(self) -> None:
        """Create the empty environment. The site's wheels may need a newer pip than Python brings."""
        self.report("creating the environment", 0, STEPS)
        self._run_with_modules(self._create_command(), "creating the environment")
        if self._spec.options["offline"] and not self._is_by_uv:
            self._pip(["--upgrade", "pip"], "updating pip")

    def _install(self) -> None:
        """Install the packages, if there are any."""
        number = len(self._spec.packages)
        if number:
            self.report("installing %s" % ("1 package" if number == 1 else "%d packages" % number), 1, STEPS)
            self._pip(self._spec.packages, "installing the packages")

    def _pip(self, words: List[str], what: str) -> None:
        """Run an installation by pip or uv. what: the step, for messages."""
        if self._is_by_uv:
            line = [self._uv, "pip", "install", "--python", self._python]
        else:
            line = [self._python, "-m", "pip", "install", "--no-input", "--disable-pip-version-check"]
        self._run_with_modules([*line, *self._spec.index_options(), *words], what)

    def _finish(self) -> None:
        """Write the lock and the activation files, and last the mark of a finished environment."""
        line = [self._uv, "pip", "freeze", "--python", self._python]
        freeze = line if self._is_by_uv else [self._python, "-m", "pip", "freeze", "--disable-pip-version-check"]
        lock = os.path.join(self._place, LOCK)
        self._run_with_modules(
            ["/bin/sh", "-c", 'lock=$1; shift; exec "$@" >"$lock"', "sh", lock, *freeze], "writing the lock file"
        )
        write_small_file(os.path.join(self._place_via_handle, "activate"), self._activation())
        if self._spec.options["in_job"]:
            write_small_file(os.path.join(self._place_via_handle, "activate-in-job"), self._activation_in_job())
        write_small_file(
            os.path.join(self._place_via_handle, MADE), self._spec.mark(list_packages(self._place_via_handle))
        )

    def _switch_link(self) -> str:
        """Point the link here, in one step. Return the name of the version that it pointed to before."""
        before, link = self._link_target(), os.path.join(self.above, os.path.basename(self._spec.path))
        if os.path.lexists(link) and os.path.dirname(before) != os.path.basename(self._versions):
            raise AccountError("%s was created by another program during this job and is not changed" % self._spec.path)
        draft = os.path.join(self.folder, "link")
        if os.path.lexists(draft):
            os.unlink(draft)
        os.symlink(self._target, draft)
        os.rename(draft, link)
        return os.path.basename(before)

    def _remove_old_versions(self, before: str) -> None:
        """Remove all versions but this one and the previous one, which a job may still use."""
        for name in os.listdir(self._versions):
            if name not in (MADE, self._version, before):
                shutil.rmtree(os.path.join(self._versions, name))

    # -- programs ------------------------------------------------------------------------------

    @property
    def _python(self) -> str:
        return os.path.join(self._place, "bin", "python")

    @property
    def _uv(self) -> str:
        """Return the path of uv, or the bare name if the account has none."""
        path = "%s:%s" % (os.environ.get("PATH", ""), os.path.expanduser("~/.local/bin"))
        return find_program("uv", path) or "uv"

    @property
    def _is_by_uv(self) -> bool:
        """Return True if uv is requested, or available and any program will do."""
        maker = self._spec.options["maker"]
        return bool(maker == "uv" or (maker == "any" and self._uv != "uv"))

    def _create_command(self) -> List[str]:
        """Return the command that creates the empty environment."""
        python = self._spec.options["python"]
        if self._is_by_uv:
            return [self._uv, "venv", "--python", python, self._place]
        if self._spec.options["maker"] == "virtualenv":
            return ["virtualenv", "--no-download", self._place]
        return [python, "-m", "venv", self._place]

    def _run_with_modules(self, line: List[str], what: str) -> None:
        """Run a program with the modules loaded. what: the step, for messages."""
        self.run(with_modules(self._spec.modules, line), what, self._spec.path, self._environment())

    def _environment(self) -> Dict[str, str]:
        """Return the account's environment without variables that confuse pip, with caches in the job's folder."""
        kept = {name: value for name, value in os.environ.items() if name not in REMOVED_VARIABLES}
        kept.update(render_proxy_variables(self._spec.options["proxies"]))
        kept[MARK] = self.mark
        kept["PIP_CACHE_DIR"] = kept["UV_CACHE_DIR"] = os.path.join(self.folder, "cache")
        kept["VIRTUALENV_OVERRIDE_APP_DATA"] = os.path.join(self.folder, "virtualenv")
        kept["PYTHONNOUSERSITE"] = "1"
        return kept

    # -- what is sourced -----------------------------------------------------------------------

    def _activation(self) -> str:
        """Return the file that loads the modules and activates the environment."""
        path = shlex.quote(self._spec.path)
        return "".join(
            ["# Source this in bash or zsh:  . %s/activate\n" % path]
            + ["module load %s\n" % shlex.quote(one) for one in self._spec.modules]
            + [". %s/bin/activate\n" % path]
        )

    def _activation_in_job(self) -> str:
        """Return a file that creates the same environment from the lock on the node's own disk."""
        spec = self._spec
        path, name = shlex.quote(spec.path), shlex.quote(os.path.basename(spec.path))
        inside = '"%s"/%s' % (spec.options["in_job"], name)
        data = 'VIRTUALENV_OVERRIDE_APP_DATA="%s"/virtualenv ' % spec.options["in_job"]
        by_virtualenv = spec.options["maker"] == "virtualenv"
        maker = data + "virtualenv --quiet --no-download" if by_virtualenv else "python3 -m venv"
        words = " ".join(shlex.quote(word) for word in spec.index_options())
        return "".join(
            ["# Source this in a job:  . %s/activate-in-job\n" % path]
            + ["# It creates the environment on the node's own disk, from its lock, and activates it.\n"]
            + ["module load %s\n" % shlex.quote(one) for one in spec.modules]
            + ["%s %s &&\n    . %s/bin/activate &&\n" % (maker, inside, inside)]
            + ["    pip install --quiet --disable-pip-version-check %s -r %s/%s\n" % (words, path, LOCK)]
        )


class EnvRemovalJob(ProgramJob):
    """Removes an environment of ours: the link first, then all versions."""

    def __init__(self, folder: str, path: str, versions: str) -> None:
        super().__init__(folder)
        self._path = path
        self._all = versions

    def work(self) -> None:
        """Remove the link if it is ours, then note the folder as unfinished, then remove it."""
        self.report("removing %s" % self._path)
        link = os.path.join(self.above, os.path.basename(self._path))
        folder = os.path.join(self.above, os.path.basename(self._all))
        if os.path.islink(link) and os.path.dirname(os.readlink(link)) == os.path.basename(self._all):
            os.unlink(link)
        write_small_file(os.path.join(self.folder, MAKING), os.path.join(self._all, "rest"))
        if os.path.lexists(folder):
            shutil.rmtree(folder)

    def simulate(self, host: Host) -> None:
        """Remove the link and all versions."""
        if host.entry(self._path):
            host.remove(self._path)
        if host.entry(self._all):
            host.remove_folder(self._all)


def list_packages(place: str) -> List[str]:
    """Return the packages in an environment as name==version."""
    library = os.path.join(place, "lib")
    folders = [os.path.join(library, name, "site-packages") for name in os.listdir(library) if name[:6] == "python"]
    return installed([name for folder in folders if os.path.isdir(folder) for name in os.listdir(folder)])


def _simulate_file(host: Host, path: str, text: str) -> None:
    """Write a file, new or not."""
    there = host.entry(path)
    host.write(path, host.read(path) if there else None, text.encode("utf-8"), 0o644)
