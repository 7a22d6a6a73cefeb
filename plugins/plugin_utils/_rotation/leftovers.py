# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The search of an account for copies of a replaced key, once, in a round trip that the rotation makes anyway.

The copies are called leftovers. A share is the result of one step of the rotation for the files of one account. A
fingerprint is a short keyed hash that identifies a key without showing it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...module_utils._core.resource import FAILURES
from .._roles.enroot_credentials import token_folders
from .._secrets.key_marks import Marks
from .situation import COMPROMISED, Situation

if TYPE_CHECKING:
    from .._documents.declaration import Options, PlanEntry
    from .._documents.outcome import ResourceOutcome
    from .._documents.result import AccountRemark
    from .._documents.rotation import ShareResult
    from .targets import SecretFile

Cluster = Mapping[str, Any]  # a cluster's profile, from Ansible's variables of an account

NO_MARK = (
    "the record of an old key has no fingerprint, and the key is not in the keyring. If you still have the key, search "
    "the account for it with grep"
)
OLD_KEY = "a replaced key of '{}'"


@dataclass
class LeftoverSearch:
    """The search on one account.

    options: what the account searches for, as options of the resource type key_leftovers; None for no search.
    not_searched: why a search is not possible, or empty. outcome: None before the search.
    """

    options: Options | None
    not_searched: str = ""
    outcome: ResourceOutcome | None = None

    @classmethod
    def for_step(
        cls, situation: Situation, step: str, files: Iterable[SecretFile], cluster: Cluster, marks: Marks
    ) -> LeftoverSearch:
        """Return the search for a step; without options unless the old key is deactivated and the new key installed.

        step: its name. files: of the account, with the key. cluster: its profile. marks: the fingerprint that this
        account reports for each version of a key, by the key's name and the version's id.
        """
        # several rotations may have replaced keys that are deactivated only now
        old_versions = [version.id for version in situation.replaced_versions if version.fingerprint]
        # a compromised key is deactivated before the new key is written
        is_due = step == "retire" or (step in ("canary", "spread") and situation.mode == COMPROMISED)
        if not is_due or not old_versions:
            return cls(options=None)
        known = [marks[situation.name, version] for version in old_versions if (situation.name, version) in marks]
        not_searched = NO_MARK if len(known) < len(old_versions) else ""
        if not known:
            return cls(options=None, not_searched=not_searched)
        return cls(
            options={
                "known": dict.fromkeys(known, OLD_KEY.format(situation.name)),  # the keys to search for
                "own": [file.path for file in files],  # files that may contain the key
                # folders where enroot keeps tokens from the key, as far as the profile shows
                "caches": token_folders(cluster, declared=()),
            },
            not_searched=not_searched,
        )

    def entries(self) -> list[PlanEntry]:
        """Return the plan entry of the search, as a list; [] after the search, or if there is nothing to search for."""
        if self.options is None or self.outcome:
            return []
        return [{"kind": "key_leftovers", "capability": "rotate", "options": self.options}]

    def store_outcome(self, outcomes: list[ResourceOutcome]) -> int:
        """Store the outcome of the search, and return the number of places that still contain the old key.

        outcomes: of entries(), so at most one.
        """
        self.outcome = outcomes[0] if outcomes else self.outcome
        return self.outcome["evidence"].get("leftovers", 0) if self.outcome else 0

    def add_to(self, share: ShareResult) -> ShareResult:
        """Return the account's share, with what the search removed and what is left. Neither makes the share fail."""
        if not (self.outcome or self.not_searched):
            return share
        texts = list(self.outcome["remarks"]) if self.outcome else []
        reason = self.outcome["reason"] if self.outcome and self.outcome["status"] in FAILURES else self.not_searched
        if reason:
            texts.append(f"the account was not searched for every old key: {reason}")
        # "extra": the search removed copies of the key; other outcomes are only remarks
        removed = [self.outcome] if self.outcome and self.outcome["status"] == "extra" else []
        remarks: list[AccountRemark] = [{"capability": "rotate", "text": text} for text in texts]
        return {
            **share,
            "changed": share["changed"] or bool(removed),
            "outcomes": [*share.get("outcomes", []), *removed],
            "remarks": [*share.get("remarks", []), *remarks],
        }


def count_leftovers(situation: Situation) -> dict[str, int]:
    """Return the number of places that still contain the old key of the last rotation, by account."""
    start = situation.opening.seq if situation.opening else 0  # the record that began the last rotation
    records = [record for record in situation.own_records if record.seq > start and record.evidence.get("leftovers")]
    return {record.target.partition(":")[0]: int(record.evidence["leftovers"]) for record in records}
