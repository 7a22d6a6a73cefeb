# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Records about an account in the state folder of this machine (docs/schemas/run.schema.json)."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from .finding import BySeverity
from .outcome import SlurmOffers

RunSubcommand = Literal["onboard", "offboard", "audit"]


class RunRecord(TypedDict):
    """The result of a run on one account.

    at: its end, in UTC. ended: 'found' if an audit has findings; 'unreachable' also if an audit could not check the
    account; 'empty' if nothing was declared, or nothing was left to remove. reached: the account responded.
    missing_keys: names of keys that the keyring lacks. found_keys: names of keys that the run has read.
    unknown_areas: storage areas without a path.
    skipped: a hash of the note on each skipped resource, which is reported once. by_severity: of an audit.
    """

    schema: str
    at: str
    account: str
    sandbox: bool
    subcommand: RunSubcommand
    ended: Literal["ok", "changed", "empty", "failed", "unreachable", "found"]
    reached: bool
    missing_keys: NotRequired[list[str]]
    found_keys: NotRequired[list[str]]
    unknown_areas: NotRequired[list[str]]
    skipped: NotRequired[list[str]]
    by_severity: NotRequired[BySeverity]


class SlurmRecord(TypedDict):
    """The offers of Slurm to an account when last queried. at: in UTC (docs/schemas/slurm.schema.json)."""

    schema: str
    at: str
    offers: SlurmOffers


class StepMark(TypedDict):
    """A manual step that the user marked as done. at: in UTC. by: user and machine. due: the step's date then."""

    at: str
    by: str
    due: NotRequired[str]
