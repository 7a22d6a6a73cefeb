# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find programs in the folders of PATH, some of which may be on a file system that hangs."""

import os
from functools import lru_cache
from typing import Dict, Iterable, Mapping, Optional, Tuple

from .account import Account
from .errors import AccountError
from .program import run_program

SECONDS = 5  # the time limit of a search


def find_programs(names: Iterable[str], path: str) -> Dict[str, str]:
    """Return the paths of the programs that are found, by program name. path: the value of PATH.

    A child process searches, because a folder may be on a file system that hangs. The folders after it are skipped.
    """

    def search_and_exit() -> None:
        """Print the path of each program that is found, with a zero byte after it, and end the process."""
        missing = list(names)
        for folder in path.split(":"):
            if not folder.startswith("/"):
                continue
            for name in missing[:]:  # a copy, because the loop removes names
                file = os.path.join(folder, name)
                if os.path.isfile(file) and os.access(file, os.X_OK):
                    os.write(1, os.fsencode(file + "\0"))
                    missing.remove(name)
            if not missing:
                break
        os._exit(0)

    # the command line is empty: prepare runs in the child process and ends it
    output = run_program([""], environment={}, seconds=SECONDS, prepare=search_and_exit).output
    files = os.fsdecode(output).split("\0")[:-1]  # after the last zero byte may be a part of a path
    return {os.path.basename(file): file for file in files}


def find_program(name: str, path: str) -> Optional[str]:
    """Return the path of a program that is in a folder of PATH, or None. path: the value of PATH."""
    return find_programs([name], path).get(name)


def find_with_login_shell(name: str, path: str) -> Tuple[Optional[str], Mapping[str, str]]:
    """Return the path of a program, or None, and the environment to run it with. path: a value of PATH.

    If only the start-up files of the login shell add the program's folder to PATH, the environment is that shell's.
    """
    program = find_program(name, path)
    if program is not None:
        return program, os.environ
    environment = _query_login_environment()
    return find_program(name, environment.get("PATH", "")), environment


@lru_cache(maxsize=None)
def _query_login_environment() -> Mapping[str, str]:
    """Return the environment of the login shell, which is started once; empty if the shell fails."""
    try:
        return Account.of_this_process(sandbox=None).environment()
    except AccountError:
        return {}
