# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The last response of Slurm for each account. It is used for a day before Slurm is queried again.

The response contains the offers: the partitions and Slurm accounts that the account may use.
This is a cache: a file that is damaged or of another version counts as missing.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from .durable_files import StateError
from .state_document import Document, StateDocument, account_file

if TYPE_CHECKING:
    from .._documents.outcome import SlurmOffers
    from .._documents.record import SlurmRecord

FOLDER = "slurm"
SCHEMA = "hpc.onboard/slurm-offers/1.0"
KEPT_SECONDS = 24 * 3600  # for which a response is used
TIME_FORMAT = "%Y-%m-%dT%H:%M:%SZ"


def read_offers(account: str) -> SlurmRecord | None:
    """Return the offers to an account, with the time of the query; None if the record is missing or damaged."""
    try:
        document: Any = _document(account).read()
    except StateError:
        return None
    record: SlurmRecord | None = document
    return record


def make_plan_field(account: str, ask_again: bool) -> dict[str, Any]:
    """Return the stored offers as `slurm`, the field of a plan that sends them to the account; {} without a record.

    The account queries Slurm unless this field is marked as fresh. ask_again: do not mark it as fresh.
    """
    record = read_offers(account)
    if record is None:
        return {}
    offers = record["offers"]
    is_complete = not offers["missed"]  # lists the queries that Slurm did not answer
    is_fresh = is_complete and 0 <= _age_seconds(record) < KEPT_SECONDS
    return {"slurm": {**offers, "fresh": is_fresh and not ask_again}}


def keep_offers(account: str, offers: SlurmOffers) -> None:
    """Store the offers. If Slurm did not respond at all, the old offers stay."""
    if offers["accounts"] is None and offers["partitions"] is None:
        return  # Slurm did not respond
    record: SlurmRecord = {"schema": SCHEMA, "at": datetime.now(UTC).strftime(TIME_FORMAT), "offers": offers}
    try:
        _document(account).write(record)
    except StateError:
        return  # harmless: the next run queries Slurm again


def _document(account: str) -> StateDocument:
    """Return the record of an account; without advice, because a damaged record counts as missing."""
    return StateDocument(FOLDER, account_file(account), SCHEMA, advice="", check=_check)


def _check(document: Document) -> None:
    """Raise ValueError, KeyError, TypeError or AttributeError unless all fields that are read later are usable.

    The look-ups and conversions raise these exceptions; their results are not needed.
    """
    offers = document["offers"]
    list(offers["missed"]), str(offers["default"]), _age_seconds(document)
    for slurm_account in offers["accounts"] or ():
        str(slurm_account["name"]), list(slurm_account["qos"])
    for partition in offers["partitions"] or ():
        str(partition["name"]), list(partition["gpus"])


def _age_seconds(record: Any) -> float:
    """Return the seconds since the query; negative if this machine's clock was set back."""
    return (datetime.now(UTC) - datetime.fromisoformat(record["at"])).total_seconds()
