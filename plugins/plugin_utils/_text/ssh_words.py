# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find out from OpenSSH's messages why a login failed. All failures have one exit code; messages are not translated.

Source: sshconnect.c, sshconnect2.c, ssh.c and packet.c of OpenSSH 8.0 to 10.0, whose messages these are.
"""

from __future__ import annotations

import re
from typing import Literal

State = Literal[
    "open",  # the login works
    "ended",  # the certificate or ticket has expired
    "needs_person",  # only the user can log in, interactively
    "refused",  # the login node refused the user
    "host_key_unknown",
    "host_key_changed",
    "unresolved",  # the host name is unknown
    "unreachable",
    "dropped",  # the login node closed the connection
    "not_ready",  # the login works, but the account cannot be set up
]
STATES: tuple[State, ...] = State.__args__  # type: ignore[attr-defined]  # the values of the Literal

FAILURES: tuple[tuple[State, str], ...] = (  # the first match counts: a changed host key is also refused
    ("host_key_changed", r"REMOTE HOST IDENTIFICATION HAS CHANGED|[Hh]ost key for \S+ has changed"),
    ("host_key_unknown", r"Host key verification failed|host key is known for|authenticity of host"),
    ("unresolved", r"Could not resolve hostname|Name or service not known|nodename nor servname"),
    ("refused", r"Permission denied \(|Too many authentication failures|No supported authentication methods"),
    (
        "unreachable",
        r"connect to host \S+ port|Connection timed out|Connection refused|No route to host|Network is unreachable"
        r"|Operation timed out|stdio forwarding failed|open failed: connect failed",
    ),
    (
        "dropped",
        r"kex_exchange_identification|Connection (closed|reset) by|closed by remote host|Exceeded MaxStartups"
        r"|banner exchange|Not allowed at this time",
    ),
)
PROXY_ENDED = re.compile(
    r"(?:kex_exchange_identification: [^|\n]*[|\n ]+)?Connection (?:closed|reset) by UNKNOWN port 65535\.?"
    r"|banner exchange: Connection to UNKNOWN port 65535: Broken pipe"
)
"""Printed if the jump host or ProxyCommand ended: this message is not about the login node."""
HOST_IN_MESSAGE = re.compile(
    r"\S+@(?P<refused>[^\s:]+): Permission denied \(|Host key for (?P<changed>\S+) has changed"
    r"|host key is known for (?P<unknown>\S+)"
)
REMOVAL_COMMAND = re.compile(r"ssh-keygen -f \"?(?P<file>[^\"|]+?)\"? -R \"?(?P<name>[^\"|\s]+)")

GREETING = re.compile(r"\b(?:kex|ssh)_exchange_identification: ")  # an error before the login node's greeting
PENALTY = "Not allowed at this time"
"""Sent by sshd 9.8 or later before it drops a connection, after too many at once or after failures
(PerSourcePenalties, which block an address for a while, for all its users). ssh prints the message only with -v.
"""
# what ssh -v prints before each line that the login node sends before its greeting; and other lines of ssh -v
BANNER_PREFIX = re.compile(r"^debug1: (?:kex_exchange_identification|ssh_exchange_identification): banner line \d+: ")
DEBUG_LINE = re.compile(r"^(?:debug\d|OpenSSH_\d|Authenticated to \S+ \(|Transferred: sent |Bytes per second: sent )")
MOST_LINES = 4  # of the output of ssh that are shown: a login node may print a long banner before them


def find_login_state(output: str) -> State:
    """Return the state of a failed login from the output of ssh; "unreachable" for unknown output."""
    output = PROXY_ENDED.sub("", output)
    return next((state for state, pattern in FAILURES if re.search(pattern, output)), "unreachable")


def shorten_output(output: str) -> str:
    """Return the lines of the output of ssh that name a failure, if it has many lines; the last lines if none does.

    output: in one line, with " | " between its lines. ssh names the failure last.
    """
    lines = output.split(" | ")
    if len(lines) <= MOST_LINES:
        return output
    failures = [line for line in lines if any(re.search(pattern, line) for _state, pattern in FAILURES)]
    return " | ".join((failures or lines)[-MOST_LINES:])


def find_failing_host(output: str) -> str:
    """Return the host that refused the user or has an unknown host key, as ssh names it; empty if ssh names none."""
    match = HOST_IN_MESSAGE.search(output)
    return match["refused"] or match["changed"] or match["unknown"] if match else ""


def find_removal_command(output: str) -> list[str]:
    """Return the command that ssh suggests to remove an old host key; empty if it suggests none."""
    match = REMOVAL_COMMAND.search(output)
    return ["ssh-keygen", "-f", match["file"], "-R", match["name"]] if match else []


def is_dropped_before_greeting(output: str) -> bool:
    """Return True if the login node closed the connection before its greeting, so no program was started on it."""
    is_dropped = find_login_state(output) == "dropped"
    is_before_greeting = bool(GREETING.search(PROXY_ENDED.sub("", output)))  # not an error of the jump host
    return is_dropped and is_before_greeting and not is_session_refused(output)


def is_session_refused(output: str) -> bool:
    """Return True if the login node refused another session in an open connection (MaxSessions)."""
    return "Session open refused by peer" in output


def is_worth_retrying(output: str) -> bool:
    """Return True if the login node was busy, so another attempt in some seconds may succeed."""
    return is_dropped_before_greeting(output) and PENALTY not in output


def strip_debug_lines(message: str) -> str:
    """Return the output of ssh in Ansible's error message, without the lines that ssh adds with -v.

    What the login node sent before its greeting stays.
    """
    # Ansible writes: ... over ssh: OUTPUT
    output = message.replace("\r", "").rpartition("over ssh:")[2].strip()
    return drop_debug_lines("\n".join(BANNER_PREFIX.sub("", line) for line in output.split("\n")))


def drop_debug_lines(output: str) -> str:
    """Return an output without the lines that ssh adds with -v."""
    return "\n".join(line for line in output.replace("\r", "").split("\n") if not DEBUG_LINE.match(line))
