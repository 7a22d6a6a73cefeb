# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Work that takes minutes: it runs on the account by itself, one at a time, and is seen from outside.

A job has a folder of its own beside what it makes, for its owner alone, in a folder that nobody else may change. There
lie a lock, which its process holds for as long as it lives, the words on how far it is, and whatever it has fetched so
far. Who may change a folder further up can make its path lead elsewhere: so the job knows both folders as they were
opened, and its files by paths that begin there. The connection may drop: the
job goes on. It may be killed: the next one ends what it left running and goes on behind it. When it is
done, the folder goes.
"""

import errno
import json
import os
import resource
import shutil
import signal
import stat
import time
from typing import Any, Dict, List, Optional

from .._core import files
from .._core.errors import AccountError, as_account_error, describe_bug, errno_name
from .._core.host import Host
from .._core.lock_file import LockFile, is_held

LOCK = "lock"
PROGRESS = "progress.json"
MARK = "HPC_ONBOARD_JOB"  # in the environment of every program of a job: this is how one that was left is found
WORDS = 16 * 1024  # bytes of a small file
SECONDS = 0.5  # at most so often is said how far it is
BEGINNING = {"step": "beginning", "done": None, "total": None, "unit": "steps"}
NOT_OWN = "%s is there and was not made by us, or others may look into it: move it away, then run again"
ENDED = "it was ended from outside (a limit of the login node, a reboot?): run again, it goes on where it stopped"

Progress = Dict[str, Any]
"""How far a job is: {step, done, total, unit}; or, when it has ended without success, {failed: why}, and then
wants {url, sha256, path} where a file could not be fetched from the account."""


class Failed(AccountError):
    """The job cannot go on; wants says what could be brought to it."""

    def __init__(self, text: str, wants: Optional[Dict[str, str]] = None) -> None:
        super().__init__(text)
        self.wants = wants


class Job:
    """One long piece of work. A kind of job is a subclass that says what is done."""

    def __init__(self, folder: str) -> None:
        self.folder = folder  # by its path; in the job's own process as it was opened
        self.above = os.path.dirname(folder)  # likewise
        self.name = os.path.basename(folder)
        self._shown = folder
        self._said = 0.0

    def work(self) -> None:
        """Do all of it, going on where an earlier one stopped; say() how far it is. Runs in the job's process."""
        raise NotImplementedError

    def pretend(self, host: Host) -> None:
        """Leave what a look at the result will find: in a dry run in memory, in a sandbox really."""
        raise NotImplementedError

    # -- seen from outside ---------------------------------------------------------------------

    def start(self, host: Host) -> None:
        """Start the work as this host does it: really, or only in its looks."""
        host.start(self.folder, self.detach, self.pretend)

    def detach(self, above: int) -> None:
        """Start the job in a process of its own, and return when it has begun or another one is at work.

        above: the open folder that the job's own lies in, or is made in.
        """
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.setsid()
                if os.fork() == 0:
                    self._alone(writer, above)
            finally:
                os._exit(0)
        os.close(writer)
        os.waitpid(child, 0)
        with os.fdopen(reader, "rb") as stream:
            word = stream.read(2000).decode("utf-8", "replace")
        if word != "begun":
            raise AccountError(word or ENDED)

    # -- the job's own process -----------------------------------------------------------------

    def _alone(self, writer: int, above: int) -> None:
        """Hold the lock, do the work, and leave either nothing or the reason why it failed."""
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # this process has seen the whole plan
        _close_others(writer, above)
        os.umask(os.umask(0) | 0o022)  # a group's area hands the group on, and what is made here is run
        try:
            folder = own_folder(above, self.name, self.folder)
            mine = LockFile(folder, LOCK).take()  # until this process ends
        except AccountError as error:
            os.write(writer, str(error).encode("utf-8"))
            return
        except OSError as error:
            os.write(writer, str(as_account_error(error, "locking " + self.folder)).encode("utf-8"))
            return
        self.above, self.folder = as_opened(above), as_opened(folder)
        if mine:
            self.say("beginning")
        os.write(writer, b"begun")
        os.close(writer)
        if mine:
            self._worked()

    def _worked(self) -> None:
        try:
            os.nice(10)
            self._take_over()
            self.work()
        except Failed as error:
            self._record({"failed": str(error), "wants": error.wants or {}})
        except AccountError as error:
            self._record({"failed": str(error), "wants": {}})
        except OSError as error:
            self._record({"failed": str(as_account_error(error, "working in " + self._shown))})
        except Exception as error:
            self._record({"failed": describe_bug(error)})
        else:
            self._record({"ended": True})
            clear(self.above, self.name)

    def _take_over(self) -> None:
        """End what an earlier job left running on this login node, and give this one a mark of its own."""
        file = os.path.join(self.folder, "mark")
        try:
            end_marked(words_in(file)[:100])
        except OSError:
            pass  # there is none, or none of ours
        self.mark = os.urandom(16).hex()
        put(file, self.mark)

    def say(self, step: str, done: Optional[int] = None, total: Optional[int] = None, unit: str = "steps") -> None:
        """Say how far it is, for whoever looks."""
        if unit == "bytes" and done != total and time.time() - self._said < SECONDS:
            return
        self._said = time.time()
        self._record({"step": step, "done": done, "total": total, "unit": unit})

    def _record(self, progress: Progress) -> None:
        try:
            put(os.path.join(self.folder, PROGRESS), json.dumps(progress))
        except OSError:
            pass  # a full file system: the work itself will say so


