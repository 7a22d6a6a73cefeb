# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find programs in the folders of PATH, some of which may be on a file system that hangs."""

import os
from typing import Dict, Iterable, Optional

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
