# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Until when a person is let in without a question: by the certificate that ssh would offer, or the Kerberos ticket.

It is read on this machine, from files, agent and ticket cache; nothing connects. What a program printed goes in, a
moment comes out.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, NamedTuple

from .._input.programs import Answer, ask, ssh_settings
from .._input.ssh_arguments import ARGUMENTS, SSH_VARIABLES, ssh_arguments
from .._text.ssh_certificate import Certificate, read
from .renewers import CERTIFICATE, USUAL_KEY, user_of

SECONDS = 10  # for a program that asks nobody anything
ENGLISH = {"LC_ALL": "C", "TZ": "UTC"}
MINUTES = timedelta(minutes=10)  # what ends so soon may end in the middle of a run
STAMP = "%Y-%m-%d %H:%M UTC"
AGENT = "the agent"
EPOCH = datetime.min.replace(tzinfo=UTC)
IN_AGENT = re.compile(r"^\S+-cert-v\d\d@openssh\.com .*$", re.MULTILINE)
PRINCIPAL = re.compile(r"^\s*(?:Default principal|Principal): (?P<user>[^@\s]+)@(?P<realm>\S+)$", re.MULTILINE)
NO_TICKET = re.compile(r"no (credentials|ticket)|not found|no such file", re.IGNORECASE)  # of MIT, of Heimdal


class Offered(NamedTuple):
    """A certificate that ssh would offer, and where it is: the path of a file, or the agent."""

    place: str
    said: Certificate


class Credential(NamedTuple):
    """What lets a user in for some time. place: a file, the agent, or empty. end: aware; None: there is none.

    problem: why it lets nobody in, whenever it ends; empty if nothing is against it.
    """

    kind: Literal["certificate", "ticket"]
    place: str
    end: datetime | None
    problem: str = ""

    def lets_nobody_in(self, now: datetime) -> bool:
        """Return True if there is none, or it has ended, or something else is against it."""
        return bool(self.problem) or self.end is None or self.end <= now

    def wants_renewal(self, now: datetime) -> bool:
        """Return True if it lets nobody in, or may end before work that begins now is done."""
        return self.lets_nobody_in(now) or (self.end is not None and self.end - now <= MINUTES)

    def sentence(self, now: datetime) -> str:
        """Return what is against it, or when it ended or will end."""
        if self.problem and not (self.end and self.end <= now):
            return self.problem
        if self.end is None:
            return f"there is no {'Kerberos ticket' if self.kind == 'ticket' else 'certificate'}"
        return f"the {self.kind} {'ended' if self.end <= now else 'ends'} on {self.end.strftime(STAMP)}"


def of_account(variables: Mapping[str, Any], now: datetime) -> Credential | None:
    """Return the credential of an account if its cluster wants one; None if it wants none, or nothing is known of it.

    variables: Ansible's, with no template in those of ssh. If the accounts file says how the user gets in (door), no
    credential is wanted.
    """
    auth = variables["cluster"].get("auth") or {}
    archetype = auth.get("archetype")
    if (variables.get("account") or {}).get("auth"):
        return None
    if archetype == "certificate":
        return _held_certificate(variables, now)
    if archetype == "kerberos":
        said = ask(["klist"], SECONDS, ENGLISH)  # without -c: Heimdal's has another meaning for it
        return ticket(said, user_of(variables), str(auth.get("realm", "")))
    return None


# -- what was printed ------------------------------------------------------------------------------


def certificate(offered: Iterable[Offered], user: str, own: str, now: datetime) -> Credential:
    """Return the certificate that lets the user in longest; if none does, the newest one and what is against it.

    offered: what ssh would offer. own: the path of the certificate that the site's program writes. If there is one,
    whoever signed it is the site, and certificates of others are left out.
    """
    every = list(offered)
    site = {one.said.authority for one in every if one.place == own}
    every = [one for one in every if not site or one.said.authority in site]
    judged = [_judged(one, user, now) for one in every]
    nowhere = Credential("certificate", "", None)
    return max(judged, key=lambda one: (not one.problem, one.end or EPOCH), default=nowhere)


def _judged(one: Offered, user: str, now: datetime) -> Credential:
    start, end = (moment.replace(tzinfo=UTC) for moment in (one.said.start, one.said.end))
    names = one.said.principals
    problem = ""
    if start > now:
        problem = f"the certificate is not valid before {start.strftime(STAMP)}"
    elif user and user not in {name.partition("@")[0] for name in names}:
        problem = f"the certificate is for {', '.join(names) or 'no user'}, not for {user}"
    return Credential("certificate", one.place, end, problem)


def ticket(said: Answer, user: str, realm: str) -> Credential | None:
    """Return the ticket that others are got by. said: by klist, in UTC. None if there is no klist, or it is not clear.

    user, realm: whose ticket the site wants; empty if that is not known.
    """
    if said.code != 0:
        return Credential("ticket", "", None) if NO_TICKET.search(said.errors) else None
    named = PRINCIPAL.search(said.output)
    if not named:
        return None
    end = max(ticket_ends(said.output, named["realm"]), default=None)
    problem = ""
    if realm and named["realm"] != realm:
        problem = f"the Kerberos ticket is of the realm {named['realm']}, not of {realm}"
    elif user and named["user"] != user:
        problem = f"the Kerberos ticket is for {named['user']}, not for {user}"
    return Credential("ticket", "", end, problem)


def ticket_ends(text: str, realm: str) -> list[datetime]:
    """Return when the tickets end that others of a realm are got by, as klist of MIT and of Heimdal prints them."""
    found = []
    for line in text.splitlines():
        if f" krbtgt/{realm}@" not in line:
            continue
        mit = re.match(r"^\S+ \S+ +(\d\d/\d\d/\d\d(?:\d\d)? \d\d:\d\d:\d\d) ", line)
        heimdal = re.match(r"^\w+ +\d+ [\d:]+ \d{4} +(\w+ +\d+ [\d:]+ \d{4}) ", line)
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


def _held_certificate(variables: Mapping[str, Any], now: datetime) -> Credential | None:
    """Return the certificate that ssh would show for the account; None if ssh does not say what it would do."""
    found = ssh_settings(_destination(variables), SECONDS)
    if not found:
        return None
    own = os.path.expanduser(f"{USUAL_KEY}{CERTIFICATE}")
    return certificate(_offered(found), found.get("user", [""])[-1], own, now)


def _offered(found: Mapping[str, Sequence[str]]) -> Iterator[Offered]:
    """Yield the certificates that ssh would offer. found: what ssh -G says."""
    named = [*found.get("certificatefile", ()), *(f"{file}{CERTIFICATE}" for file in found.get("identityfile", ()))]
    for file in dict.fromkeys(os.path.expanduser(file) for file in named):
        if os.path.isfile(file):
            yield from _read(file, ["ssh-keygen", "-L", "-f", file])
    agent = os.path.expandvars(os.path.expanduser(found.get("identityagent", ["SSH_AUTH_SOCK"])[-1]))
    socket = os.environ.get("SSH_AUTH_SOCK", "") if agent == "SSH_AUTH_SOCK" else agent
    if socket not in ("", "none"):
        held = ask(["ssh-add", "-L"], SECONDS, {**ENGLISH, "SSH_AUTH_SOCK": socket}).output
        for line in IN_AGENT.findall(held):
            yield from _read(AGENT, ["ssh-keygen", "-L", "-f", "-"], f"{line}\n")


def _read(place: str, command: Sequence[str], text: str = "") -> Iterator[Offered]:
    said = read(ask(command, SECONDS, ENGLISH, text).output)
    if said:
        yield Offered(place, said)
