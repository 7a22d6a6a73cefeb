# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The manual steps of a cluster, which only the user can do, and the introduction to the cluster.

A cluster's profile lists its manual steps in order ('human_steps'). The field 'done' of a step names the sign by which
it is recognised as done: 'reached', the account was reached; 'key', the keyring has the key that 'secret' names;
'link', the path of the storage area is known. A step without a sign is open until the user marks it as done, and again
after 'every_days'. A step with a day in the accounts file ('due') is open from AHEAD_DAYS before that day until the
user marks it as done for that day.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from datetime import date
from typing import TYPE_CHECKING, Any, NamedTuple

from .._input.command_line import command_for
from .._ssh_config.texts import FILE
from .._state import done_steps, durable_files

if TYPE_CHECKING:
    from .._documents.outcome import ResourceOutcome
    from .._documents.record import StepMark
    from .._documents.result import AccountResult, Introduction, ManualStep, UnreachableResult

ProfileStep = Mapping[str, Any]  # of a cluster's profile, which its schema describes
Marks = Mapping[str, "StepMark"]
"""When the user marked the steps of an account as done ('at'), and for which day ('due'); by the ids of the steps."""
AHEAD_DAYS = 30
DEFAULT_KEY = "ngc"  # the key of a step whose 'secret' is not set
SHOWN_TYPES = ("link", "script", "conda")  # types of the resources that users look for, as identities begin


class Signs(NamedTuple):
    """The signs observed on an account, by which steps are recognised as done.

    reached: the account was reached. missing: keys that are not in the keyring. unknown: areas without a known path.
    """

    reached: bool
    missing: Collection[str] = ()
    unknown: Collection[str] = ()


def filter_open_steps(steps: Iterable[ProfileStep], signs: Signs, marks: Marks, today: date) -> list[ProfileStep]:
    """Return the steps that no sign proves and that the user has not marked as done. marks: of the account's steps."""
    return [step for step in steps if _is_unproven(step, signs) and not is_settled(step, marks, today)]


def is_settled(step: ProfileStep, marks: Marks, today: date) -> bool:
    """Return True if the step is marked as done and need not be done again yet, or if its day is far ahead.

    marks: of the account's steps.
    """
    mark = marks.get(str(step["id"]))
    day = due_day(step, mark)
    if day is None:
        return mark is not None
    days_ahead = AHEAD_DAYS if day == own_day(step, mark) else 0  # a step to repeat is open only from its day on
    return today.toordinal() < day.toordinal() - days_ahead


def due_day(step: ProfileStep, mark: StepMark | None) -> date | None:
    """Return the day on which the step must be done, or done again; None if there is no such day.

    mark: of the step; None if the user has not marked it as done.
    """
    return own_day(step, mark) or (repeat_day(step, mark) if mark else None)


def own_day(step: ProfileStep, mark: StepMark | None) -> date | None:
    """Return the day that the accounts file sets for a step; None for no day, or if the step is done for that day."""
    if "due" not in step or (mark and mark.get("due") == step["due"]):
        return None
    try:
        return date.fromisoformat(step["due"])
    except ValueError:
        return date.min  # due at once; a run reports the line with the invalid day


def repeat_day(step: ProfileStep, mark: StepMark) -> date | None:
    """Return the day on which a step that was done must be done again; None for never."""
    if "every_days" not in step:
        return None
    try:
        done_day = date.fromisoformat(mark["at"][:10])
    except ValueError:
        return date.min  # due at once, as if the step had no mark
    try:
        return date.fromordinal(done_day.toordinal() + int(step["every_days"]))
    except (ValueError, TypeError, OverflowError):
        return None  # after the last day of the calendar, or no number, which a run reports


def _is_unproven(step: ProfileStep, signs: Signs) -> bool:
    """Return True if no sign shows that the step is done."""
    sign = step.get("done")  # see the top of this file
    if sign == "key":
        return step.get("secret", DEFAULT_KEY) in signs.missing
    if sign == "link":
        return step["area"] in signs.unknown
    return sign is None or not signs.reached  # the third sign is "reached"


