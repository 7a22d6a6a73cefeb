# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The outcome of one resource, as read from an account's response (docs/schemas/answer.schema.json)."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict, final

from .declaration import ResourceEntry

State = dict[str, str]
"""Actual or desired state of a resource, field -> value. The fields depend on its type. {}: absent."""

Status = Literal["ok", "missing", "different", "extra", "blocked", "failed", "unknown"]
Verdict = Literal["valid", "invalid", "not_entitled", "unknown"]
Severity = Literal["critical", "high", "medium", "low", "info"]
Unit = Literal["bytes", "steps"]
Adopted = Literal["equal", "equivalent"]
ExistingType = Literal["conda", "variable", "image", "launcher"]


class ExistingThing(TypedDict):
    """An existing thing of the user that a role could use.

    path: its path, or a variable's value. shown: the path for display, with ~. name: of a variable or launcher.
    at: file and line that set a variable. words: the options that a launcher passes to srun.
    """

    what: ExistingType
    path: str
    shown: str
    name: str
    at: str
    in_home: bool
    words: list[str]


class NewerRotation(TypedDict):
    """The rotation, unknown to this machine, that installed a key. The key is therefore not replaced."""

    secret: str
    machine: str
    controller: str
    when: str


class SlurmAccount(TypedDict):
    """A Slurm account of the user. qos: the QOS that its jobs may request. default_qos: the QOS of all other jobs."""

    name: str
    qos: list[str]
    default_qos: str


class SlurmPartition(TypedDict):
    """A partition of Slurm. gpus: types of its GPUs; "" for GPUs without a type. most: largest number in a node.

    minutes: time limit of a job.
    """

    name: str
    gpus: list[str]
    most: NotRequired[int]
    minutes: int | None


class SlurmOffers(TypedDict):
    """The offers of Slurm to an account; None for unknown.

    default: Slurm account of jobs that name none. default_partition: of jobs that name none; empty: Slurm refuses them.
    missed: sentences about what could not be queried.
    """

    accounts: list[SlurmAccount] | None
    default: str | None
    partitions: list[SlurmPartition] | None
    default_partition: str | None
    missed: list[str]


class Evidence(TypedDict, total=False):
    """Observations about a resource in addition to its state, by which this machine decides.

    verdict: the registry's response to the key in the file. leftovers: number of places that still contain a replaced
    key. severities, fixes, cases: field of an audit check's state -> severity, lossless fix, selected advice.
    theirs: the user's own file is in its place. unknown_key: a key that is not in the keyring stays. replaces: such a
    key is replaced, and a copy is kept. rotated: another machine has rotated the key since. obstacle: why the resource
    could not be changed, although nothing differs. open_folder: a key's folder that other users can write to. slurm: if
    Slurm was queried in this run. held: of a key to replace, "none" if no file contains a key, or the fingerprint of an
    unknown key. adopted: the user created it, and it is up to date; 'equivalent': in a different form. recorded: an
    earlier run adopted it. existing: what the user has set up, if the plan requested it. environments: of the user's
    conda. in_use: variables that are not set because they would hide the user's data -> folder with the data.
    observed: values that a probe requested, by name.
    """

    verdict: Verdict
    leftovers: int
    severities: dict[str, Severity]
    theirs: bool
    unknown_key: bool
    replaces: bool
    rotated: NewerRotation
    fixes: dict[str, ResourceEntry]
    cases: dict[str, str]
    obstacle: str
    open_folder: str
    slurm: SlurmOffers
    held: str
    adopted: Adopted
    recorded: bool
    existing: list[ExistingThing]
    environments: list[str]
    in_use: dict[str, str]
    observed: dict[str, str]


@final
class JobProgress(TypedDict):
    """Progress of work that continues on the account without a session. done, total: None if unknown.

    patience: seconds that a run waits at most, for work that may not start for hours. why: it has not started.
    """

    step: str
    done: int | None
    total: int | None
    unit: Unit
    patience: NotRequired[int]
    why: NotRequired[str]


@final
class JobFailure(TypedDict):
    """The reason why a job failed. wants: url, sha256 and path of a file that this machine could copy to it; or {}."""

    failed: str
    wants: dict[str, str]


Progress = JobProgress | JobFailure


class ResourceOutcome(TypedDict):
    """The outcome of one resource. Fields that an older engine did not send are empty.

    This machine adds missing_secret, the name of the required key if the keyring lacks it, and left, the progress of
    work that continues after the run.
    """

    identity: str
    capability: str
    status: Status
    fields: list[str]
    before: State
    after: State
    reason: str | None
    seconds: float
    progress: Progress | None
    remarks: list[str]
    evidence: Evidence
    was: State
    missing_secret: NotRequired[str]
    left: NotRequired[JobProgress]