def put(path: str, content: str) -> None:
    """Replace a small file of a job's as a whole, durably, with the mode of any new file here. Raises OSError."""
    umask = os.umask(0o077)
    os.umask(umask)
    folder = os.open(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        files.replace(folder, os.path.basename(path), content.encode("utf-8"), 0o666 & ~umask, {})
    finally:
        os.close(folder)


def progress_of(folder: str) -> Optional[Progress]:
    """How far the job of this folder is, or why the last one ended; None where there is none, or it is done."""
    running = is_held(os.path.join(folder, LOCK))
    try:
        progress: Progress = dict(json.loads(words_in(os.path.join(folder, PROGRESS))))
    except FileNotFoundError:
        return BEGINNING if running else None
    except (OSError, ValueError, TypeError, RecursionError) as error:
        name = errno_name(error) if isinstance(error, OSError) else "damaged"
        progress = {"failed": "how far it is cannot be read (%s)" % name}
    running = running or is_held(os.path.join(folder, LOCK))
    if "ended" in progress:
        return None
    if "failed" in progress:
        return BEGINNING if running else progress
    return progress if running else {"failed": ENDED}


def words_in(path: str) -> str:
    """The text of a small file of a job's; nothing else in its place is read or waited for. Raises OSError."""
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as stream:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, "")
        return stream.read(WORDS).decode("utf-8", "replace")


def own_folder(above: int, name: str, shown: str) -> int:
    """The job's folder, opened: made for its owner alone, or what an earlier job has left.

    One that is not so was made by somebody else, or could hold anything by now: nothing in it is read.
    """
    try:
        files.make_folder(above, name, 0o700)
    except FileExistsError:
        pass
    folder = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=above)
    if not files.to_entry(os.fstat(folder), "").is_private:
        raise AccountError(NOT_OWN % shown)
    return folder


def as_opened(folder: int) -> str:
    """A path that leads to an open folder, for this process and the programs that it runs, whatever is renamed."""
    return "/proc/%d/fd/%d" % (os.getpid(), folder)


def clear(above: str, name: str) -> None:
    """Remove a job's folder: the words on how far it is last, so that it never looks as if it had failed."""
    folder = os.path.join(above, name)
    for one in os.listdir(folder):
        path = os.path.join(folder, one)
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path)
        elif one != PROGRESS:
            os.unlink(path)
    shutil.rmtree(folder)


def end_marked(mark: str) -> None:
    """End every process of mine on this login node that carries the mark, and wait until it is gone."""
    entry = ("%s=%s" % (MARK, mark)).encode("ascii")
    for _attempt in range(50):
        found = [pid for pid in _processes() if entry in _environment(pid)]
        if not found:
            return
        for pid in found:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        time.sleep(0.1)


def _processes() -> List[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()]


def _environment(pid: int) -> List[bytes]:
    try:
        with open("/proc/%d/environ" % pid, "rb") as stream:
            return stream.read().split(b"\0")
    except OSError:
        return []


def _close_others(*kept: int) -> None:
    """Let go of every open file but these: a job must not hold the connection's ends."""
    null = os.open(os.devnull, os.O_RDWR)
    for handle in (0, 1, 2):
        os.dup2(null, handle)
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2 and int(name) not in kept:
            try:
                os.close(int(name))
            except OSError:
                pass
