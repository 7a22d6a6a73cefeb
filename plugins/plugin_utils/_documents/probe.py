# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What probe gives to Ansible: facts of a profile beside what the account shows, and what was written of it."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

Comparison = Literal["agrees", "differs", "not visible"]


class ProbedFact(TypedDict):
    """One fact of a profile. says: its value there. seen: what the account shows. by: the command that shows it.

    value: what a profile should have instead, where that is certain.
    """

    fact: str
    result: Comparison
    says: str
    seen: str
    by: str
    value: NotRequired[Any]


class ProbeAccount(TypedDict):
    """Of the part of probe that looks at one account. observed: by name. unclear: what could not be asked."""

    kind: Literal["probe_account"]
    changed: Literal[False]
    facts: list[ProbedFact]
    observed: dict[str, str]
    slurm: dict[str, Any]
    unclear: list[str]
    sandbox: NotRequired[str]


class ProbePart(TypedDict):
    """Of a part of probe that shows nothing."""

    kind: Literal["probe_part"]
    changed: Literal[False]


class ProbeWritten(TypedDict):
    """Of the part that writes profiles. files: each with the facts that were changed; empty for a new profile."""

    kind: Literal["probe_written"]
    changed: bool
    files: dict[str, list[str]]
    next: list[str]
