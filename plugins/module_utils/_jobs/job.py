# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A job, for work that takes minutes: a process on the account that outlives the connection and reports its progress.

A job has a private folder next to what it creates. The parent folder is one that no other user may change. The private
folder contains a lock, which the process holds as long as it lives, a file with the progress, and downloaded files.
Another user may be able to replace a folder further up: so the job opens both folders once, and uses paths that begin
at the open folders. The job continues if the connection drops. If it is killed, the next job kills the programs that
it left running, and continues its work. A job that succeeds removes its folder. A Host reads and changes the account's
files; a dry run changes them only in memory.
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
MARK_FILE = "mark"  # the file with the mark of the job's programs
MARK = "HPC_ONBOARD_JOB"  # the variable in the environment of a job's programs, by which the next job finds them
SMALL = 16 * 1024  # bytes of a small file; the rest is not read
SECONDS = 0.5  # between two reports of progress in bytes
BEGINNING_PROGRESS = {"step": "beginning", "done": None, "total": None, "unit": "steps"}
NOT_OWN_TEXT = (
    "%s was not created by hpc-onboard, or other users can read it. Rename or move the folder,"
    " then run hpc-onboard again"
)
CREATED_BY_OTHERS_TEXT = "another program created %s during this job: rename or move it, then run hpc-onboard again"
NOT_UNFINISHED_TEXT = (  # the path, and the job's folder
    "an earlier job recorded %s as unfinished, but hpc-onboard did not create it. Remove the job's folder %s, then run"
    " hpc-onboard again"
)
KILLED_TEXT = "the job was killed, perhaps by a limit of the login node or a reboot. Run hpc-onboard again to continue"

Progress = Dict[str, Any]
"""The progress of a job: {step, done, total, unit}, {ended: True}, or {failed: reason, wants: ...}.

wants: {url, sha256, path} of a file that the account cannot download, so that the user's machine can send it; or {}."""


class JobFailed(AccountError):
    """The job cannot continue. wants: the file that the user's machine can send (see Progress), or None."""

    def __init__(self, text: str, wants: Optional[Dict[str, str]] = None) -> None:
        super().__init__(text)
        self.wants = wants


class Job:
    """A job. Subclasses define its work."""

    def __init__(self, folder: str) -> None:
        """folder: the path of the job's private folder. Messages use this path, as display_path, in every process.

        In the job's own process, the attributes folder and parent become paths that begin at open folders.
        """
        self.folder = self.display_path = folder
        self.parent = os.path.dirname(folder)
        self.name = os.path.basename(folder)
        self._reported_at = 0.0

    def work(self) -> None:
        """Do the work, from where an earlier job stopped, and report() the progress. Runs in the job's process."""
        raise NotImplementedError

    def simulate(self, host: Host) -> None:
        """Write the files from which a resource's inspect() sees that the job succeeded.

        A dry run writes the files in memory, a sandbox on disk.
        """
        raise NotImplementedError

    # -- in the process that starts the job ----------------------------------------------------

    def start(self, host: Host) -> None:
        """Start the job on a real account. In a dry run or a sandbox (a simulated account), only simulate the job."""
        host.start_job(self.folder, self.detach, self.simulate)

    def detach(self, parent: int) -> None:
        """Start the job in a process of its own. Return when this job, or an earlier job, is running.

        parent: the handle of the open folder that contains the job's folder. Raise AccountError if no job could start.
        """
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.setsid()
                if os.fork() == 0:  # the second fork leaves the job without a parent that would have to wait for it
                    self._run_detached(writer, parent)
            finally:
                os._exit(0)
        os.close(writer)
        os.waitpid(child, 0)
        with os.fdopen(reader, "rb") as stream:
            message = stream.read(2000).decode("utf-8", "replace")
        if message != "begun":  # an error, or nothing if the process was killed
            raise AccountError(message or KILLED_TEXT)

    # -- the job's own process -----------------------------------------------------------------

    def _run_detached(self, writer: int, parent: int) -> None:
        """Acquire the lock, write "begun" or an error to the pipe of detach(), and do the work.

        writer, parent: the handles of the pipe and of the folder that contains the job's folder. If an earlier job has
        the lock, that job continues and this process ends.
        """
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a core dump could contain the user's keys
        _close_other_handles(writer, parent)
        os.umask(os.umask(0) | 0o022)  # files in a group's area inherit the group, which must not change programs
        try:
            folder = open_job_folder(parent, self.name, self.folder)
            has_lock = LockFile(folder, LOCK).try_acquire()  # held until this process ends
        except AccountError as error:
            os.write(writer, str(error).encode("utf-8"))
            return
        except OSError as error:
            os.write(writer, str(as_account_error(error, "locking " + self.folder)).encode("utf-8"))
            return
        self.parent, self.folder = path_of_handle(parent), path_of_handle(folder)
        if has_lock:
            self.report("beginning")  # before detach() returns, so that the caller finds the progress file
        os.write(writer, b"begun")
        os.close(writer)
        if has_lock:
            self._run_work()

    def _run_work(self) -> None:
        """Do the work. After a failure, record the reason; after a success, remove the job's folder."""
        try:
            os.nice(10)  # the login node is shared with other users
            self._end_earlier_programs()
            self.work()
        except JobFailed as error:
            self._record({"failed": str(error), "wants": error.wants or {}})
        except AccountError as error:
            self._record({"failed": str(error), "wants": {}})
        except OSError as error:
            self._record({"failed": str(as_account_error(error, "working in " + self.display_path))})
        except Exception as error:
            self._record({"failed": describe_bug(error)})
        else:
            self._record({"ended": True})  # in case this process is killed while it removes the folder
            remove_job_folder(self.parent, self.name)

    def _end_earlier_programs(self) -> None:
        """Kill the programs that an earlier job left running on this login node, and store the mark of this job."""
        kill_programs(self.folder)
        self.mark = os.urandom(16).hex()
        write_small_file(os.path.join(self.folder, MARK_FILE), self.mark)

    def report(self, step: str, done: Optional[int] = None, total: Optional[int] = None, unit: str = "steps") -> None:
        """Record the progress for other processes. step: the title of the present step.

        done, total: None if unknown. unit: of done and total, "steps" or "bytes".
        """
        is_recent = time.time() - self._reported_at < SECONDS
        if unit == "bytes" and done != total and is_recent:
            return  # each report is flushed to the disk, so not each piece of a download is reported
        self._reported_at = time.time()
        self._record({"step": step, "done": done, "total": total, "unit": unit})

    def _record(self, progress: Progress) -> None:
        """Write the progress file, if possible."""
        try:
            write_small_file(os.path.join(self.folder, PROGRESS), json.dumps(progress))
        except OSError:
            pass  # probably a full file system, which the work itself will report


