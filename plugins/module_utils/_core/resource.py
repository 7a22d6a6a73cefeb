# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The base class of all resources, and the functions that examine one and bring it to its desired state.

The receipt is the account's record of what hpc-onboard created. A note in the receipt describes one resource: it has
hashes of the resource's states, and "made" if hpc-onboard created the resource. Offboarding is the removal of what
hpc-onboard created. A Host reads and changes the files of the account.
"""

import time
from typing import Any, Dict, List, Mapping, Optional

from .._formats.hashes import digest
from .errors import AccountError
from .host import Host
from .values import Options

State = Dict[str, str]
"""An observed or desired state: flat, for a diff, with fingerprints for secrets; empty if the resource is absent."""

Evidence = Dict[str, Any]
"""Observations in addition to the state, as words or numbers, because programs read them."""

CHANGES = ("missing", "different", "extra")
"""Statuses of a resource that differs, or differed, from its desired state; "extra": it exists, but should not."""

FAILURES = ("blocked", "failed", "unknown")
"""Statuses of a resource that is not up to date after the run."""

WAITS_FOR = "waits for: "
"""Begins the reason of a blocked resource that needs another one, whose identity follows."""

STATUSES = ("ok",) + CHANGES + FAILURES


def hash_fields(state: Mapping[str, str]) -> Dict[str, str]:
    """Return a short hash of each field of a state, for a note in the receipt."""
    return {field: digest(value.encode("utf-8", "replace")).hex()[:16] for field, value in state.items()}


class Outcome:
    """The result of examining or reconciling one resource.

    identity: the name of the resource, such as "link ~/work".
    fields: the names of the fields of the state that differ, or differed before the change.
    status: ok, missing, different or extra, before any change; else one of FAILURES, with a sentence in reason.
    progress: of a job that continues in the background: its "step", or why the job has "failed"; None without a job.
    remarks: notes for the user that do not depend on a difference.
    evidence: observations for programs (docs/schemas/answer.schema.json).
    folders: folders that were created for the resource.
    was: the user's former values of fields that the change affects, such as the mode of a folder.
    """

    def __init__(
        self,
        identity: str,
        before: State,
        after: State,
        obstacle: Optional[str] = None,
    ) -> None:
        """Compare the observed state (before) with the desired state (after).

        obstacle: why the resource must not be changed, or None. With an obstacle, a difference is blocked.
        """
        self.identity = identity
        self.before = before
        self.after = after
        fields = set(before) | set(after)
        self.fields = sorted(field for field in fields if before.get(field) != after.get(field))
        self.reason = obstacle if self.fields else None
        if not self.fields:
            self.status = "ok"
        elif self.reason:
            self.status = "blocked"
        elif not before:
            self.status = "missing"
        else:
            self.status = "different" if after else "extra"
        self.seconds = 0.0
        self.progress: Optional[Dict[str, Any]] = None
        self.remarks: List[str] = []
        self.evidence: Evidence = {}
        self.folders: List[str] = []
        self.was: State = {}

    @classmethod
    def of_failure(cls, identity: str, status: str, reason: str) -> "Outcome":
        """Return the outcome of a resource that could not be examined or changed. status: one of FAILURES."""
        outcome = cls(identity, before={}, after={})
        outcome.status = status
        outcome.reason = reason
        return outcome

    def document(self) -> Dict[str, Any]:
        """Return the outcome as a JSON object of the answer (docs/schemas/answer.schema.json)."""
        return {
            "identity": self.identity,
            "status": self.status,
            "fields": self.fields,
            "before": self.before,
            "after": self.after,
            "reason": self.reason,
            "seconds": round(self.seconds, 3),
            "progress": self.progress,
            "remarks": self.remarks,
            "evidence": self.evidence,
            "folders": self.folders,
            "was": self.was,
        }


class Resource(Options):
    """Something on the account with a desired state, such as a link. A resource type is a subclass.

    In all methods, host reads and changes the files of the account, and before is the state that inspect() returned.
    """

    IS_RESTORED = False  # offboarding restores the user's former values (_engine/restored_key.py)
    KEEPS_USER_EDITS = False  # offboarding does not remove the resource after the user has changed it
    IS_MOVABLE = False  # a file of the user's in its place can be moved away (_receipt/former_copies.py)
    keeps_copy = False  # apply keeps a private copy of the content that it replaces
    IS_KEPT = True  # the resource remains on the account; a query and a test job do not
    WAITS = True  # the resource is blocked if another one that it touches has failed

    def with_expanded_paths(self, host: Host) -> "Resource":
        """Return this resource with its paths expanded: a copy with the same identity, if it has options at all."""
        if not self.OPTIONS:
            return self
        paths = {
            name: host.expand(self.options[name])
            for name, spec in self.OPTIONS.items()
            if spec.get("type") == "path" and self.options.get(name)
        }
        resource = type(self)(dict(self.options, **paths))
        resource.identity = self.identity
        return resource

    def touches(self, host: Host) -> List[str]:
        """Return the absolute paths that this resource depends on, its own path first.

        An implementation must not access a file system: this method is also called after a file system hung.
        """
        raise NotImplementedError

    def is_unchanged_since_created(self, found: State, host: Host) -> bool:
        """Return True if hpc-onboard created this resource, and the user has not changed the resource since.

        found: the present state, which is compared with the states in the receipt.
        """
        note = host.receipt_notes.get(self.note_key, {})
        noted_states = [note.get("hashes", {})] + note.get("former", [])  # hashes, of the last and of earlier runs
        hashes = hash_fields(found)
        is_noted = any(all(state.get(field) == value for field, value in hashes.items()) for state in noted_states)
        return is_noted and bool(note.get("made"))

    def desired(self, host: Host) -> State:
        """Return the desired state."""
        raise NotImplementedError

    def inspect(self, host: Host) -> State:
        """Return the observed state; never change anything."""
        raise NotImplementedError

    def obstacle(self, before: State, host: Host) -> Optional[str]:
        """Return why this resource must not be changed, and what to do about it; None if it may be changed."""

    def progress(self, host: Host) -> Optional[Dict[str, Any]]:
        """Return the progress (see Outcome) of a job that an earlier apply started; None without a job."""

    def remarks(self, host: Host) -> List[str]:
        """Return notes for the user that do not depend on a difference between the states."""
        return []

    def evidence(self, before: State, host: Host) -> Evidence:
        """Return observations in addition to the state, for programs."""
        return {}

    def keys(self, host: Host) -> State:
        """Return the fingerprints of all keys that apply would replace, by descriptions of their places."""
        return {}

    def fields_to_tighten(self, host: Host) -> State:
        """Return the present values of fields that apply would make stricter, such as modes, for the note's "was"."""
        return {}

    def paths_to_remove(self, host: Host) -> List[str]:
        """Return the absolute paths that apply would remove with all content, including content of the user."""
        return []

    def apply(self, host: Host) -> None:
        """Create the desired state. Called only if a field differs and no obstacle exists."""
        raise NotImplementedError


