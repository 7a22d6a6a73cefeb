"""What the audit sees without an account: certificates and tickets of this machine, and how old a profile is.

The judgements are pure: what a program printed and the time go in, findings come out.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import datetime
import os
import re
import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.rules import RULES
from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.fix import Step, advice, here
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.programs import ask
from ansible_collections.hpc.onboard.plugins.plugin_utils._text.ssh_certificate import read_end

if TYPE_CHECKING:
    from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.finding import Class, Seen

Cluster = Mapping[str, Any]  # a profile, as Ansible has it among an account's variables

SECONDS = 10
SOON = datetime.timedelta(hours=1)
MAX_AGE = 180
OLD_PROFILE = "Compare the profile with its sources and set verified_on, or take a newer version of hpc.onboard."
BROKEN: Class = "broken"
AT_RISK: Class = "at_risk"
STAMP = "%Y-%m-%d %H:%M UTC"


def findings(cluster: Cluster, destination: list[str], now: datetime.datetime, max_age: int = MAX_AGE) -> list[Seen]:
    """Everything that can be seen here for an account on this cluster.

    destination: the arguments of ssh that lead to the account. now: aware. max_age: days that a profile is good for.
    """
    archetype = cluster["auth"]["archetype"]
    found = profile_age(cluster, now.date(), max_age)
    if archetype == "certificate":
        found += certificates(cluster, [(file, _certificate(file)) for file in _files(destination)], now)
    if archetype == "kerberos":
        found += tickets(cluster, _said(["klist", "-c"]), now)
    return found


# -- judgements ------------------------------------------------------------------------------------


def profile_age(cluster: Cluster, today: datetime.date, max_age: int) -> list[Seen]:
    """Whether a profile was last compared with its sources too long ago; max_age in days."""
    verified = datetime.date.fromisoformat(cluster["verified_on"])
    if (today - verified).days <= max_age:
        return []
    return [
        _finding(
            "PRO-001",
            resource=f"profile of {cluster['name']}",
            place=f"{cluster['id']}.yml",
            kind="stale",
            text=f"the profile was last checked on {verified}, more than {max_age} days ago",
            fix=advice(OLD_PROFILE),
        )
    ]


def certificates(cluster: Cluster, printed: Iterable[tuple[str, str]], now: datetime.datetime) -> list[Seen]:
    """Whether the certificate that lasts longest ends soon. printed: files with what ssh-keygen -L says, in UTC.

    No file that is a certificate: nothing can be said; it may be in the agent, or not be signed yet.
    """
    ends = [(end, file) for file, text in printed if (end := read_end(text)) is not None]
    if not ends:
        return []
    end, file = max(ends)
    return _ending(cluster, "certificate", file, end.replace(tzinfo=datetime.UTC), now)


def tickets(cluster: Cluster, printed: str | None, now: datetime.datetime) -> list[Seen]:
    """Whether the ticket that others are got by ends soon. printed: what klist says, in UTC; None without klist."""
    if printed is None:
        return []
    ends = ticket_ends(printed)
    if not ends:
        text = f"there is no Kerberos ticket for {cluster['name']}"
        return [_finding("SES-001", f"ticket for {cluster['name']}", "", "missing", text, _renewal(cluster))]
    return _ending(cluster, "ticket", "", max(ends), now)


def ticket_ends(text: str) -> list[datetime.datetime]:
    """When the tickets that others are got by (krbtgt) end, as MIT's and Heimdal's klist print them."""
    found = []
    for line in text.splitlines():
        mit = re.match(r"^\S+ \S+ +(\d\d/\d\d/\d\d(?:\d\d)? \d\d:\d\d:\d\d) +krbtgt/", line)
        heimdal = re.match(r"^\w+ +\d+ [\d:]+ \d{4} +(\w+ +\d+ [\d:]+ \d{4}) +krbtgt/", line)
        if mit:
            form = "%m/%d/%Y %H:%M:%S" if len(mit[1]) == 19 else "%m/%d/%y %H:%M:%S"
            found.append(datetime.datetime.strptime(mit[1], form))
        elif heimdal:
            found.append(datetime.datetime.strptime(heimdal[1], "%b %d %H:%M:%S %Y"))
    return [end.replace(tzinfo=datetime.UTC) for end in found]


def _ending(cluster: Cluster, what: str, place: str, end: datetime.datetime, now: datetime.datetime) -> list[Seen]:
    if end - now > SOON:
        return []
    word, kind = ("ended", BROKEN) if end <= now else ("ends", AT_RISK)
    text = f"the {what} {word} on {end.strftime(STAMP)}"
    return [_finding("SES-001", f"{what} for {cluster['name']}", place, kind, text, _renewal(cluster))]


def _renewal(cluster: Cluster) -> Step:
    """How a new one is had: the profile's command where that is nothing but words, for it will be pasted."""
    said = str(cluster["auth"].get("command", ""))
    try:
        words = shlex.split(said)
    except ValueError:
        words = []
    if words and shlex.join(words) == said:
        return here(*words)
    return advice(f"Get a new one as the site says: {said}" if said else "Get a new one as the site says.")


def _finding(rule: str, resource: str, place: str, kind: Class, text: str, fix: Step) -> Seen:
    return {
        "rule": rule,
        "capability": "watch",
        "resource": resource,
        "place": place,
        "class": kind,
        "cause": "time",
        "severity": RULES[rule].severity,
        "text": text,
        "desired": {},
        "actual": {},
        "fix": [fix],
    }


# -- looking ---------------------------------------------------------------------------------------


def _files(destination: list[str]) -> list[str]:
    """The files that may hold the certificates which ssh would offer there, those that exist."""
    settings = _said(["ssh", "-G", *destination]) or ""
    named = [file for key, file in re.findall(r"^(certificatefile|identityfile) (.+)$", settings, re.MULTILINE)]
    beside = [f"{file}-cert.pub" for file in named]
    paths = dict.fromkeys(os.path.expanduser(file) for file in [*named, *beside])
    return [file for file in paths if file.endswith("-cert.pub") and Path(file).is_file()]


def _certificate(file: str) -> str:
    return _said(["ssh-keygen", "-L", "-f", file]) or ""


def _said(line: list[str]) -> str | None:
    """What a program prints, in English and in UTC; None where it is not there or does not end."""
    said = ask(line, SECONDS, {"LC_ALL": "C", "TZ": "UTC"})
    return None if said.code is None else said.output
