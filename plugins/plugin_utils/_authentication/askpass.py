# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The program by which ssh asks the user (SSH_ASKPASS): it hands the question to the run, and prints the answer.

ssh starts it, also for a jump host, with the question as its one argument. It needs nothing but the standard library.
"""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import sys

LINE = "HPC_ONBOARD_ASKED_BY"  # the variable that names the socket of the run
UNASKED = "HPC_ONBOARD_UNASKED"  # the variable that names the file for questions, if nobody is to be asked
PASSPHRASE = re.compile(r"Enter (?:passphrase|PIN) for ")
LOCAL = re.compile(rf"{PASSPHRASE.pattern}|.*continue connecting", re.DOTALL)
"""Questions of ssh itself. Without an answer it takes another key, or ends; to any other it would send an empty one."""


def main(question: str) -> int:
    """Print the answer. Without one the ssh that asks is ended: it would send an empty one, which the site counts."""
    kind = os.environ.get("SSH_ASKPASS_PROMPT", "")
    if LINE not in os.environ:
        return unasked(kind, question)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
        line.connect(os.environ[LINE])
        line.sendall(json.dumps([kind, question]).encode() + b"\n")
        with line.makefile(encoding="utf-8") as said:
            answer = said.readline()
    if not answer:
        os.kill(os.getppid(), signal.SIGTERM)
        return 1
    sys.stdout.write(answer)
    return 0


def unasked(kind: str, question: str) -> int:
    """Note the question for the run, and answer nothing."""
    if kind == "none":  # a security key waits to be touched
        return 0
    with open(os.environ[UNASKED], "a", encoding="utf-8") as file:
        file.write(json.dumps(question) + "\n")
    if not LOCAL.match(question):
        os.kill(os.getppid(), signal.SIGTERM)
    return 1


if __name__ == "__main__":
    sys.exit(main(" ".join(sys.argv[1:])))
