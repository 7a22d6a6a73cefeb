# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The program by which ssh asks a person (SSH_ASKPASS): it hands the question to the run, and prints the answer.

ssh starts it, also for a jump host, with the question as its one argument. It needs nothing but the standard library.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys

LINE = "HPC_ONBOARD_ASKED_BY"  # the variable that names the socket of the run


def main(question: str) -> int:
    """Print the answer. Without one the ssh that asks is ended: it would send an empty one, which the site counts."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
        line.connect(os.environ[LINE])
        line.sendall(json.dumps([os.environ.get("SSH_ASKPASS_PROMPT", ""), question]).encode() + b"\n")
        with line.makefile(encoding="utf-8") as said:
            answer = said.readline()
    if not answer:
        os.kill(os.getppid(), signal.SIGTERM)
        return 1
    sys.stdout.write(answer)
    return 0


if __name__ == "__main__":
    sys.exit(main(" ".join(sys.argv[1:])))
