# SPDX-License-Identifier: GPL-3.0-or-later
"""Ten bugs that somebody could write, each with the test that must fail when it is there.

An edit is (file below plugins/module_utils, text, replacement); the text must be there exactly once, so
a bug that no longer fits the code fails loudly.
"""

from __future__ import annotations

from typing import NamedTuple

Edit = tuple[str, str, str]
HOST = "_core/host.py"
FILES = "_core/files.py"
KEY = "_resources/enroot_credential.py"


class Bug(NamedTuple):
    """A bug, the test in tests/faults/test_promises.py that catches it, and how it is made."""

    name: str
    test: str
    edits: list[Edit]


BUGS = (
    Bug(
        "no fsync of the draft",
        "test_a_draft_is_flushed_before_it_takes_the_name_and_the_folder_after",
        [(FILES, "        os.fsync(handle)\n    finally", "    finally")],
    ),
    Bug(
        "chmod after writing",
        "test_a_key_has_its_mode_from_the_first_byte",
        [
            (FILES, "CREATE, mode & 0o700, dir_fd", "CREATE, 0o666, dir_fd"),
            (FILES, "        os.fchmod(handle, mode)\n        rest = mem", "        rest = mem"),
            (
                FILES,
                "        os.fsync(handle)\n",
                "        os.fsync(handle)\n        os.fchmod(handle, mode)\n",
            ),
        ],
    ),
    Bug(
        "no exclusive create",
        "test_a_link_planted_as_the_draft_is_not_written_through",
        [(FILES, "os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW |", "os.O_WRONLY | os.O_CREAT |")],
    ),
    Bug(
        "link followed",
        "test_a_key_is_never_put_behind_a_link",
        [
            (
                HOST,
                'status = os.stat(name or ".", dir_fd=parent, follow_symlinks=False)',
                'status = os.stat(name or ".", dir_fd=parent)',
            ),
            (FILES, "PASS = PATH | os.O_DIRECTORY | os.O_NOFOLLOW |", "PASS = PATH | os.O_DIRECTORY |"),
        ],
    ),
    Bug(
        "duplicate line left",
        "test_of_several_lines_for_a_machine_one_is_left",
        [
            (
                "_formats/enroot.py",
                "        if not is_entry_for(line, machine, login):\n",
                "        if not is_entry_for(line, machine, login) or place != len(kept):\n",
            ),
        ],
    ),
    Bug(
        "append instead of replace",
        "test_a_key_is_replaced_where_the_old_one_stood",
        [
            (
                "_formats/enroot.py",
                "        if place is None and takes_precedence(line, machine):\n",
                "        if False:\n",
            ),
            (KEY, '"first" if entry.foremost else "after another entry"', '"first"'),
        ],
    ),
    Bug(
        "no lock",
        "test_a_second_run_waits_for_the_first",
        [("_core/lock_file.py", "            fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)\n", "")],
    ),
    Bug(
        "key printed",
        "test_no_key_is_said_whether_it_goes_well_or_not",
        [
            (
                HOST,
                '        with self.open_parent(path, "writing ") as folder:',
                '        with self.open_parent(path, "writing %r" % content) as folder:',
            )
        ],
    ),
    Bug(
        "wrong quoting",
        "test_every_shell_reads_the_very_value",
        [
            ("_formats/environment.py", '"sh": "export %s=\'%s\'\\n"', '"sh": \'export %s="%s"\\n\''),
            ("_formats/environment.py", "r\"^export (\\w+)='([^']*)'$\"", 'r\'^export (\\w+)="([^"]*)"$\''),
        ],
    ),
    Bug(
        "check mode that writes",
        "test_a_check_changes_nothing",
        [
            (
                "_engine/engine.py",
                "task.run_all(lambda: DryRunHost(task.make_host()), reconcile,",
                "task.run_all(task.make_host, reconcile,",
            )
        ],
    ),
)
