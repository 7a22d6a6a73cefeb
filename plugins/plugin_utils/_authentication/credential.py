# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds the certificate that ssh would offer for an account, or the Kerberos ticket, and when it expires.

The profile of a cluster, a part of Ansible's variables of the account, contains the login method. "ssh -G" prints the
settings of ssh for a host, each as a list of values. Files, the agent and the ticket cache of this machine are read;
nothing connects.
"""

from __future__ import annotations

import os
import pwd
import re
import socket
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, NamedTuple

from .._input.programs import LocalOutput, run_program, ssh_settings
from .._input.ssh_arguments import ARGUMENTS, SSH_VARIABLES, ssh_arguments
from .._text import ssh_certificate
from .._text.ssh_certificate import FOREVER, Certificate
from .renewers import CERTIFICATE, USUAL_KEY, user_of

SECONDS = 10  # for a program that does not ask the user
ENGLISH = {"LC_ALL": "C", "TZ": "UTC"}
MARGIN = timedelta(minutes=10)  # a credential that expires this soon may expire during a run
STAMP = "%Y-%m-%d %H:%M UTC"
AGENT = "the agent"
EPOCH = datetime.min.replace(tzinfo=UTC)
IN_AGENT = re.compile(r"^\S+-cert-v\d\d@openssh\.com .*$", re.MULTILINE)
PRINCIPAL = re.compile(r"^\s*(?:Default principal|Principal): (?P<user>[^@\s]+)@(?P<realm>\S+)$", re.MULTILINE)
CACHE = re.compile(r"^(?=Ticket cache: |Credentials cache: )", re.MULTILINE)  # of MIT, of Heimdal
NO_TICKET = re.compile(r"no (credentials|ticket)|not found|no such file", re.IGNORECASE)  # of MIT, of Heimdal


class OfferedCertificate(NamedTuple):
    """A certificate that ssh would offer. place: the path of its file, or AGENT."""

    place: str
    certificate: Certificate


class Credential(NamedTuple):
    """A certificate or Kerberos ticket, or the fact that the user has none (end is None).

    place: a file, AGENT, or empty. end: when it expires, with a time zone. problem: why a site would refuse it even
    before it expires, or empty.
    """

    kind: Literal["certificate", "ticket"]
    place: str
    end: datetime | None
    problem: str = ""

    def is_unusable(self, now: datetime) -> bool:
        """Return True if the credential is missing, has expired, or has another problem."""
        return bool(self.problem) or self.end is None or self.end <= now

    def needs_renewal(self, now: datetime) -> bool:
        """Return True if the credential is unusable, or may expire during work that begins now."""
        return self.is_unusable(now) or (self.end is not None and self.end - now <= MARGIN)

    def describe(self, now: datetime) -> str:
        """Return the credential's problem, or when it expires or has expired, as a clause."""
        has_expired = self.end is not None and self.end <= now
        if self.problem and not has_expired:  # after the end, the problem no longer matters
            return self.problem
        if self.end == FOREVER.replace(tzinfo=UTC):
            return f"the {self.kind} never expires"
        if self.end is None:
            return f"you have no {'Kerberos ticket' if self.kind == 'ticket' else 'certificate'}"
        return f"the {self.kind} {'expired' if has_expired else 'expires'} on {self.end.strftime(STAMP)}"


def find_credential(variables: Mapping[str, Any], now: datetime) -> Credential | None:
    """Return the credential that the cluster of an account requires; None if it requires none, or its state is unknown.

    variables: Ansible's, with the templates of the ssh variables resolved. An account with 'auth' in the accounts file
    requires no credential.
    """
    auth = variables["cluster"].get("auth") or {}
    login_method = auth.get("archetype")
    if (variables.get("account") or {}).get("auth"):  # the user's own setting replaces the profile's
        return None
    if login_method == "certificate":
        return _find_certificate(variables, now)
    if login_method == "kerberos":
        return _find_ticket(user_of(variables), str(auth.get("realm", "")), now)
    return None  # other login methods need no certificate or ticket on this machine


# -- reading the output of programs ----------------------------------------------------------------


def choose_certificate(offered: Iterable[OfferedCertificate], user: str, site_file: str, now: datetime) -> Credential:
    """Return the usable certificate that expires last; if none is usable, the one that expires last, with its problem.

    offered: the certificates that ssh would offer. user: on the cluster. site_file: the path of the certificate that
    the site's program writes; empty if unknown. If that certificate is offered, certificates of other signers, which
    may be for other sites, are ignored.
    """
    certificates = list(offered)
    signers = {candidate.certificate.authority for candidate in certificates if candidate.place == site_file}
    credentials = [
        _check_certificate(candidate, user, now)
        for candidate in certificates
        if not signers or candidate.certificate.authority in signers
    ]
    missing = Credential("certificate", "", None)
    return max(credentials, key=lambda credential: (not credential.problem, credential.end or EPOCH), default=missing)


