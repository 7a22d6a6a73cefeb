# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What this machine remembers of a run over one account, as docs/schemas/run.schema.json has it."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from .finding import BySeverity
from .outcome import SlurmOffers

RunSubcommand = Literal["onboard", "offboard", "audit"]


class RunRecord(TypedDict):
    """How a run ended on one account.

    at: its end, in UTC. ended: of an audit 'ok', 'found' (something counts) or 'unreachable' (not measured); else
    'empty' where nothing was declared, or nothing was left to remove.
    reached: whether the account itself answered. missing_keys: names of keys that the keyring did not have.
    unknown_areas: storage areas whose path nobody has said. skipped: a digest of the note on each skipped resource,
    which is reported once. by_severity: of an audit.
    """

    schema: str
    at: str
    account: str
    sandbox: bool
    subcommand: RunSubcommand
    ended: Literal["ok", "changed", "empty", "failed", "unreachable", "found"]
    reached: bool
    missing_keys: NotRequired[list[str]]
    unknown_areas: NotRequired[list[str]]
    skipped: NotRequired[list[str]]
    by_severity: NotRequired[BySeverity]


class SlurmRecord(TypedDict):
    """What Slurm offered to an account when it was last asked, in UTC (docs/schemas/slurm.schema.json)."""

    schema: str
    at: str
    offers: SlurmOffers


class StepMark(TypedDict):
    """That a person said a step is done: when, in UTC, and who on which machine. due: the own day it is done for."""

    at: str
    by: str
    due: NotRequired[str]
