# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What Slurm offers to a person, and what is concluded from it. It is asked by _slurm/questions.py, seldom."""

from typing import Any, Dict, List, Mapping, NamedTuple, Optional

from .._core.host import Host

FOUND = "slurm"  # what it is called among what was found on an account

Document = Dict[str, Any]
"""accounts: [{name, qos, default_qos}], or None where they are not known. default: the account that Slurm takes where a
job names none, or empty. partitions: [{name, gpus}], or None; gpus: the types that a job can ask for, and "" for those
without one. missed: what could not be asked, in sentences."""


class Choice(NamedTuple):
    """The Slurm account of a person's jobs, empty where there is none; and why, with what to do about it."""

    account: str
    why: str = ""


def choice(offers: Mapping[str, Any], wish: str, likely: str) -> Choice:
    """Which account jobs are counted for. wish: what the person says. likely: the project, where a site names it so."""
    if offers.get("accounts") is None:
        return Choice(wish or likely)
    names = [one["name"] for one in offers["accounts"]]
    same = {name.lower(): name for name in names}  # Slurm keeps them in small letters
    yours = "yours: %s" % ", ".join(names) if names else "you have none here"
    if wish and wish.lower() not in same:
        why = "'%s' is not, or no longer, a Slurm account of yours (%s). Put 'scheduler: {account: NAME}' right in the"
        return Choice("", why % (wish, yours) + " accounts file, or ask your project's leader")
    for one in (wish, likely):
        if one.lower() in same:
            return Choice(same[one.lower()])
    if len(names) == 1:
        return Choice(names[0])
    if not names:
        return Choice("", "Slurm has no account of yours here, so no job starts: ask your project's leader or the site")
    why = "you have several Slurm accounts (%s). Choose one in the accounts file: 'scheduler: {account: %s}'"
    return Choice("", why % (", ".join(names), names[0]))


def qos_of(offers: Mapping[str, Any], account: str) -> Optional[List[str]]:
    """The qualities of service that jobs of an account may ask for; None where that is not known."""
    for one in offers.get("accounts") or []:
        if one["name"] == account:
            return list(one["qos"]) or None
    return None


def learn(host: Host, wish: str = "") -> Document:
    """What Slurm offers on this account: known from a run of the last day, or asked now, once.

    What was kept is asked anew where it lacks what a person wishes for. Where Slurm does not answer, it still counts.
    """
    memory = host.account.found
    kept = memory.get(FOUND, {})
    names = [one["name"].lower() for one in kept.get("accounts") or []]
    if kept.get("asked") or (kept.get("fresh") and (not wish or wish.lower() in names)):
        return dict(kept)
    from .._slurm import questions  # once a day

    asked = questions.asked(host, kept.get("accounts") or [])
    known = {name: kept[name] for name in ("accounts", "default", "partitions") if asked.get(name) is None and kept}
    memory[FOUND] = dict(asked, **dict(known, asked=True))
    return dict(memory[FOUND])