def _check_certificate(offered: OfferedCertificate, user: str, now: datetime) -> Credential:
    """Return the certificate as a credential, with the problem for which the site would refuse it at the time `now`.

    user: on the cluster; empty if unknown.
    """
    start, end = (moment.replace(tzinfo=UTC) for moment in (offered.certificate.start, offered.certificate.end))
    names = offered.certificate.principals
    problem = ""
    if start > now:
        problem = f"the certificate is not valid before {start.strftime(STAMP)}"
    elif user and user not in {name.partition("@")[0] for name in names}:
        problem = f"the certificate is for {', '.join(names) or 'no user'}, not for {user}"
    return Credential("certificate", offered.place, end, problem)


def read_ticket(klist: LocalOutput, user: str, realm: str) -> Credential | None:
    """Return the ticket-granting ticket in the output of klist, in UTC.

    The end of the ticket is None if the user has no ticket. Return None if klist is missing or its output is unclear.
    user, realm: that the site expects; empty if unknown.
    """
    if klist.code != 0:
        return Credential("ticket", place="", end=None) if NO_TICKET.search(klist.errors) else None
    principal = PRINCIPAL.search(klist.output)
    if not principal:  # the output has an unknown form
        return None
    end = max(_list_ticket_ends(klist.output, principal["realm"]), default=None)
    problem = ""
    if realm and principal["realm"] != realm:
        problem = f"the Kerberos ticket is for the realm {principal['realm']}, not for {realm}"
    elif user and principal["user"] != user:
        problem = f"the Kerberos ticket is for {principal['user']}, not for {user}"
    return Credential("ticket", "", end, problem)


def read_ticket_caches(klist: LocalOutput, user: str, realm: str) -> list[Credential]:
    """Return the ticket of each cache in the output of "klist -A". user, realm: see read_ticket."""
    caches = CACHE.split(klist.output) if klist.code == 0 else []
    tickets = (read_ticket(LocalOutput(0, cache, ""), user, realm) for cache in caches)
    return [ticket for ticket in tickets if ticket]


def _list_ticket_ends(text: str, realm: str) -> list[datetime]:
    """Return when the ticket-granting tickets of a realm expire. text: the output of klist, of MIT or of Heimdal.

    Each line contains the times of issue and of expiry: 12/31/26 23:59:59 or 12/31/2026 23:59:59 (MIT), or
    Dec 31 23:59:59 2026 (Heimdal).
    """
    ends = []
    for line in text.splitlines():
        if f" krbtgt/{realm}@" not in line:
            continue
        mit = re.match(r"^\S+ \S+ +(\d\d/\d\d/\d\d(?:\d\d)? \d\d:\d\d:\d\d) ", line)
        heimdal = re.match(r"^\w+ +\d+ [\d:]+ \d{4} +(\w+ +\d+ [\d:]+ \d{4}) ", line)
        if mit:
            has_full_year = len(mit[1]) == len("12/31/2026 23:59:59")
            date_format = "%m/%d/%Y %H:%M:%S" if has_full_year else "%m/%d/%y %H:%M:%S"
            ends.append(datetime.strptime(mit[1], date_format))
        elif heimdal:
            ends.append(datetime.strptime(heimdal[1], "%b %d %H:%M:%S %Y"))
    return [end.replace(tzinfo=UTC) for end in ends]


# -- running programs ------------------------------------------------------------------------------


def _make_ssh_arguments(variables: Mapping[str, Any]) -> list[str]:
    """Return the arguments of ssh for the account; without the user's own arguments if those cannot be parsed."""
    values = {name: str(variables[name]) for name in SSH_VARIABLES if variables.get(name)}
    account = str(variables.get("inventory_hostname", ""))
    try:
        return ssh_arguments(values, account)
    except ValueError:  # Ansible refuses such arguments, too, with a message
        return ssh_arguments({name: values[name] for name in values if name not in ARGUMENTS}, account)


def _find_ticket(user: str, realm: str, now: datetime) -> Credential | None:
    """Return the ticket of the default cache, or a usable ticket of another cache, which ssh would choose by the realm.

    Return None if the output of klist is unclear. user, realm: see read_ticket.
    """
    ticket = read_ticket(run_program(["klist"], SECONDS, ENGLISH), user, realm)  # -c has another meaning for Heimdal
    if ticket is None or not ticket.is_unusable(now):
        return ticket
    others = read_ticket_caches(run_program(["klist", "-A"], SECONDS, ENGLISH), user, realm)
    return next((other for other in others if not other.is_unusable(now)), ticket)


