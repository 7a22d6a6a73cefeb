# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The facts of profiles that differed from a cluster when it was probed, for the audit.

A difference that was seen on one day by one account may be a fault of that moment. A file that is damaged or of another
format counts as missing.
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
ENOUGH = 2  # times


def remember(cluster: str, account: str, day: str, facts: Sequence[ProbedFact]) -> None:
    """Keep the differences that an account has shown; what agrees now is forgotten. Raise StateError."""
    kept = _read(cluster)
    for one in facts:
        if one["result"] == "agrees":
            kept.pop(one["fact"], None)
        elif one["result"] == "differs":
            former = kept.get(one["fact"], {"seen": ""})
            times = former["times"] if former["seen"] == one["seen"] else []
            times = [*(time for time in times if time != [account, day]), [account, day]][-ENOUGH:]
            kept[one["fact"]] = {"says": one["says"], "seen": one["seen"], "by": one["by"], "times": times}
    _document(cluster).write({"schema": SCHEMA, "facts": kept})


def read_confirmed(cluster: str) -> Mapping[str, Mapping[str, str]]:
    """Return the differences that were seen on two days or by two accounts: fact -> says, seen, by."""
    return {fact: one for fact, one in _read(cluster).items() if len(one["times"]) >= ENOUGH}


def _read(cluster: str) -> Document:
    try:
        found: Document = (_document(cluster).read() or {"facts": {}})["facts"]
    except StateError:
        return {}
    return found


def _document(cluster: str) -> StateDocument:
    return StateDocument(FOLDER, f"{cluster}.json", SCHEMA, "", _check)


def _check(document: Document) -> None:
    for one in document["facts"].values():
        list(one["times"]), str(one["says"]), str(one["seen"]), str(one["by"])
