# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What came of one resource, as docs/schemas/answer.schema.json has it and an answer was read."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict, final

from .declaration import ResourceEntry

State = dict[str, str]
"""A thing as found or as wanted, field to value: free, for each kind has its own fields. Absent is empty."""

Status = Literal["ok", "missing", "different", "extra", "blocked", "failed", "unknown"]
Verdict = Literal["valid", "invalid", "not_entitled", "unknown"]
Severity = Literal["critical", "high", "medium", "low", "info"]
Unit = Literal["bytes", "steps"]
Adopted = Literal["equal", "equivalent"]
ExistingType = Literal["conda", "variable", "image", "launcher"]


class ExistingThing(TypedDict):
    """One thing of the user that a role could use.

    path: of the thing; of a variable, its value. shown: the same for people, with ~. name: of a
    variable or a launcher.
    at: the line that sets a variable. words: the options that a launcher gives to srun.
    """

    what: ExistingType
    path: str
    shown: str
    name: str
    at: str
    in_home: bool
    words: list[str]


class NewerRotation(TypedDict):
    """Which rotation installed a key that stays, since this machine does not know of it; the name of the key."""

    secret: str
    machine: str
    controller: str
    when: str


class SlurmAccount(TypedDict):
    """One Slurm account of a person: the qualities of service that its jobs may ask for, and which they get else."""

    name: str
    qos: list[str]
    default_qos: str


class SlurmPartition(TypedDict):
    """A partition that Slurm shows. gpus: the types of its GPUs; "" is one without a type. most: GPUs of a node.

    minutes: a job's longest.
    """

    name: str
    gpus: list[str]
    most: NotRequired[int]
    minutes: int | None


class SlurmOffers(TypedDict):
    """What Slurm lets an account do; None: not known.

    default: of jobs that name no account. default_partition: of jobs that name no partition; empty: Slurm refuses them.
    missed: sentences.
    """

    accounts: list[SlurmAccount] | None
    default: str | None
    partitions: list[SlurmPartition] | None
    default_partition: str | None
    missed: list[str]


class Evidence(TypedDict, total=False):
    """What was seen beside the state and is acted on.

    verdict: what the registry says of a key as it stands in its file. leftovers: in how many places a replaced key
    still stands. severities: field of a watch's state -> how bad it is there. theirs: what is in the way is the user's
    own, to be moved away. unknown_key: a key that stays is not in the keyring. replaces: such a key is replaced, and a
    copy is kept. rotated: another machine has rotated the key since. fixes: field of a watch's state -> what fixes it
    there without a loss. cases: field of a watch's state -> which advice fits. obstacle: why it could not be changed,
    where nothing differs. open_folder: of a key, in which others may write. slurm: what Slurm offers, where it was
    asked in this run. held: of a key to replace, "none" where no place holds one, or the fingerprint of a key that is
    there and not known. adopted: it is up to date and was not created by hpc-onboard; equivalent: in another form that
    serves as well. recorded: an earlier run has adopted it. existing: what the user has set up before, where it was
    asked for. environments: those of a conda of the user's. in_use: variables that are not set, because they would hide
    content of the user's, each with its folder. observed: what a probe
    asked for, by its name.
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
    """How far work is that goes on by itself. done and total are None where they are not known.

    patience: seconds that a run waits for it at most, where it may not even begin for hours. why: it has not begun.
    """

    step: str
    done: int | None
    total: int | None
    unit: Unit
    patience: NotRequired[int]
    why: NotRequired[str]


@final
class JobFailure(TypedDict):
    """Why such work ended without success. wants: a file that could be brought to it: url, sha256, path; or empty."""

    failed: str
    wants: dict[str, str]


Progress = JobProgress | JobFailure


class ResourceOutcome(TypedDict):
    """What came of one resource. What an older engine did not tell is there, and empty.

    This machine adds missing_secret, the name of the key that it waits for, where the keyring has none, and left, the
    work that goes on by itself where nobody waits for it any longer.
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
