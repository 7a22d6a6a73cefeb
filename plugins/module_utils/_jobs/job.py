# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Work that takes minutes: a process on the account that outlives the connection, one at a time, with visible progress.

A job has a private folder next to what it creates, in a folder that no other user may change. The folder contains a
lock, which the process holds as long as it lives, a file with the progress, and what was fetched so far. Another user
may be able to replace a folder further up: so the job opens both folders once, and uses paths that begin at the open
folders. The job continues if the connection drops. If it is killed, the next one ends what it left running and
continues its work. The folder is removed at the end.
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
MARK = "HPC_ONBOARD_JOB"  # the variable in the environment of a job's programs, by which the next job finds them
SMALL = 16 * 1024  # bytes
SECONDS = 0.5  # between two reports of progress in bytes
BEGINNING = {"step": "beginning", "done": None, "total": None, "unit": "steps"}
NOT_OWN = (
    "%s already exists and was not created by hpc-onboard, or other users can read it. Move it away, then run again"
)
ENDED = "the work was ended from outside (by a limit of the login node, or a reboot?). Run again to continue"

Progress = Dict[str, Any]
"""The progress of a job: {step, done, total, unit}; or, if it failed, {failed: reason}, and then wants
{url, sha256, path} for a file that could not be fetched from the account."""


class JobFailed(AccountError):
    """The job cannot continue. wants: the file that the controller could bring (see Progress)."""

    def __init__(self, text: str, wants: Optional[Dict[str, str]] = None) -> None:
        super().__init__(text)
        self.wants = wants


class Job:
    """One long piece of work; a subclass defines it."""

    def __init__(self, folder: str) -> None:
        self.folder = folder  # its path; in the job's process a path through the open folder
        self.above = os.path.dirname(folder)  # likewise
        self.name = os.path.basename(folder)
        self._shown = folder
        self._reported_at = 0.0

    def work(self) -> None:
        """Do the work, from where an earlier job stopped, and report() its progress. Runs in the job's process."""
        raise NotImplementedError

    def simulate(self, host: Host) -> None:
        """Write what inspect() will find afterwards: in a dry run in memory, in a sandbox on disk."""
        raise NotImplementedError

    # -- from outside ---------------------------------------------------------------------------

    def start(self, host: Host) -> None:
        """Start the work, or simulate it, as the host decides."""
        host.start(self.folder, self.detach, self.simulate)

    def detach(self, above: int) -> None:
        """Start the job in a process of its own. Return once it or another one is at work.

        above: the open folder that contains the job's own, or will contain it.
        """
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.setsid()
                if os.fork() == 0:
                    self._run_detached(writer, above)
            finally:
                os._exit(0)
        os.close(writer)
        os.waitpid(child, 0)
        with os.fdopen(reader, "rb") as stream:
            word = stream.read(2000).decode("utf-8", "replace")
        if word != "begun":
            raise AccountError(word or ENDED)

    # -- the job's own process -----------------------------------------------------------------

    def _run_detached(self, writer: int, above: int) -> None:
        """Hold the lock and do the work. What remains is nothing, or the reason of a failure."""
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # this process has seen the whole plan
        _close_other_handles(writer, above)
        os.umask(os.umask(0) | 0o022)  # files in a group's area inherit the group, which must not change programs
        try:
            folder = open_job_folder(above, self.name, self.folder)
            has_lock = LockFile(folder, LOCK).try_acquire()  # until this process ends
        except AccountError as error:
            os.write(writer, str(error).encode("utf-8"))
            return
        except OSError as error:
            os.write(writer, str(as_account_error(error, "locking " + self.folder)).encode("utf-8"))
            return
        self.above, self.folder = path_of_handle(above), path_of_handle(folder)
        if has_lock:
            self.report("beginning")
        os.write(writer, b"begun")
        os.close(writer)
        if has_lock:
            self._run_work()

    def _run_work(self) -> None:
        """Do the work, and record its end or why it failed."""
        try:
            os.nice(10)
            self._take_over()
            self.work()
        except JobFailed as error:
            self._record({"failed": str(error), "wants": error.wants or {}})
        except AccountError as error:
            self._record({"failed": str(error), "wants": {}})
        except OSError as error:
            self._record({"failed": str(as_account_error(error, "working in " + self._shown))})
        except Exception as error:
            self._record({"failed": describe_bug(error)})
        else:
            self._record({"ended": True})
            remove_job_folder(self.above, self.name)

    def _take_over(self) -> None:
        """End what an earlier job left running on this login node, and draw a new mark."""
        file = os.path.join(self.folder, "mark")
        try:
            kill_marked_processes(read_small_file(file)[:100])
        except OSError:
            pass  # no earlier job
        self.mark = os.urandom(16).hex()
        write_small_file(file, self.mark)

    def report(self, step: str, done: Optional[int] = None, total: Optional[int] = None, unit: str = "steps") -> None:
        """Record the progress for other processes."""
        if unit == "bytes" and done != total and time.time() - self._reported_at < SECONDS:
            return
        self._reported_at = time.time()
        self._record({"step": step, "done": done, "total": total, "unit": unit})

    def _record(self, progress: Progress) -> None:
        """Write the progress file."""
        try:
            write_small_file(os.path.join(self.folder, PROGRESS), json.dumps(progress))
        except OSError:
            pass  # a full file system, which the work itself will report