def _find_certificate(variables: Mapping[str, Any], now: datetime) -> Credential | None:
    """Return the certificate that ssh would offer for the account; None if ssh refuses its settings."""
    settings = ssh_settings(_make_ssh_arguments(variables), SECONDS)
    if not settings:
        return None
    renewer = (variables["cluster"].get("auth") or {}).get("renewer")
    site_file = os.path.expanduser(f"{USUAL_KEY}{CERTIFICATE}") if renewer == "cscs-key" else ""
    return choose_certificate(_list_offered(settings), settings.get("user", [""])[-1], site_file, now)


def read_certificate_files(settings: Mapping[str, Sequence[str]]) -> Iterator[Credential]:
    """Yield the certificate of each file that ssh would offer, or that its settings name. settings: of ssh -G.

    The validity of a certificate is not checked; a file that cannot be read has a problem and no end.
    """
    for file in dict.fromkeys([*list_files(settings, "certificatefile"), *_list_certificate_files(settings)]):
        if not os.path.isfile(file):
            yield Credential(
                "certificate", file, None, "your ssh settings name this certificate, but the file does not exist"
            )
            continue
        certificates = list(_read_certificate(file, ["ssh-keygen", "-L", "-f", file]))
        for offered in certificates:
            yield Credential("certificate", file, offered.certificate.end.replace(tzinfo=UTC))
        if not certificates:
            yield Credential("certificate", file, None, "ssh-keygen cannot read this certificate")


def _list_certificate_files(settings: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the existing certificate files that ssh reads: those in its settings, and those next to its key files."""
    keys = list_files(settings, "identityfile")
    candidates = [*list_files(settings, "certificatefile"), *(f"{file}{CERTIFICATE}" for file in keys)]
    return [file for file in dict.fromkeys(candidates) if os.path.isfile(file)]


def list_files(settings: Mapping[str, Sequence[str]], keyword: str) -> list[str]:
    """Return the files of a keyword, such as identityfile, as ssh finds them. settings: the output of ssh -G.

    ssh -G prints ~ and tokens such as %h, which ssh_config(5) describes, as they are in the settings.
    """
    user, machine = pwd.getpwuid(os.getuid()), socket.gethostname()
    values = {"%": "%", "d": user.pw_dir, "u": user.pw_name, "i": str(user.pw_uid)}  # by token
    values |= {"l": machine, "L": machine.partition(".")[0]}
    for token, name in (("h", "hostname"), ("n", "host"), ("p", "port"), ("r", "user"), ("k", "hostkeyalias")):
        values[token] = settings.get(name, [""])[-1]
    values["k"] = values["k"] or values["h"]

    def expand(file: str) -> str:
        """Return the path of a file. A token without a value stays."""
        path = re.sub("%(.)", lambda token: values.get(token[1]) or token[0], re.sub("^~(?=/)", user.pw_dir, file))
        return os.path.expandvars(path)

    return [expand(file) for file in settings.get(keyword, ()) if file != "none"]


def _list_offered(settings: Mapping[str, Sequence[str]]) -> Iterator[OfferedCertificate]:
    """Yield the certificates that ssh would offer. settings: the output of ssh -G."""
    for file in _list_certificate_files(settings):
        yield from _read_certificate(file, ["ssh-keygen", "-L", "-f", file])
    agent_socket = find_agent_socket(settings)
    offers_agent_keys = settings.get("identitiesonly", ["no"])[-1] != "yes"  # else only certificates with a file
    if agent_socket and offers_agent_keys:
        keys_of_agent = run_program(["ssh-add", "-L"], SECONDS, {**ENGLISH, "SSH_AUTH_SOCK": agent_socket}).output
        for line in IN_AGENT.findall(keys_of_agent):
            yield from _read_certificate(AGENT, ["ssh-keygen", "-L", "-f", "-"], f"{line}\n")


def find_agent_socket(settings: Mapping[str, Sequence[str]]) -> str:
    """Return the socket of the agent that ssh asks; empty without an agent. settings: the output of ssh -G."""
    # IdentityAgent is "none", the path of a socket, or the name of the variable that has the path
    agent = os.path.expandvars(os.path.expanduser(settings.get("identityagent", ["SSH_AUTH_SOCK"])[-1]))
    path = os.environ.get("SSH_AUTH_SOCK", "") if agent == "SSH_AUTH_SOCK" else agent
    return "" if path == "none" else path


def _read_certificate(place: str, command: Sequence[str], stdin: str = "") -> Iterator[OfferedCertificate]:
    """Yield the certificate that a command of ssh-keygen prints, unless the output is not a certificate.

    place: of the certificate, a path or AGENT. stdin: the input of the command.
    """
    certificate = ssh_certificate.parse_listing(run_program(command, SECONDS, ENGLISH, stdin).output)
    if certificate:
        yield OfferedCertificate(place, certificate)
