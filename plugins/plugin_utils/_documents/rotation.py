# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a rotation's lead says to the accounts and to the next lead of the run, and what each account gives back.

They are results of tasks: one task's is another one's argument (playbooks/rotate.yml).
"""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from .outcome import ResourceOutcome
from .result import AccountRemark, TargetCheck, TaskResult


class RequestedStep(TypedDict, total=False):
    """The step that accounts have a share in, and the files that it is about; empty where they have none."""

    name: str
    version: str
    targets: list[str]


class RegistryQuestion(TypedDict, total=False):
    """The registry as the accounts ask it; empty where they ask none. ca: a certificate, in PEM."""

    address: str
    repository: str
    realms: list[str]
    ca: str


class LeadTitle(TaskResult):
    """What the console needs of a lead. then: the command that goes on, or nothing."""

    kind: Literal["rotation_lead"]
    checks: list[TargetCheck]
    title: str
    then: str


class RotationState(LeadTitle):
    """Where a rotation is.

    step: what accounts are to do now. current: the version of the key that counts. wanted: the files that are to have
    the new one. asked: the last step that accounts were asked for in this run.
    """

    step: RequestedStep
    current: str
    wanted: list[str]
    registry: RegistryQuestion
    asked: NotRequired[RequestedStep]


class SkippedShare(TypedDict):
    """Of an account that has no share in the step."""

    kind: Literal["rotation_share"]
    changed: Literal[False]
    skipped: Literal[True]


class ShareResult(TaskResult):
    """Of an account's share. outcomes, notes and remarks: where anything was looked at there."""

    kind: Literal["rotation_share"]
    outcomes: NotRequired[list[ResourceOutcome]]
    notes: NotRequired[list[str]]
    remarks: NotRequired[list[AccountRemark]]
