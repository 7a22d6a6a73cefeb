# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes a Python environment: beside the one that is there, which is left as it is until the new one is finished.

Each one that is made has a folder of its own, for its programs know where they are; a link leads to the last one.
"""

import os
import shlex
import shutil
from typing import Dict, List

from .._core.errors import AccountError
from .._core.host import Host
from .._core.program import find_program
from .conda import proxy_variables
from .env_spec import LOCK, Wanted, installed
from .job import MARK, put
from .made import MADE, MAKING
from .modules import within
from .programs import ProgramJob, written

TAKEN_OUT = ("PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "VIRTUAL_ENV", "PIP_USER", "PIP_TARGET", "PIP_PREFIX")
STEPS = 4


class PythonEnvJob(ProgramJob):
    """Makes an environment, and turns the link to it."""

    def __init__(self, folder: str, wanted: Wanted) -> None:
        super().__init__(folder)
        self._wanted = wanted
        self._version = ""

    def work(self) -> None:
        """Make it whole, then turn the link, then let go of what is older than the one before."""
        self._start_over()
        self._version = self._free_name()
        os.makedirs(self._versions, exist_ok=True)
        put(os.path.join(self.folder, MAKING), self._place)
        put(os.path.join(self._versions, MADE), self._wanted.about())
        try:
            self._make()
            self._install()
            self.say("writing the lock", 3, STEPS)
            self._finish()
        except (AccountError, OSError):
            self._start_over()  # so that it takes no room: perhaps there was none
            raise
        os.unlink(os.path.join(self.folder, MAKING))
        before = self._turn()
        self._let_go(before)

    def pretend(self, host: Host) -> None:
        wanted = self._wanted
        self._version = next(
            name for name in self._wanted.names() if host.entry(os.path.join(wanted.versions, name)) is None
        )
        tree = [wanted.versions, self._place, self._place + "/bin", self._place + "/lib", self._place + "/lib/python3"]
        for folder in tree[:-1]:
            host.make_folders(folder, 0o755)
        host.make_folders(tree[-1] + "/site-packages", 0o755)
        _write(host, os.path.join(wanted.versions, MADE), wanted.about())
        _write(host, self._place + "/bin/python", "")
        _write(host, os.path.join(self._place, MADE), wanted.mark([]))
        host.make_link(wanted.path, self._target)

    # -- where it goes -------------------------------------------------------------------------

    @property
    def _versions(self) -> str:
        """The folder of all versions, as it was opened; its path is for programs."""
        return os.path.join(self.above, os.path.basename(self._wanted.versions))

    @property
    def _place(self) -> str:
        return os.path.join(self._wanted.versions, self._version)

    @property
    def _opened(self) -> str:
        return os.path.join(self._versions, self._version)

    @property
    def _target(self) -> str:
        """What the link says: without the way there, which may be called otherwise on compute nodes."""
        return os.path.join(os.path.basename(self._wanted.versions), self._version)

    def _free_name(self) -> str:
        return next(name for name in self._wanted.names() if not os.path.lexists(os.path.join(self._versions, name)))

    def _start_over(self) -> None:
        """Take out what an earlier job had begun and did not finish; nothing leads to it."""
        half = written(os.path.join(self.folder, MAKING))
        if not half:
            return
        above, name = os.path.split(half)
        if above != self._wanted.versions or name in ("", ".", ".."):
            raise AccountError("%s is said to be half made, but is none of ours: it stays" % half)
        begun = os.path.join(self._versions, name)
        if os.path.lexists(begun) and not self._leads_to(name):
            self.say("clearing away what was half made")
            shutil.rmtree(begun)
        os.unlink(os.path.join(self.folder, MAKING))

    def _leads_to(self, name: str) -> bool:
        return self._led() == os.path.join(os.path.basename(self._versions), name)

    def _led(self) -> str:
        """Where the link leads by now; "" where there is none."""
        link = os.path.join(self.above, os.path.basename(self._wanted.path))
        return os.readlink(link) if os.path.islink(link) else ""

    # -- the steps -----------------------------------------------------------------------------

    def _make(self) -> None:
        self.say("making the environment", 0, STEPS)
        self._program(self._maker(), "making the environment")
        if self._wanted.options["offline"] and not self._is_by_uv:
            self._pip(["--upgrade", "pip"], "bringing pip up to date")

    def _install(self) -> None:
        number = len(self._wanted.packages)
        if number:
            self.say("installing %s" % ("1 package" if number == 1 else "%d packages" % number), 1, STEPS)
            self._pip(self._wanted.packages, "installing the packages")

    def _pip(self, words: List[str], what: str) -> None:
        if self._is_by_uv:
            line = [self._uv, "pip", "install", "--python", self._python]
        else:
            line = [self._python, "-m", "pip", "install", "--no-input", "--disable-pip-version-check"]
        self._program([*line, *self._wanted.index_words(), *words], what)

    def _finish(self) -> None:
        """Write the lock, what is sourced, and last the mark that says that it is whole."""
        line = [self._uv, "pip", "freeze", "--python", self._python]
        freeze = line if self._is_by_uv else [self._python, "-m", "pip", "freeze", "--disable-pip-version-check"]
        lock = os.path.join(self._place, LOCK)
        self._program(["/bin/sh", "-c", 'lock=$1; shift; exec "$@" >"$lock"', "sh", lock, *freeze], "writing the lock")
        put(os.path.join(self._opened, "activate"), self._activation())
        if self._wanted.options["in_job"]:
            put(os.path.join(self._opened, "activate-in-job"), self._activation_in_job())
        put(os.path.join(self._opened, MADE), self._wanted.mark(packages_in(self._opened)))

    def _turn(self) -> str:
        """Let the link lead here, in one step. Gives where it led before."""
        before, link = self._led(), os.path.join(self.above, os.path.basename(self._wanted.path))
        if os.path.lexists(link) and os.path.dirname(before) != os.path.basename(self._versions):
            raise AccountError("%s was made meanwhile, not by us: it stays" % self._wanted.path)
        draft = os.path.join(self.folder, "link")
        if os.path.lexists(draft):
            os.unlink(draft)
        os.symlink(self._target, draft)
        os.rename(draft, link)
        return os.path.basename(before)

    def _let_go(self, before: str) -> None:
        """Take out the versions but this one and the one before, in which a job may still run."""
        for name in os.listdir(self._versions):
            if name not in (MADE, self._version, before):
                shutil.rmtree(os.path.join(self._versions, name))

    # -- programs ------------------------------------------------------------------------------

    @property
    def _python(self) -> str:
        return os.path.join(self._place, "bin", "python")

    @property
    def _uv(self) -> str:
        path = "%s:%s" % (os.environ.get("PATH", ""), os.path.expanduser("~/.local/bin"))
        return find_program("uv", path) or "uv"

    @property
    def _is_by_uv(self) -> bool:
        maker = self._wanted.options["maker"]
        return bool(maker == "uv" or (maker == "any" and self._uv != "uv"))

    def _maker(self) -> List[str]:
        python = self._wanted.options["python"]
        if self._is_by_uv:
            return [self._uv, "venv", "--python", python, self._place]
        if self._wanted.options["maker"] == "virtualenv":
            return ["virtualenv", "--no-download", self._place]
        return [python, "-m", "venv", self._place]

    def _program(self, line: List[str], what: str) -> None:
        """Run a program with the modules loaded."""
        self.run(within(self._wanted.modules, line), what, self._wanted.path, self._environment())

    def _environment(self) -> Dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if name not in TAKEN_OUT}
        kept.update(proxy_variables(self._wanted.options["proxies"]))
        kept[MARK] = self.mark
        kept["PIP_CACHE_DIR"] = kept["UV_CACHE_DIR"] = os.path.join(self.folder, "cache")
        kept["VIRTUALENV_OVERRIDE_APP_DATA"] = os.path.join(self.folder, "virtualenv")
        kept["PYTHONNOUSERSITE"] = "1"
        return kept

    # -- what is sourced -----------------------------------------------------------------------

    def _activation(self) -> str:
        path = shlex.quote(self._wanted.path)
        return "".join(
            ["# Source this in bash or zsh:  . %s/activate\n" % path]
            + ["module load %s\n" % shlex.quote(one) for one in self._wanted.modules]
            + [". %s/bin/activate\n" % path]
        )

    def _activation_in_job(self) -> str:
        """The same environment, made anew from the lock on the node's own disk."""
        wanted = self._wanted
        path, name = shlex.quote(wanted.path), shlex.quote(os.path.basename(wanted.path))
        inside = '"%s"/%s' % (wanted.options["in_job"], name)
        data = 'VIRTUALENV_OVERRIDE_APP_DATA="%s"/virtualenv ' % wanted.options["in_job"]
        by_virtualenv = wanted.options["maker"] == "virtualenv"
        maker = data + "virtualenv --quiet --no-download" if by_virtualenv else "python3 -m venv"
        words = " ".join(shlex.quote(word) for word in wanted.index_words())
        return "".join(
            ["# Source this in a job:  . %s/activate-in-job\n" % path]
            + ["# It makes the environment anew on the node's own disk, from its lock, and activates it.\n"]
            + ["module load %s\n" % shlex.quote(one) for one in wanted.modules]
            + ["%s %s &&\n    . %s/bin/activate &&\n" % (maker, inside, inside)]
            + ["    pip install --quiet --disable-pip-version-check %s -r %s/%s\n" % (words, path, LOCK)]
        )


