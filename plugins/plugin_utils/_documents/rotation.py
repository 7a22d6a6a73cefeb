# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Results of the tasks of a rotation: of the coordinator on this machine, and of each account.

The result of a task is the argument of a later one (playbooks/rotate.yml).
"""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from .outcome import ResourceOutcome
from .result import AccountRemark, TargetCheck, TaskResult


class RequestedStep(TypedDict, total=False):
    """The step to take on the accounts, for a version of the key and target files; {} if the accounts have none."""

    name: str
    version: str
    targets: list[str]


class RegistryQuestion(TypedDict, total=False):
    """The registry that the accounts test the key with; {} if they need not. ca: a certificate, in PEM."""

    address: str
    repository: str
    realms: list[str]
    ca: str


class LeadTitle(TaskResult):
    """The fields that the console shows. then: the command that continues the rotation, or empty."""

    kind: Literal["rotation_lead"]
    checks: list[TargetCheck]
    title: str
    then: str


class RotationState(LeadTitle):
    """The state of a rotation.

    step: the next step on the accounts. current: the version of the key in use. wanted: the files that shall have the
    new key. asked: the last step that was requested from the accounts in this run.
    """

    step: RequestedStep
    current: str
    wanted: list[str]
    registry: RegistryQuestion
    asked: NotRequired[RequestedStep]


class SkippedShare(TypedDict):
    """Result for an account that has no part in the step."""

    kind: Literal["rotation_share"]
    changed: Literal[False]
    skipped: Literal[True]


class ShareResult(TaskResult):
    """Result of an account's part in a step. outcomes, notes, remarks: only if the account was contacted."""

    kind: Literal["rotation_share"]
    outcomes: NotRequired[list[ResourceOutcome]]
    notes: NotRequired[list[str]]
    remarks: NotRequired[list[AccountRemark]]