def list_explaining_steps(
    cluster: Mapping[str, Any], result: AccountResult | UnreachableResult, marks: Marks, today: date
) -> list[ManualStep]:
    """Return the open steps of the profile (cluster) that may explain that result. marks: of the account's steps.

    For an unreachable account, these are all steps up to the last one that a login proves, without those that a key or
    a path proves.
    """
    steps: list[ProfileStep] = cluster.get("human_steps", [])
    if "unreachable" in result:
        login_positions = [position for position, step in enumerate(steps) if step.get("done") == "reached"]
        steps_to_login = steps[: login_positions[-1] + 1] if login_positions else []
        # a step without a sign may be open, too
        steps = [step for step in steps_to_login if "done" not in step or step["done"] == "reached"]
        signs = Signs(reached=False)
    else:
        steps = [step for step in steps if "done" in step]
        missing = {outcome["missing_secret"] for outcome in result["outcomes"] if outcome.get("missing_secret")}
        unknown = {note["area"] for note in result["notes"] if note["code"] == "path_unknown"}
        signs = Signs(reached=True, missing=missing, unknown=unknown)
    return [describe_step(step) for step in filter_open_steps(steps, signs, marks, today)]


def describe_step(step: ProfileStep) -> ManualStep:
    """Return the fields of a step that a result shows."""
    described: ManualStep = {"id": str(step["id"]), "text": str(step["text"])}
    if step.get("url"):
        described["url"] = str(step["url"])
    if step.get("due"):
        described["due"] = str(step["due"])
    return described


def list_open_steps(variables: Mapping[str, Any], result: AccountResult | UnreachableResult) -> list[ManualStep]:
    """Return the open steps that may explain the result of the account with these variables; [] for a sandbox."""
    account = variables.get("account") or {}
    if not account or account.get("sandbox"):
        return []
    marks = read_marks(str(account.get("name", "")))
    return list_explaining_steps(variables.get("cluster") or {}, result, marks, date.today())


def list_unproven_steps(variables: Mapping[str, Any]) -> list[ManualStep]:
    """Return the steps of a reached account that no sign can prove and that are not marked as done."""
    steps = [step for step in (variables.get("cluster") or {}).get("human_steps", []) if "done" not in step]
    if not steps:
        return []
    marks = read_marks(str(variables["account"]["name"]))
    return [describe_step(step) for step in filter_open_steps(steps, Signs(reached=True), marks, date.today())]


def introduce_site(variables: Mapping[str, Any], name: str, outcomes: Iterable[ResourceOutcome]) -> Introduction:
    """Return the introduction after the first change of an account: paths, open manual steps, and useful commands.

    The commands: the cheat sheet, short names for ssh, marking a step as done, and a test job
    (the status, if programs may not log in to the account).
    """
    is_by_hand = (variables.get("account") or {}).get("by_hand")  # programs may not log in to submit a test job
    # only resources that exist after the change
    present = [outcome for outcome in outcomes if outcome["status"] in ("ok", "missing", "different")]
    kinds_and_paths = [outcome["identity"].partition(" ")[::2] for outcome in present]  # without the space
    return {
        "places": [path for kind, path in kinds_and_paths if kind in SHOWN_TYPES],
        "command": command_for("cheatsheet", [name]),
        # the command that gives accounts short names for ssh
        "names": [] if os.path.exists(os.path.expanduser(FILE)) else command_for("ssh-config"),
        "steps": list_unproven_steps(variables),
        "done": command_for("done", [name]),
        "next": command_for("status", [name]) if is_by_hand else command_for("test-job", ["-l", name]),
    }


def read_marks(account: str) -> Marks:
    """Return the account's marks of done steps; {} if they cannot be read, which the subcommand status reports."""
    try:
        return done_steps.read_marks().get(account, {})
    except durable_files.StateError:
        return {}
