# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The audit checks that need no connection: certificates, tickets, the age of the profile, manual steps."""

from __future__ import annotations

import datetime
import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .._authentication.credential import Credential, find_credential
from .._authentication.renewers import renewal_command, user_of
from .._delivery import manual_steps
from .._documents.fix import FixStep, advice, local_command
from .._input.command_line import command_for
from .._state import probed_facts
from .findings import simple_finding

if TYPE_CHECKING:
    from .._documents.finding import Class, FoundDifference

Cluster = Mapping[str, Any]  # a profile, as Ansible has it among an account's variables
Variables = Mapping[str, Any]

SOON = datetime.timedelta(hours=1)  # before the end of a credential
MAX_AGE = 180  # days after which a profile is old
OLD_PROFILE = "Compare the profile with its sources and update verified_on, or install a newer version of hpc-onboard."


def find_problems(variables: Variables, now: datetime.datetime, max_age: int = MAX_AGE) -> list[FoundDifference]:
    """Return all findings of an account that need no connection.

    variables: Ansible's, of the account. now: with a time zone. max_age: days after which a profile is old.
    """
    cluster = variables["cluster"]
    findings = [*check_profile_age(cluster, now.date(), max_age), *check_probed_facts(cluster)]
    credential = find_credential(variables, now)
    findings += check_credential(cluster, credential, user_of(variables), now) if credential else []
    # A step with "done" leaves a trace on the account, so onboarding checks the step.
    unchecked_steps = [step for step in cluster.get("human_steps", ()) if "done" not in step]
    if unchecked_steps:
        name = str(variables["account"]["name"])
        findings += check_manual_steps(name, unchecked_steps, manual_steps.read_marks(name), now.date())
    return findings


def check_profile_age(cluster: Cluster, today: datetime.date, max_age: int) -> list[FoundDifference]:
    """Return PRO-001 if the profile was last compared with its sources more than max_age days ago."""
    if not cluster.get("verified_on"):  # a user's own profile needs no date
        return []
    verified = datetime.date.fromisoformat(cluster["verified_on"])
    if (today - verified).days <= max_age:
        return []
    text = f"The profile was last checked on {verified}, more than {max_age} days ago."
    resource, place = f"profile of {cluster['name']}", f"{cluster['id']}.yml"
    return [simple_finding("PRO-001", resource, text, place=place, found_class="stale", fix=[advice(OLD_PROFILE)])]


def check_probed_facts(cluster: Cluster) -> list[FoundDifference]:
    """Return PRO-002 for each fact of the profile that, as several probes have confirmed, differs on the cluster.

    A difference has the value in the profile ("says"), the value on the cluster ("seen"), and the command that showed
    the value on the cluster ("by").
    """
    fix: list[FixStep] = [local_command(*command_for("probe", ["-l", cluster["id"], "--write"]))]
    return [
        simple_finding("PRO-002", f"profile of {cluster['name']}", f"{fact} is {difference['says']} in the profile, "
                       f"but {difference['seen']} on the cluster (according to {difference['by']}).",
                       place=fact, found_class="at_risk", fix=fix)
        for fact, difference in probed_facts.read_confirmed(cluster["id"]).items()
    ]  # fmt: skip


def check_credential(
    cluster: Cluster, credential: Credential, user: str, now: datetime.datetime
) -> list[FoundDifference]:
    """Return SES-001 if the user's certificate or ticket is missing, has expired, or expires soon.

    user: the user name on the cluster, for the command that renews the credential.
    """
    # without an end, the user has no certificate or ticket; with a problem, the site refuses it
    is_good = credential.end is not None and not credential.problem and credential.end - now > SOON
    if is_good:
        return []
    text = credential.describe(now)
    found_class: Class = "at_risk"
    if credential.end is None:
        text, found_class = f"{text} for {cluster['name']}", "missing"
    elif credential.is_unusable(now):
        found_class = "broken"
    name = f"{credential.kind} for {cluster['name']}"
    fix = [_renewal_step(cluster, user, credential.place)]
    return [simple_finding("SES-001", name, text, place=credential.place, found_class=found_class, fix=fix)]


def check_manual_steps(
    account: str, steps: Sequence[manual_steps.ProfileStep], marks: manual_steps.Marks, today: datetime.date
) -> list[FoundDifference]:
    """Return a finding for each manual step that is not marked as done (STP-001) or is due (STP-002).

    account: its name, for the command that marks a step as done. steps: from the profile and the accounts file. marks:
    this machine's records of the steps that the user has done.
    """
    findings = []
    for step in steps:
        if manual_steps.is_settled(step, marks, today):  # marked as done, or its day is far ahead
            continue
        shown, mark = manual_steps.describe_step(step), marks.get(str(step["id"]))  # shown: id, text and url
        rule, text = "STP-001", f"Not marked as done: {shown['text']}"
        if due := manual_steps.due_day(step, mark):  # the user has set a day, or must repeat the step
            when = f"{'Due again' if mark else 'Due'} {'since' if due <= today else 'on'} {due}"
            rule, text = "STP-002", f"{when}: {shown['text']}"
        fix: list[FixStep] = [local_command(*command_for("done", [account, shown["id"]]))]
        if "url" in shown:
            fix.insert(0, advice(f"Complete this step at {shown['url']}"))
        findings.append(simple_finding(rule, f"step {shown['id']}", text, fix=fix))
    return findings


def _renewal_step(cluster: Cluster, user: str, place: str) -> FixStep:
    """Return the step that renews a credential: a command, or an advice if the profile's text is no plain command.

    user: the user name on the cluster. place: of the old credential, such as the path of the certificate.
    """
    arguments = renewal_command(cluster, user, place)
    if arguments:  # hpc-onboard knows the site's program
        return local_command(*arguments)
    site_text = str(cluster["auth"].get("command", ""))
    try:
        arguments = shlex.split(site_text)
    except ValueError:
        arguments = []
    if arguments and shlex.join(arguments) == site_text:  # not equal if the text has variables, pipes or the like
        return local_command(*arguments)
    text = "Get a new certificate or ticket as described in the site's documentation"
    return advice(f"{text}: {site_text}" if site_text else f"{text}.")
