# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What OpenSSH's last words mean: it has one exit code for everything, and its words are never translated.

Source: sshconnect.c, sshconnect2.c, ssh.c and packet.c of OpenSSH 8.0 to 10.0, whose messages these are.
"""

from __future__ import annotations

import re
from typing import Literal

State = Literal[
    "open",
    "ended",
    "needs_person",
    "refused",
    "host_key_unknown",
    "host_key_changed",
    "unresolved",
    "unreachable",
    "dropped",
    "not_ready",
]
STATES: tuple[State, ...] = State.__args__  # type: ignore[attr-defined]  # the words of the Literal

MEANINGS: tuple[tuple[State, str], ...] = (  # the first that is found: a changed host key is refused, too
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
        r"kex_exchange_identification|Connection (closed|reset) by|Exceeded MaxStartups|banner exchange"
        r"|Not allowed at this time",
    ),
)
PROXY_ENDED = re.compile(
    r"(?:kex_exchange_identification: [^|\n]*[|\n ]+)?Connection (?:closed|reset) by UNKNOWN port 65535\.?"
)
"""What ssh says if the jump host, or its ProxyCommand, let nothing through: it says nothing of the login node."""
SAID_BY = re.compile(
    r"\S+@(?P<refused>[^\s:]+): Permission denied \(|Host key for (?P<changed>\S+) has changed"
    r"|host key is known for (?P<unknown>\S+)"
)
REMOVE = re.compile(r"ssh-keygen -f \"?(?P<file>[^\"|]+?)\"? -R \"?(?P<name>[^\"|\s]+)")

GREETING = re.compile(r"\b(?:kex|ssh)_exchange_identification: ")
PENALTY = "Not allowed at this time"
"""What an sshd from 9.8 up says before it drops a connection, for too many at once or after failures
(PerSourcePenalties, which bar an address for a while, and everybody behind it). ssh tells that at -v only.
"""
BEFORE_GREETING = re.compile(r"^debug1: (?:kex_exchange_identification|ssh_exchange_identification): banner line \d+: ")
ASIDE = re.compile(r"^(?:debug\d|OpenSSH_\d)")


def meaning(words: str) -> State:
    """Return the state of a login from the output of ssh; unknown output counts as unreachable."""
    said = PROXY_ENDED.sub("", words)
    return next((state for state, pattern in MEANINGS if re.search(pattern, said)), "unreachable")


def host_of(words: str) -> str:
    """Return the host that refused the user or showed another key, as ssh names it; empty if it names none."""
    said = SAID_BY.search(words)
    return next(filter(None, (said["refused"], said["changed"], said["unknown"])), "") if said else ""


def removal(words: str) -> list[str]:
    """Return the command by which ssh itself says that an old host key is removed; empty if it says none."""
    said = REMOVE.search(words)
    return ["ssh-keygen", "-f", said["file"], "-R", said["name"]] if said else []


def is_dropped_at_the_door(words: str) -> bool:
    """Return True if the login node let go before it had greeted us: nothing was asked for, refused or begun then."""
    return (
        meaning(words) == "dropped"
        and bool(GREETING.search(PROXY_ENDED.sub("", words)))
        and not (is_session_taken(words))
    )


def is_session_taken(words: str) -> bool:
    """Return True if the login node gave no second session in an open connection (MaxSessions); nothing began then."""
    return "Session open refused by peer" in words


def may_knock_again(words: str) -> bool:
    """Whether another attempt makes sense in some seconds: the login node was busy, and has not turned us away."""
    return is_dropped_at_the_door(words) and PENALTY not in words


def without_asides(words: str) -> str:
    """Return what ssh said, by Ansible's words for its failure, without what it says at -v besides.

    What the login node said before its greeting stays.
    """
    said = words.replace("\r", "").rpartition("over ssh:")[2].strip()
    lines = [BEFORE_GREETING.sub("", line) for line in said.split("\n")]
    return "\n".join(line for line in lines if not ASIDE.match(line))
