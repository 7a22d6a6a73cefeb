# SPDX-License-Identifier: GPL-3.0-or-later
"""Loaded by every Python that has this folder on its path: writes down each module of ours that it compiles or runs.

LOADED names the file, in which a line says "compile" or "exec" and which one; the forked processes of a run write into
the same one. What the accounts run is not in it: their Python is started without any path of the user's.
"""

import os
import sys

_OURS = "/ansible_collections/hpc/onboard/plugins/"
_file = os.open(os.environ["LOADED"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)


def _note(event, arguments):
    if event == "exec" and arguments[0].co_name == "<module>":
        _write(event, arguments[0].co_filename)
    elif event == "compile":
        _write(event, os.fsdecode(arguments[1] or ""))


def _write(event, file):
    if _OURS in file:
        os.write(_file, f"{event} {file.rpartition(_OURS)[2]}\n".encode())


sys.addaudithook(_note)
