# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The heart: what a resource is, and the one loop that examines it and puts it right."""

import time
from typing import Any, Dict, List, Mapping, Optional

from .._formats.hashes import digest
from .errors import AccountError
from .host import Host
from .values import Options

State = Dict[str, str]
"""The observed or desired state of a thing: flat, readable in a diff, secrets as fingerprints; absent is empty."""

Evidence = Dict[str, Any]
"""What was seen beside the state, each a word or a number that a program acts on."""

CHANGES = ("missing", "different", "extra")
"""Statuses of what is, or was, to be put right."""

FAILURES = ("blocked", "failed", "unknown")
"""Statuses of what is not up to date and stays so."""

STATUSES = ("ok",) + CHANGES + FAILURES


def note_key(kind: str, identity: str) -> str:
    """What a resource is noted under in a receipt."""
    return "%s %s" % (kind, identity)


def hash_fields(found: Mapping[str, str]) -> Dict[str, str]:
    """A state as hashes, field by field."""
    return {field: digest(value.encode("utf-8", "replace")).hex()[:16] for field, value in found.items()}


class Outcome:
    """What came of one resource.

    progress is how far work that takes minutes is, while it goes on by itself (see job.py); remarks are
    what its owner should know though nothing differs; evidence is what is concluded from, as fields (see
    docs/schemas/answer.schema.json), for no sentence is read back; folders were made for it to lie in; was
    has the former values of what is, or was, changed of the user's along with it.

    status is what was found: ok, missing, different or extra; or why nothing could be
    said or done: blocked, failed, unknown (then reason says it in a sentence).
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
        self.status = self._found()
        self.seconds = 0.0
        self.progress: Optional[Dict[str, Any]] = None
        self.remarks: List[str] = []
        self.evidence: Evidence = {}
        self.folders: List[str] = []
        self.was: State = {}

    def _found(self) -> str:
        if not self.fields:
            return "ok"
        if self.reason:
            return "blocked"
        if not self.before:
            return "missing"
        return "different" if self.after else "extra"

    @classmethod
    def unmet(cls, identity: str, status: str, reason: str) -> "Outcome":
        """The outcome of a resource that could not be looked at, or not be put right."""
        outcome = cls(identity, {}, {})
        outcome.status = status
        outcome.reason = reason
        return outcome

    def document(self) -> Dict[str, Any]:
        """The outcome as it goes into the answer (see docs/schemas/answer.schema.json)."""
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
    """One thing kept in a wanted state. A kind is a subclass; it knows its options and nothing of Ansible."""

    IS_RESTORED = (
        False  # whether offboarding puts back what was changed of a thing of the user's (_engine/restored_key.py)
    )
    KEEPS_USER_EDITS = False  # whether it belongs to the account's owner once a person has changed it
    keeps_copy = False  # whether apply first keeps a private copy of what it replaces
    WAITS = True  # whether it cannot be had where a thing that it touches is not as it should be

    def bound(self, host: Host) -> "Resource":
        """This resource with every path resolved on the account; its identity stays."""
        paths = {
            name: host.expand(self.options[name])
            for name, spec in self.OPTIONS.items()
            if spec.get("type") == "path" and self.options.get(name)
        }
        resource = type(self)(dict(self.options, **paths))
        resource.identity = self.identity
        return resource

    def touches(self, host: Host) -> List[str]:
        """The absolute paths that this resource looks at, its own first; what fails there costs it too.

        By names alone: this is asked when a file system hangs, so none may be looked at.
        """
        raise NotImplementedError

    def is_unchanged_since_created(self, found: State, host: Host) -> bool:
        """Whether we made it, and it still is what we made: all that was found is noted so."""
        note = host.receipt_notes.get(note_key(self.KIND, self.identity), {})
        ways = [note.get("hashes", {})] + note.get("former", [])
        there = hash_fields(found)
        return bool(note.get("made")) and any(
            all(way.get(field) == one for field, one in there.items()) for way in ways
        )

    def desired(self, host: Host) -> State:
        """The state that is wanted."""
        raise NotImplementedError

    def inspect(self, host: Host) -> State:
        """The state as found; nothing is changed."""
        raise NotImplementedError

    def obstacle(self, before: State, host: Host) -> Optional[str]:
        """Why this must not be changed by us, and what to do about it; None when it may."""
        raise NotImplementedError

    def progress(self, host: Host) -> Optional[Dict[str, Any]]:
        """How far the work is that an earlier apply has started, or why it failed; None where there is none."""

    def remarks(self, host: Host) -> List[str]:
        """What the account's owner should know, though it is no difference and not ours to change."""
        return []

    def evidence(self, before: State, host: Host) -> Evidence:
        """What was seen beside the state and decides what is to be done."""
        return {}

    def keys(self, host: Host) -> State:
        """Return the fingerprints of all keys that apply would replace, by the words that name their places."""
        return {}

    def fields_to_tighten(self, host: Host) -> State:
        """Return the fields of what the user has there that apply would change, with their present values."""
        return {}

    def paths_to_remove(self, host: Host) -> List[str]:
        """The absolute paths that apply would remove with all that they hold, where it removes what others made."""
        return []

    def apply(self, host: Host) -> None:
        """Bring about the wanted state; called only when something differs and no obstacle stands."""
        raise NotImplementedError


def examine(resource: Resource, host: Host) -> Outcome:
    """Compare resource with its wanted state. Nothing is changed."""
    progress = resource.progress(host)  # before the state: work that ends in between leaves nothing to say
    before = resource.inspect(host)
    obstacle = resource.obstacle(before, host)
    outcome = Outcome(resource.identity, before, resource.desired(host), obstacle)
    outcome.progress = progress if outcome.fields else None
    outcome.remarks, outcome.evidence = resource.remarks(host), resource.evidence(before, host)
    outcome.was = resource.fields_to_tighten(host) if outcome.fields and not obstacle else {}
    if obstacle and not outcome.fields:
        outcome.evidence["obstacle"] = obstacle  # nothing differs yet, and the next run that has to change it could not
    return outcome


def reconcile(resource: Resource, host: Host) -> Outcome:
    """Bring resource to its wanted state, or have it on the way there, and say what was found before."""
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
    """Whether work on it goes on by itself."""
    return outcome.progress is not None and "failed" not in outcome.progress