class EnvRemovalJob(ProgramJob):
    """Takes out an environment of ours: the link first, then all that it led to."""

    def __init__(self, folder: str, path: str, versions: str) -> None:
        super().__init__(folder)
        self._path = path
        self._all = versions

    def work(self) -> None:
        self.say("removing %s" % self._path)
        link = os.path.join(self.above, os.path.basename(self._path))
        folder = os.path.join(self.above, os.path.basename(self._all))
        if os.path.islink(link) and os.path.dirname(os.readlink(link)) == os.path.basename(self._all):
            os.unlink(link)
        put(os.path.join(self.folder, MAKING), os.path.join(self._all, "rest"))
        if os.path.lexists(folder):
            shutil.rmtree(folder)

    def pretend(self, host: Host) -> None:
        if host.entry(self._path):
            host.remove(self._path)
        if host.entry(self._all):
            host.remove_folder(self._all)


def packages_in(place: str) -> List[str]:
    """The packages in an environment, as name==version."""
    library = os.path.join(place, "lib")
    folders = [os.path.join(library, name, "site-packages") for name in os.listdir(library) if name[:6] == "python"]
    return installed([name for folder in folders if os.path.isdir(folder) for name in os.listdir(folder)])


def _write(host: Host, path: str, text: str) -> None:
    there = host.entry(path)
    host.write(path, host.read(path) if there else None, text.encode("utf-8"), 0o644)
