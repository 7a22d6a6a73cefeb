"""What the audit sees without an account: certificates, tickets, how old a profile is, what only a person can do.

The judgements are pure: an end and the time go in, findings come out.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import datetime
import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .._authentication.credential import Credential, find_credential
from .._authentication.renewers import renewal_command, user_of
from .._delivery import manual_steps
from .._documents.fix import FixStep, advice, local_command
from .._input.command_line import command
from .rules import RULES, WATCHED

if TYPE_CHECKING:
    from .._documents.finding import Class, FoundDifference

Cluster = Mapping[str, Any]  # a profile, as Ansible has it among an account's variables
Variables = Mapping[str, Any]

SOON = datetime.timedelta(hours=1)
MAX_AGE = 180
OLD_PROFILE = "Compare the profile with its sources and set verified_on, or take a newer version of hpc.onboard."
BROKEN: Class = "broken"
AT_RISK: Class = "at_risk"
MISSING: Class = "missing"
STALE: Class = "stale"


def findings(variables: Variables, now: datetime.datetime, max_age: int = MAX_AGE) -> list[FoundDifference]:
    """Everything that can be seen here for an account.

    variables: Ansible's, of the account. now: aware. max_age: days that a profile is good for.
    """
    cluster = variables["cluster"]
    found = profile_age(cluster, now.date(), max_age)
    held = find_credential(variables, now)
    found += ending(cluster, held, user_of(variables), now) if held else []
    unseen = [step for step in cluster.get("human_steps", ()) if "done" not in step]
    if not unseen:
        return found
    name = str(variables["account"]["name"])
    return found + open_steps(name, unseen, manual_steps.read_marks(name), now.date())


# -- judgements ------------------------------------------------------------------------------------


def profile_age(cluster: Cluster, today: datetime.date, max_age: int) -> list[FoundDifference]:
    """Whether a profile was last compared with its sources too long ago; max_age in days."""
    if not cluster.get("verified_on"):  # nobody vouches for a profile of one's own
        return []
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


def ending(cluster: Cluster, held: Credential, user: str, now: datetime.datetime) -> list[FoundDifference]:
    """Whether what lets the person in has ended, or ends soon. user: on the cluster."""
    if held.end is not None and not held.problem and held.end - now > SOON:
        return []
    kind: Class = "missing" if held.end is None else BROKEN if held.is_unusable(now) else AT_RISK
    name = f"{held.kind} for {cluster['name']}"
    text = f"{held.describe(now)} for {cluster['name']}" if held.end is None else held.describe(now)
    return [_finding("SES-001", name, held.place, kind, text, _renewal(cluster, user, held.place))]


def open_steps(
    account: str, steps: Sequence[manual_steps.ProfileStep], said: manual_steps.Marks, today: datetime.date
) -> list[FoundDifference]:
    """The steps that nothing shows and nobody has said to be done, or that are due again. said: of the account."""
    found: list[FoundDifference] = []
    for step in steps:
        if manual_steps.is_settled(step, said, today):
            continue
        told, mark = manual_steps.describe_step(step), said.get(str(step["id"]))
        rule, kind, text = "STP-001", MISSING, f"Nobody has said that this is done: {told['text']}"
        if due := manual_steps.due_day(step, mark):
            when = f"{'Due again' if mark else 'Due'} {'since' if due <= today else 'on'} {due}"
            rule, kind, text = "STP-002", STALE, f"{when}: {told['text']}"
        say_so = local_command(*command("done", [account, told["id"]]))
        one = _finding(rule, f"step {told['id']}", "", kind, text, say_so)
        one["cause"] = WATCHED[rule][1]
        if "url" in told:
            one["fix"].insert(0, advice(f"It is done at {told['url']}"))
        found.append(one)
    return found


def _renewal(cluster: Cluster, user: str, place: str) -> FixStep:
    """How a new one is had: our command for the renewer, or the profile's where that is nothing but words."""
    words = renewal_command(cluster, user, place)
    if words:
        return local_command(*words)
    said = str(cluster["auth"].get("command", ""))
    try:
        words = shlex.split(said)
    except ValueError:
        words = []
    if words and shlex.join(words) == said:
        return local_command(*words)
    return advice(f"Get a new one as the site says: {said}" if said else "Get a new one as the site says.")


def _finding(rule: str, resource: str, place: str, kind: Class, text: str, fix: FixStep) -> FoundDifference:
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
