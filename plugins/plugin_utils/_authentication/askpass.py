# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The program through which ssh asks the user (SSH_ASKPASS). It sends the question to the run and prints the answer.

The run is the process of hpc-onboard that started ssh. ssh starts this program with the question as its only argument,
also for a jump host. This program imports only the standard library.
"""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import sys
from contextlib import suppress

SOCKET = "HPC_ONBOARD_QUESTION_SOCKET"  # the variable with the path of the run's socket
FILE = "HPC_ONBOARD_QUESTION_FILE"  # the variable with the path of the file for questions, if the user is not asked
PASSPHRASE = re.compile(r"Enter (?:passphrase|PIN) for ")
LOCAL = re.compile(rf"{PASSPHRASE.pattern}|.*continue connecting", re.DOTALL)
"""Questions of ssh itself, not of a site. Without an answer, ssh tries another key or ends."""


def main(question: str) -> int:
    """Print the user's answer to the question, and return the exit code.

    Without an answer, stop ssh: ssh would send an empty answer, which the site counts as a failed login.
    """
    ssh = os.getppid()
    prompt_type = os.environ.get("SSH_ASKPASS_PROMPT", "")  # set by ssh; "none" for a text that needs no answer
    if SOCKET not in os.environ:  # this run does not ask the user
        return record_question(prompt_type, question, ssh)
    answer = ask_run(prompt_type, question)
    if not answer:
        stop_ssh(ssh)
        return 1
    sys.stdout.write(answer)
    return 0


def ask_run(prompt_type: str, question: str) -> str:
    """Return the run's answer, with its line end; empty without an answer, or if the run has ended.

    prompt_type: as set by ssh, see main().
    """
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.connect(os.environ[SOCKET])
            connection.sendall(json.dumps([prompt_type, question]).encode() + b"\n")
            with connection.makefile(encoding="utf-8") as stream:
                return stream.readline()
    except OSError:
        return ""


def stop_ssh(ssh: int) -> None:
    """Stop ssh. ssh: its process id, which was that of the parent process when this program started."""
    if os.getppid() == ssh:  # else ssh has ended: the parent is now the user's service manager, or init
        os.kill(ssh, signal.SIGTERM)


def record_question(prompt_type: str, question: str, ssh: int) -> int:
    """Write the question to the run's file, print no answer, and return the exit code.

    If a site asks, stop ssh: ssh would send an empty answer. prompt_type: as set by ssh, see main(). ssh: see
    stop_ssh().
    """
    if prompt_type == "none":  # not a question: a security key waits for a touch
        return 0
    # on a full disk, the question is lost, but ssh must still be stopped
    with suppress(OSError), open(os.environ[FILE], "a", encoding="utf-8") as file:
        file.write(json.dumps(question) + "\n")
    if not LOCAL.match(question):
        stop_ssh(ssh)
    return 1


if __name__ == "__main__":
    sys.exit(main(" ".join(sys.argv[1:])))
