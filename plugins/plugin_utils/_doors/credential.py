# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Until when a person is let in without a question: by the certificate that ssh would offer, or the Kerberos ticket.

It is read on this machine, from files, agent and ticket cache; nothing connects. What a program printed goes in, a
moment comes out.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal, NamedTuple

from ansible_collections.hpc.onboard.plugins.plugin_utils._input.programs import ask
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.ssh_arguments import (
    ARGUMENTS,
    SSH_VARIABLES,
    settings,
    ssh_arguments,
)
from ansible_collections.hpc.onboard.plugins.plugin_utils._text.ssh_certificate import read_end

SECONDS = 10  # for a program that asks nobody anything
MINUTES = timedelta(minutes=10)  # what ends so soon may end in the middle of a run
STAMP = "%Y-%m-%d %H:%M UTC"
AGENT = "the agent"
CERTIFICATE = re.compile(r"^\S+-cert-v\d\d@openssh\.com .*$", re.MULTILINE)


class Credential(NamedTuple):
    """What lets a person in for some time. place: a file, the agent, or empty. end: aware; None: there is none."""

    kind: Literal["certificate", "ticket"]
    place: str
    end: datetime | None

    def has_ended(self, now: datetime) -> bool:
        """Whether nobody is let in by it now."""
        return self.end is None or self.end <= now

    def wants_renewal(self, now: datetime) -> bool:
        """Whether it has ended, or may end before work that begins now is done."""
        return self.end is None or self.end - now <= MINUTES

    def sentence(self, now: datetime) -> str:
        """When it ended or will end."""
        if self.end is None:
            return f"there is no Kerberos {self.kind}"
        return f"the {self.kind} {'ended' if self.has_ended(now) else 'ends'} on {self.end.strftime(STAMP)}"


def of_account(variables: Mapping[str, Any]) -> Credential | None:
    """The credential of an account, where its cluster wants one and something can be said of it.

    variables: Ansible's, with no template in those of ssh. An account of which a person says that their key alone lets
    them in (door: key) wants no ticket.
    """
    archetype = (variables["cluster"].get("auth") or {}).get("archetype")
    if archetype == "certificate":
        return certificate(_certificates(_destination(variables)))
    if archetype == "kerberos" and (variables.get("account") or {}).get("door") != "key":
        return ticket(_said(["klist", "-c"]))
    return None


# -- what was printed ------------------------------------------------------------------------------


def certificate(printed: Iterable[tuple[str, str]]) -> Credential | None:
    """The certificate that lasts longest. printed: where they are, with what ssh-keygen -L says of them, in UTC.

    None where there is none: it may not be signed yet, and another key may do.
    """
    ends = [(end, place) for place, text in printed if (end := read_end(text)) is not None]
    if not ends:
        return None
    end, place = max(ends)
    return Credential("certificate", place, end.replace(tzinfo=UTC))


def ticket(printed: str | None) -> Credential | None:
    """The ticket that others are got by. printed: what klist says, in UTC; None where there is no klist."""
    if printed is None:
        return None
    return Credential("ticket", "", max(ticket_ends(printed), default=None))


def ticket_ends(text: str) -> list[datetime]:
    """When the tickets that others are got by (krbtgt) end, as MIT's and Heimdal's klist print them."""
    found = []
    for line in text.splitlines():
        mit = re.match(r"^\S+ \S+ +(\d\d/\d\d/\d\d(?:\d\d)? \d\d:\d\d:\d\d) +krbtgt/", line)
        heimdal = re.match(r"^\w+ +\d+ [\d:]+ \d{4} +(\w+ +\d+ [\d:]+ \d{4}) +krbtgt/", line)
        if mit:
            form = "%m/%d/%Y %H:%M:%S" if len(mit[1]) == 19 else "%m/%d/%y %H:%M:%S"
            found.append(datetime.strptime(mit[1], form))
        elif heimdal:
            found.append(datetime.strptime(heimdal[1], "%b %d %H:%M:%S %Y"))
    return [end.replace(tzinfo=UTC) for end in found]


# -- looking ---------------------------------------------------------------------------------------


def _destination(variables: Mapping[str, Any]) -> list[str]:
    """The arguments of ssh that lead to the account."""
    values = {name: str(variables[name]) for name in SSH_VARIABLES if variables.get(name)}
    name = str(variables.get("inventory_hostname", ""))
    try:
        return ssh_arguments(values, name)
    except ValueError:  # Ansible will not connect with such arguments either, and says so
        return ssh_arguments({name: values[name] for name in values if name not in ARGUMENTS}, name)


def _certificates(destination: Sequence[str]) -> list[tuple[str, str]]:
    """The certificates that ssh would offer there, each with what ssh-keygen says of it."""
    found = settings(_said(["ssh", "-G", *destination]) or "")
    named = [*found.get("certificatefile", []), *found.get("identityfile", [])]
    paths = dict.fromkeys(os.path.expanduser(file) for file in [*named, *(f"{file}-cert.pub" for file in named)])
    files = [file for file in paths if file.endswith("-cert.pub") and Path(file).is_file()]
    printed = [(file, _said(["ssh-keygen", "-L", "-f", file]) or "") for file in files]
    agent = os.path.expandvars(os.path.expanduser(found.get("identityagent", ["SSH_AUTH_SOCK"])[-1]))
    return [*printed, *_of_agent(os.environ.get("SSH_AUTH_SOCK", "") if agent == "SSH_AUTH_SOCK" else agent)]


def _of_agent(socket: str) -> list[tuple[str, str]]:
    """The certificates in the agent at the socket."""
    if socket in ("", "none"):
        return []
    held = CERTIFICATE.findall(_said(["ssh-add", "-L"], SSH_AUTH_SOCK=socket) or "")
    return [(AGENT, _said(["ssh-keygen", "-L", "-f", "-"], text=f"{line}\n") or "") for line in held]


def _said(line: list[str], text: str = "", **environment: str) -> str | None:
    """What a program prints, in English and in UTC; None where it is not there or does not end."""
    said = ask(line, SECONDS, {"LC_ALL": "C", "TZ": "UTC", **environment}, text)
    return None if said.code is None else said.output
