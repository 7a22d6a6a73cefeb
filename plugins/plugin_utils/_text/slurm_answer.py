# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parse the part of an account's response that is about Slurm: its offers.

The offers are the Slurm accounts and the partitions that the user may use; None means unknown.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .sanitise import harmless

if TYPE_CHECKING:
    from .._documents.outcome import SlurmOffers, SlurmPartition

MAX_ENTRIES, MAX_NAME = 200, 100  # entries of a list; characters of a name
MAX_SENTENCES, MAX_SENTENCE = 9, 500  # about failed queries; characters of each


def parse_offers(answer: Mapping[str, Any]) -> SlurmOffers:
    """Return the offers that module_utils/_slurm/offers.py sent, with safe texts and lists of limited length.

    answer: the account's response about Slurm, in the form of the result. "missed" has sentences about what could not
    be queried. Raise KeyError, TypeError or ValueError if the answer has another form.
    """
    accounts, partitions = answer["accounts"], answer["partitions"]
    return {
        "accounts": None
        if accounts is None
        else [
            {
                "name": harmless(account["name"], MAX_NAME),
                "qos": _parse_names(account["qos"]),
                "default_qos": harmless(account["default_qos"], MAX_NAME),
            }
            for account in accounts[:MAX_ENTRIES]
        ],
        "default": _parse_name(answer["default"]),
        "default_partition": _parse_name(answer["default_partition"]),
        "partitions": None
        if partitions is None
        else [_parse_partition(partition) for partition in partitions[:MAX_ENTRIES]],
        "missed": [harmless(sentence, MAX_SENTENCE) for sentence in answer["missed"][:MAX_SENTENCES]],
    }


def _parse_partition(answer: Mapping[str, Any]) -> SlurmPartition:
    """Return a partition with safe texts. answer: the response about the partition.

    The field minutes is the time limit of a job. The field most, the largest number of GPUs in a node, is present only
    if the answer has it.
    """
    partition: SlurmPartition = {
        "name": harmless(answer["name"], MAX_NAME),
        "gpus": _parse_names(answer["gpus"]),
        "minutes": None if answer["minutes"] is None else int(answer["minutes"]),
    }
    return {**partition, "most": int(answer["most"])} if "most" in answer else partition


def _parse_name(name: object) -> str | None:
    """Return a name with safe characters; None if the account could not find out the name."""
    return None if name is None else harmless(name, MAX_NAME)


def _parse_names(names: list[object]) -> list[str]:
    """Return the first MAX_ENTRIES names, with safe characters."""
    return [harmless(name, MAX_NAME) for name in names[:MAX_ENTRIES]]