def list_touched_paths(resource: Resource, host: Host) -> List[str]:
    """Return the absolute paths that a resource depends on; [] if its paths cannot be expanded."""
    try:
        return resource.with_expanded_paths(host).touches(host)
    except AccountError:
        return []


def examine(resource: Resource, host: Host) -> Outcome:
    """Compare a resource with its desired state, without changes, and return the outcome."""
    progress = resource.progress(host)  # before inspect: a job that ends between the two calls is not started again
    before = resource.inspect(host)
    obstacle = resource.obstacle(before, host)
    outcome = Outcome(resource.identity, before, resource.desired(host), obstacle)
    outcome.progress = progress if outcome.fields else None
    outcome.remarks, outcome.evidence = resource.remarks(host), resource.evidence(before, host)
    if outcome.fields and not obstacle:
        outcome.was = resource.fields_to_tighten(host)
    if obstacle and not outcome.fields:  # nothing differs now, but a later change would be blocked
        outcome.evidence["obstacle"] = obstacle
    return outcome


def reconcile(resource: Resource, host: Host) -> Outcome:
    """Bring a resource to its desired state, or start a job that does; return the outcome, with the former state.

    Raise AccountError if a field still differs after the change.
    """
    started = time.time()
    outcome = examine(resource, host)
    if outcome.fields and not outcome.reason and not is_in_progress(outcome):
        resource.apply(host)
        host.forget_observations()
        after = examine(resource, host)
        outcome.progress, outcome.remarks, outcome.evidence = after.progress, after.remarks, after.evidence
        if after.fields and not after.progress:
            text = (
                "these fields still differ after the change: %s. Check whether another program changes them, then run"
                " hpc-onboard again"
            )
            raise AccountError(text % ", ".join(after.fields))
    outcome.seconds = time.time() - started
    return outcome


def is_in_progress(outcome: Outcome) -> bool:
    """Return True if a job for the resource is running, and has not failed."""
    return outcome.progress is not None and "failed" not in outcome.progress
