# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Models of the two readers of enroot's credentials file, written from their sources and not from ours.

enroot: src/docker.sh (the user by awk, the file by grep); curl: lib/netrc.c of 7.88, as a machine of states.
"""

from __future__ import annotations

import re

SPACE = rb"[ \t\r\n\v\f]"


def enroot_user(text: bytes, machine: str) -> bytes | None:
    """The fourth word of the first line that begins 'machine HOST login'."""
    start = re.compile(rb"^machine[ \t]+" + re.escape(machine.encode()) + rb"[ \t]+login[ \t]+")
    for line in text.split(b"\n"):
        if start.match(line):
            return line.split()[3] if len(line.split()) > 3 else None
    return None


def enroot_uses_the_file(text: bytes, machine: str, user: bytes) -> bool:
    """Whether enroot's grep finds a line, so that it hands the file to curl."""
    parts = (b"machine", re.escape(machine.encode()), b"login", re.escape(user))
    pattern = re.compile(b"^" + (SPACE + b"+").join(parts) + SPACE)
    return any(pattern.match(line) for line in text.split(b"\n"))


def curl_sends(text: bytes, machine: str) -> tuple[bytes, bytes] | None:
    """Login and password for the machine; None where curl sends nothing."""
    login = password = b""
    state, awaited = "nothing", ""
    for line in re.findall(rb"[^\n]*\n|[^\n]+", text):
        if state == "macdef":
            if line[:1] not in (b"\n", b"\r"):
                continue
            state = "nothing"
        for word in re.findall(rb"[^ \t\r\n\v\f]+", line):
            if word.startswith(b"#"):
                break
            if login and password:
                return login, password
            small = word.lower()
            if state == "nothing":
                state = {b"macdef": "macdef", b"machine": "host", b"default": "valid"}.get(small, "nothing")
            elif state == "macdef":
                continue
            elif state == "host":
                state = "valid" if small == machine.lower().encode() else "nothing"
            elif awaited == "login":
                login, awaited = word, ""
            elif awaited == "password":
                password, awaited = word, ""
            elif small in (b"login", b"password"):
                awaited = small.decode()
            elif small == b"machine":
                state = "host"
    return (login, password) if login and password else None
