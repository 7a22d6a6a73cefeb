# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What only a person can do before an account is whole, and by which sign it is known that they have.

A cluster's profile lists its human steps in order, and says by which sign each is seen done: 'reached', the
account was reached; 'key', the keyring has the key that 'secret' names; 'link', the path of the storage area is
known. A step without a sign is open until the person says that it is done, and again when 'every_days' are over. One
to which the accounts file gives a day ('due') is open from AHEAD_DAYS before that day until it is said done for it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import date
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from .._documents.record import StepMark
    from .._documents.result import AccountResult, ManualStep, Unreached

Told = Mapping[str, Any]  # of a cluster's profile, which its schema describes
Marks = Mapping[str, "StepMark"]  # of an account: step -> who said that it is done
AHEAD_DAYS = 30
SECRET = "ngc"  # whose step it is that says no more than that a key is missing


class Signs(NamedTuple):
    """What was seen of an account. missing: keys that the keyring lacks; unknown: areas whose path nobody knows."""

    reached: bool
    missing: Collection[str] = ()
    unknown: Collection[str] = ()


def open_steps(steps: Iterable[Told], signs: Signs, said: Marks, today: date) -> list[Told]:
    """The steps of a profile that are neither seen done nor said done."""
    return [step for step in steps if _is_open(step, signs) and not is_settled(step, said, today)]


def is_settled(step: Told, said: Marks, today: date) -> bool:
    """Whether a person has said that the step is done, for as long as that holds, or its own day is far ahead."""
    mark = said.get(str(step["id"]))
    day = due_day(step, mark)
    if day is None:
        return mark is not None
    ahead = AHEAD_DAYS if day == own_day(step, mark) else 0
    return today.toordinal() < day.toordinal() - ahead


def due_day(step: Told, mark: StepMark | None) -> date | None:
    """The day on which the step is to be done, or done again; None where nothing says one."""
    return own_day(step, mark) or (until(step, mark) if mark else None)


def own_day(step: Told, mark: StepMark | None) -> date | None:
    """The day that the accounts file gives the step, as long as it is not said done for that day."""
    if "due" not in step or (mark and mark.get("due") == step["due"]):
        return None
    try:
        return date.fromisoformat(step["due"])
    except ValueError:
        return date.min  # a day that is none is told at once; a run says the line


def until(step: Told, mark: StepMark) -> date | None:
    """The day on which the step is to be done again; None for never."""
    if "every_days" not in step:
        return None
    try:
        return date.fromordinal(date.fromisoformat(mark["at"][:10]).toordinal() + int(step["every_days"]))
    except ValueError:
        return date.min  # a day that is none holds nothing


def _is_open(step: Told, signs: Signs) -> bool:
    sign = step.get("done")
    if sign == "key":
        return step.get("secret", SECRET) in signs.missing
    if sign == "link":
        return step["area"] in signs.unknown
    return sign is None or not signs.reached


def left(cluster: Told, result: AccountResult | Unreached, said: Marks, today: date) -> list[ManualStep]:
    """The steps of the cluster's profile that are in the way after that result of converge."""
    steps: list[Told] = cluster.get("human_steps", [])
    if "unreachable" in result:
        ahead = open_steps(_before_reaching(steps), Signs(False), said, today)
        return [told(step) for step in ahead]
    signed = [step for step in steps if "done" in step]
    return [told(step) for step in open_steps(signed, signs(result), said, today)]


def signs(result: AccountResult) -> Signs:
    """What the result of an account that was reached shows."""
    missing = {one["missing_secret"] for one in result["outcomes"] if one.get("missing_secret")}
    unknown = {note["area"] for note in result["notes"] if note["code"] == "path_unknown"}
    return Signs(True, missing, unknown)


def _before_reaching(steps: list[Told]) -> list[Told]:
    """All up to the last one that is seen done when the account is reached, without those for later."""
    last = max((at for at, step in enumerate(steps) if step.get("done") == "reached"), default=-1)
    return [step for step in steps[: last + 1] if step.get("done", "reached") == "reached"]


def told(step: Told) -> ManualStep:
    """The step as it is told to people, and as others read it."""
    text: ManualStep = {"id": str(step["id"]), "text": str(step["text"])}
    if step.get("url"):
        text["url"] = str(step["url"])
    if step.get("due"):
        text["due"] = str(step["due"])
    return text


def of_account(variables: Mapping[str, Any], result: AccountResult | Unreached) -> list[ManualStep]:
    """The steps that are left for the account that has these variables; none for a sandbox."""
    if not variables.get("account") or variables["account"].get("sandbox"):
        return []
    name = str(variables["account"].get("name", ""))
    return left(variables.get("cluster") or {}, result, said_of(name), date.today())


def unseen(variables: Mapping[str, Any]) -> list[ManualStep]:
    """The steps of an account that was reached which nothing can show, as far as nobody has said that they are done."""
    steps = [step for step in (variables.get("cluster") or {}).get("human_steps", []) if "done" not in step]
    if not steps:
        return []
    name = str(variables["account"]["name"])
    return [told(step) for step in open_steps(steps, Signs(True), said_of(name), date.today())]


def said_of(account: str) -> Marks:
    """What was said of an account's steps; nothing where that cannot be read, which status says."""
    from .._state import done_steps, durable_files  # few are open

    try:
        return done_steps.read_marks().get(account, {})
    except durable_files.StateError:
        return {}
