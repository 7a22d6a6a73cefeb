# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Results of probe's tasks: site facts of a profile, compared with an account, and the profiles that were written."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

Comparison = Literal["agrees", "differs", "not visible"]


class ProbedFact(TypedDict):
    """A site fact of a profile. says: the profile's value. seen: the account's. by: the command that shows it.

    value: the correct value for the profile, if certain.
    """

    fact: str
    result: Comparison
    says: str
    seen: str
    by: str
    value: NotRequired[Any]


class ProbeAccount(TypedDict):
    """Result for one account. observed: values by name. unclear: sentences about what could not be compared."""

    kind: Literal["probe_account"]
    changed: Literal[False]
    facts: list[ProbedFact]
    observed: dict[str, str]
    slurm: dict[str, Any]
    unclear: list[str]
    sandbox: NotRequired[str]


class ProbeWritten(TypedDict):
    """Result of the task that writes profiles. files: file -> changed site facts; [] for a new profile."""

    kind: Literal["probe_written"]
    changed: bool
    files: dict[str, list[str]]
    next: list[str]