def write_small_file(path: str, content: str) -> None:
    """Replace a small file of a job atomically and durably, with the umask's mode. Raises OSError."""
    umask = os.umask(0o077)  # the umask can be read only by setting it
    os.umask(umask)
    folder = os.open(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        files.replace(folder, os.path.basename(path), content.encode("utf-8"), 0o666 & ~umask, attributes={})
    finally:
        os.close(folder)


def read_progress(folder: str) -> Optional[Progress]:
    """Return the progress of the job in this folder, or why it failed; None without a job or after a success."""
    is_running = is_held(os.path.join(folder, LOCK))
    try:
        progress: Progress = dict(json.loads(read_small_file(os.path.join(folder, PROGRESS))))
    except FileNotFoundError:
        return BEGINNING_PROGRESS if is_running else None
    except (OSError, ValueError, TypeError, RecursionError) as error:
        problem = errno_name(error) if isinstance(error, OSError) else "damaged"
        progress = {"failed": "the job's progress cannot be read (%s). Run hpc-onboard again" % problem}
    is_running = is_running or is_held(os.path.join(folder, LOCK))  # a job may have started since the first check
    if "ended" in progress:
        return None
    if "failed" in progress:  # if a job is running, the failure is that of an earlier job
        return BEGINNING_PROGRESS if is_running else progress
    return progress if is_running else {"failed": KILLED_TEXT}  # a job that was not killed records its end or failure


def read_small_file(path: str) -> str:
    """Return the text of a small regular file. Raises OSError, also for a link, and for a pipe, which could block."""
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as stream:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, "")
        return stream.read(SMALL).decode("utf-8", "replace")


def open_job_folder(parent: int, name: str, display_path: str) -> int:
    """Create the job's folder, unless an earlier job has created it, and return the handle of the folder.

    parent: the handle of the open folder that contains the job's folder. name: of the job's folder. Raise AccountError
    if the folder is not private: another user may have created it or changed its content.
    """
    try:
        files.make_folder(parent, name, 0o700)
    except FileExistsError:
        pass  # of an earlier job, or of another user, which is checked below
    folder = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    if not files.to_entry(os.fstat(folder), target="").is_private:
        raise AccountError(NOT_OWN_TEXT % display_path)
    return folder


def path_of_handle(folder: int) -> str:
    """Return a path through an open folder, which this process and its children can use even after a rename."""
    return "/proc/%d/fd/%d" % (os.getpid(), folder)


def remove_job_folder(parent: str, name: str) -> None:
    """Remove a job's folder, with the progress file last: without this file, the job would seem to be killed.

    parent: the path of the folder that contains the job's folder. name: of the job's folder.
    """
    folder = os.path.join(parent, name)
    for entry in os.listdir(folder):
        path = os.path.join(folder, entry)
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path)
        elif entry != PROGRESS:
            os.unlink(path)
    shutil.rmtree(folder)


def kill_programs(folder: str) -> None:
    """Kill the programs of the job with this folder that run on this node, and wait up to 5 seconds for their end."""
    try:
        mark = read_small_file(os.path.join(folder, MARK_FILE))[:100]  # a mark is shorter
    except OSError:
        return  # no job has run on a login node
    variable = ("%s=%s" % (MARK, mark)).encode("ascii")
    for _attempt in range(50):
        pids = [pid for pid in _list_processes() if variable in _read_environment(pid)]
        if not pids:
            return
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass  # the process has ended since
        time.sleep(0.1)


def _list_processes() -> List[int]:
    """Return the ids of all processes on this node except this one."""
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()]


def _read_environment(pid: int) -> List[bytes]:
    """Return the environment of a process as NAME=VALUE; empty for another user's or an ended process."""
    try:
        with open("/proc/%d/environ" % pid, "rb") as stream:
            return stream.read().split(b"\0")
    except OSError:
        return []


def _close_other_handles(*needed: int) -> None:
    """Close all other file descriptors, because the SSH connection stays open until each of them is closed."""
    null = os.open(os.devnull, os.O_RDWR)
    for handle in (0, 1, 2):
        os.dup2(null, handle)
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2 and int(name) not in needed:
            try:
                os.close(int(name))
            except OSError:
                pass  # the descriptor of the listing itself is closed already
