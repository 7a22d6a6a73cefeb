# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Differences between profiles and clusters that `probe` has found, for the audit.

A difference that one account showed on one day may be a temporary fault. A file that is damaged or of another version
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

    day: of the observation, YYYY-MM-DD. facts: of the profile, each with the value that the account showed.
    """
    differences = _read(cluster)
    for fact in facts:
        if fact["result"] == "agrees":
            differences.pop(fact["fact"], None)
        elif fact["result"] == "differs":
            former = differences.get(fact["fact"])
            # `times` lists account and day of each observation; only the same value confirms an earlier observation
            times = former["times"] if former and former["seen"] == fact["seen"] else []
            times = [*(time for time in times if time != [account, day]), [account, day]][-ENOUGH:]
            differences[fact["fact"]] = {"says": fact["says"], "seen": fact["seen"], "by": fact["by"], "times": times}
    _document(cluster).write({"schema": SCHEMA, "facts": differences})


def read_confirmed(cluster: str) -> Mapping[str, Mapping[str, str]]:
    """Return the differences that were observed on two days or by two accounts, by fact.

    says: the value in the profile. seen: the observed value. by: the command that showed the value.
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
    return StateDocument(FOLDER, f"{cluster}.json", SCHEMA, "", _check)


def _check(document: Document) -> None:
    """Raise one of NOT_VALID, from the look-ups and conversions, unless all fields that are read later are usable."""
    for fact in document["facts"].values():
        list(fact["times"]), str(fact["says"]), str(fact["seen"]), str(fact["by"])
