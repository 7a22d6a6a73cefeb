"""Types a command into a login on a terminal, and cuts its output out of echo and prompts.

SPDX-License-Identifier: GPL-3.0-or-later
"""

import os
import subprocess

_BEGIN, _END = "<begin>", "<end>"


def typed(command: list[str], line: str, timeout: float) -> subprocess.CompletedProcess[str]:
    """Start the command, type the line between two marks, leave; stdout is what came between the marks.

    The marks are typed in pieces, so that the terminal's echo of them is none; every shell joins the pieces.
    All is one line, so that no prompt comes between.
    Without both marks (the login broke) stdout is all that was seen, and the exit status is 255.
    """
    keys = f"printf '%s\\n' '<beg''in>'; {line}; printf '%s\\n' '<e''nd>'\nexit\n"
    done = subprocess.run(
        command, input=keys, capture_output=True, text=True, timeout=timeout, check=False,
        env={**os.environ, "TERM": "dumb"},
    )  # fmt: skip
    seen = done.stdout.replace("\r", "")
    begin, end = seen.find(_BEGIN + "\n"), seen.rfind(_END)
    if begin < 0 or end < begin:
        return subprocess.CompletedProcess(command, 255, seen, done.stderr)
    return subprocess.CompletedProcess(command, 0, seen[begin + len(_BEGIN) + 1 : end], done.stderr)
