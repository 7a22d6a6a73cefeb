# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The core: the resource, and the loop that examines it and brings it to its desired state."""

import time
from typing import Any, Dict, List, Mapping, Optional

from .._formats.hashes import digest
from .errors import AccountError
from .host import Host
from .values import Options, note_key

State = Dict[str, str]
"""An observed or desired state: flat, for a diff, with fingerprints for secrets; empty if the resource is absent."""

Evidence = Dict[str, Any]
"""Observations in addition to the state, as words or numbers that a program acts on."""

CHANGES = ("missing", "different", "extra")
"""Statuses of a resource that differs, or differed, from its desired state."""

FAILURES = ("blocked", "failed", "unknown")
"""Statuses of a resource that is not up to date after the run."""

STATUSES = ("ok",) + CHANGES + FAILURES


def hash_fields(state: Mapping[str, str]) -> Dict[str, str]:
    """Return a short hash of each field of a state."""
    return {field: digest(value.encode("utf-8", "replace")).hex()[:16] for field, value in state.items()}


class Outcome:
    """The result of examining or reconciling one resource.

    status: ok, missing, different or extra, as found; or blocked, failed or unknown, with a sentence in reason.
    progress: of a job that takes minutes and continues by itself (see job.py).
    remarks: notes for the user although nothing differs.
    evidence: what programs conclude from, since no sentence is parsed (docs/schemas/answer.schema.json).
    folders: folders that were created for it.
    was: former values of fields of the user that are, or were, changed with it.
    """

    def __init__(
        self,
        identity: str,
        before: State,
        after: State,
        obstacle: Optional[str] = None,
    ) -> None:
        self.identity = identity
        self.before = before
        self.after = after
        self.fields = sorted(k for k in set(before) | set(after) if before.get(k) != after.get(k))
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
    def unmet(cls, identity: str, status: str, reason: str) -> "Outcome":
        """Return the outcome of a resource that could not be examined or changed."""
        outcome = cls(identity, {}, {})
        outcome.status = status
        outcome.reason = reason
        return outcome

    def document(self) -> Dict[str, Any]:
        """Return the outcome for the answer (docs/schemas/answer.schema.json)."""
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
    """One thing with a desired state. A resource type is a subclass, which knows its options and nothing of Ansible."""

    IS_RESTORED = False  # whether offboarding restores what was changed of the user's (_engine/restored_key.py)
    KEEPS_USER_EDITS = False  # whether offboarding keeps it once the user has changed it
    IS_MOVABLE = False  # whether the user's own thing in its place can be moved away (_receipt/former_copies.py)
    keeps_copy = False  # whether apply keeps a private copy of what it replaces
    IS_KEPT = True  # whether it keeps something on the account; a query and a test job do not
    WAITS = True  # whether it is blocked if a resource that it touches has failed

    def bound(self, host: Host) -> "Resource":
        """Return this resource with all paths expanded for the account, and the same identity."""
        paths = {
            name: host.expand(self.options[name])
            for name, spec in self.OPTIONS.items()
            if spec.get("type") == "path" and self.options.get(name)
        }
        resource = type(self)(dict(self.options, **paths))
        resource.identity = self.identity
        return resource

    def touches(self, host: Host) -> List[str]:
        """Return the absolute paths that this resource depends on, its own first.

        It must not access a file system, since it is called when one hangs.
        """
        raise NotImplementedError

    def is_unchanged_since_created(self, found: State, host: Host) -> bool:
        """Return True if hpc-onboard created it and its state is one that a run left."""
        note = host.receipt_notes.get(note_key(self.KIND, self.identity), {})
        left = [note.get("hashes", {})] + note.get("former", [])
        there = hash_fields(found)
        is_left = any(all(one.get(field) == value for field, value in there.items()) for one in left)
        return bool(note.get("made")) and is_left

    def desired(self, host: Host) -> State:
        """Return the desired state."""
        raise NotImplementedError

    def inspect(self, host: Host) -> State:
        """Return the observed state; change nothing."""
        raise NotImplementedError

    def obstacle(self, before: State, host: Host) -> Optional[str]:
        """Return why this must not be changed, and what to do about it; None if it may."""
        raise NotImplementedError

    def progress(self, host: Host) -> Optional[Dict[str, Any]]:
        """Return the progress of the work that an earlier apply started, or why it failed; None without such work."""

    def remarks(self, host: Host) -> List[str]:
        """Return notes for the user that are not about a difference between the states."""
        return []

    def evidence(self, before: State, host: Host) -> Evidence:
        """Return observations, in addition to the state, that decide what to do."""
        return {}

    def keys(self, host: Host) -> State:
        """Return the fingerprints of all keys that apply would replace, by their places in words."""
        return {}

    def fields_to_tighten(self, host: Host) -> State:
        """Return the fields of the user that apply would change, with their present values."""
        return {}

    def paths_to_remove(self, host: Host) -> List[str]:
        """Return the absolute paths that apply would remove with their content, if others created that."""
        return []

    def apply(self, host: Host) -> None:
        """Create the desired state. Called only if a field differs and there is no obstacle."""
        raise NotImplementedError


def examine(resource: Resource, host: Host) -> Outcome:
    """Compare a resource with its desired state; change nothing."""
    progress = resource.progress(host)  # before the state: if the work ends in between, nothing is in progress
    before = resource.inspect(host)
    obstacle = resource.obstacle(before, host)
    outcome = Outcome(resource.identity, before, resource.desired(host), obstacle)
    outcome.progress = progress if outcome.fields else None
    outcome.remarks, outcome.evidence = resource.remarks(host), resource.evidence(before, host)
    outcome.was = resource.fields_to_tighten(host) if outcome.fields and not obstacle else {}
    if obstacle and not outcome.fields:
        outcome.evidence["obstacle"] = obstacle  # nothing differs yet, but the next change would be blocked
    return outcome


def reconcile(resource: Resource, host: Host) -> Outcome:
    """Bring a resource to its desired state, or start the work that does; return the outcome with the state before."""
    started = time.time()
    outcome = examine(resource, host)
    if outcome.fields and not outcome.reason and not is_in_progress(outcome):
        resource.apply(host)
        host.forget_observations()
        after = examine(resource, host)
        outcome.progress, outcome.remarks, outcome.evidence = after.progress, after.remarks, after.evidence
        if after.fields and not after.progress:
            raise AccountError("still not up to date after the change: " + ", ".join(after.fields))
    outcome.seconds = time.time() - started
    return outcome


def is_in_progress(outcome: Outcome) -> bool:
    """Return True if a job for the resource is running."""
    return outcome.progress is not None and "failed" not in outcome.progress
