# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Differences between profiles and clusters that `probe` has found, for the audit.

A profile contains facts about one cluster. An observation is one run of `probe` on an account: it compares each fact
with the account. A difference that one account showed on one day may be a temporary fault, so it needs a second
observation. A stored difference has the profile's value ("says"), the observed value ("seen"), the command that showed
this value ("by"), and the account and day of each observation ("times"). A file that is damaged or of another version
counts as missing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .durable_files import StateError
from .state_document import Document, StateDocument

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .._documents.probe import ProbedFact

FOLDER = "probed"
SCHEMA = "hpc.onboard/probed-facts/1.0"
ENOUGH = 2  # observations that confirm a difference


def remember(cluster: str, account: str, day: str, facts: Sequence[ProbedFact]) -> None:
    """Store the differences that an account has shown, and remove those that no longer exist. Raise StateError.

    day: of the observation, YYYY-MM-DD. facts: of the profile, each with the observed value. The stored difference of a
    fact that is not visible on this account stays.
    """
    differences = _read(cluster)
    for fact in facts:
        if fact["result"] == "agrees":
            differences.pop(fact["fact"], None)
        elif fact["result"] == "differs":
            former = differences.get(fact["fact"])
            observation = [account, day]  # repeated on the same day, it counts once
            # only the same value confirms an earlier observation
            earlier = former["times"] if former and former["seen"] == fact["seen"] else []
            times = [*(other for other in earlier if other != observation), observation][-ENOUGH:]
            differences[fact["fact"]] = {"says": fact["says"], "seen": fact["seen"], "by": fact["by"], "times": times}
    _document(cluster).write({"schema": SCHEMA, "facts": differences})


def read_confirmed(cluster: str) -> Mapping[str, Mapping[str, str]]:
    """Return the confirmed differences, by the name of the fact; {} without a usable file.

    A difference is confirmed if it was observed on two days or by two accounts.
    """
    return {name: fact for name, fact in _read(cluster).items() if len(fact["times"]) >= ENOUGH}


def _read(cluster: str) -> Document:
    """Return the stored differences of a cluster, by fact; {} without a usable file."""
    try:
        facts: Document = (_document(cluster).read() or {"facts": {}})["facts"]
    except StateError:
        return {}
    return facts


def _document(cluster: str) -> StateDocument:
    """Return the document of a cluster; without advice, because a damaged document counts as missing."""
    return StateDocument(FOLDER, f"{cluster}.json", SCHEMA, advice="", check=_check)


def _check(document: Document) -> None:
    """Raise ValueError, KeyError, TypeError or AttributeError unless all fields that are read later are usable.

    The look-ups and conversions raise these exceptions; their results are not needed.
    """
    for fact in document["facts"].values():
        list(fact["times"]), str(fact["says"]), str(fact["seen"]), str(fact["by"])