def write_small_file(path: str, content: str) -> None:
    """Replace a small file of a job atomically and durably, with the umask's mode. Raises OSError."""
    umask = os.umask(0o077)
    os.umask(umask)
    folder = os.open(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        files.replace(folder, os.path.basename(path), content.encode("utf-8"), 0o666 & ~umask, {})
    finally:
        os.close(folder)


def read_progress(folder: str) -> Optional[Progress]:
    """Return the progress of the job of this folder, or why it ended; None if there is none or it is done."""
    running = is_held(os.path.join(folder, LOCK))
    try:
        progress: Progress = dict(json.loads(read_small_file(os.path.join(folder, PROGRESS))))
    except FileNotFoundError:
        return BEGINNING if running else None
    except (OSError, ValueError, TypeError, RecursionError) as error:
        name = errno_name(error) if isinstance(error, OSError) else "damaged"
        progress = {"failed": "the progress of the work cannot be read (%s). Run again" % name}
    running = running or is_held(os.path.join(folder, LOCK))
    if "ended" in progress:
        return None
    if "failed" in progress:
        return BEGINNING if running else progress
    return progress if running else {"failed": ENDED}


def read_small_file(path: str) -> str:
    """Return the text of a small regular file. Raises OSError, also for a link or a pipe, which could block."""
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as stream:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, "")
        return stream.read(SMALL).decode("utf-8", "replace")


def open_job_folder(above: int, name: str, shown: str) -> int:
    """Open the job's folder, which is created or comes from an earlier job, and return its handle.

    Raise AccountError if it is not private: another user may have created it or changed its content.
    """
    try:
        files.make_folder(above, name, 0o700)
    except FileExistsError:
        pass
    folder = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=above)
    if not files.to_entry(os.fstat(folder), "").is_private:
        raise AccountError(NOT_OWN % shown)
    return folder


def path_of_handle(folder: int) -> str:
    """Return a path through an open folder, which stays valid for this process and its children after renames."""
    return "/proc/%d/fd/%d" % (os.getpid(), folder)


def remove_job_folder(above: str, name: str) -> None:
    """Remove a job's folder, with the progress last, so that the job never looks as if it had failed."""
    folder = os.path.join(above, name)
    for one in os.listdir(folder):
        path = os.path.join(folder, one)
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path)
        elif one != PROGRESS:
            os.unlink(path)
    shutil.rmtree(folder)


def kill_marked_processes(mark: str) -> None:
    """Kill this user's processes on this login node that carry the mark, and wait until they are gone."""
    entry = ("%s=%s" % (MARK, mark)).encode("ascii")
    for _attempt in range(50):
        found = [pid for pid in _list_processes() if entry in _read_environment(pid)]
        if not found:
            return
        for pid in found:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        time.sleep(0.1)


def _list_processes() -> List[int]:
    """Return the ids of all processes of this node but this one."""
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()]


def _read_environment(pid: int) -> List[bytes]:
    """Return the environment of a process; empty if it is not the user's or has ended."""
    try:
        with open("/proc/%d/environ" % pid, "rb") as stream:
            return stream.read().split(b"\0")
    except OSError:
        return []


def _close_other_handles(*kept: int) -> None:
    """Close all handles but these: a job must not keep the connection open."""
    null = os.open(os.devnull, os.O_RDWR)
    for handle in (0, 1, 2):
        os.dup2(null, handle)
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2 and int(name) not in kept:
            try:
                os.close(int(name))
            except OSError:
                pass
