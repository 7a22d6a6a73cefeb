# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a replaced key left on an account: looked for once, in a trip that the rotation makes anyway."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...module_utils._core.resource import FAILURES
from .._secrets.key_marks import Marks
from .standing import COMPROMISED, Situation

if TYPE_CHECKING:
    from .._documents.declaration import Options, PlanEntry
    from .._documents.outcome import ResourceOutcome
    from .._documents.result import AccountRemark
    from .._documents.rotation import ShareResult
    from .targets import File

Cluster = Mapping[str, Any]  # a profile, as Ansible has it among an account's variables

NO_MARK = "an older version wrote its record, and its value is not in the keyring; grep for it there by hand"
KNOWN = "the key of '{}' that was replaced"


@dataclass
class Sweep:
    """The look at one account.

    options: those of key_leftovers; None, and nothing is looked for. unlooked: why it cannot be, where it should.
    """

    options: Options | None
    unlooked: str = ""
    outcome: ResourceOutcome | None = None

    @classmethod
    def of(cls, situation: Situation, step: str, files: Iterable[File], cluster: Cluster, marks: Marks) -> Sweep:
        """The look that belongs to a step: that after the old key is deactivated and the account has the new one.

        files: those of the account that hold the key; marks: the fingerprints of the versions there. A compromised
        key is deactivated before the new one is spread.
        """
        old = situation.replaced
        due = step == "retire" or (step in ("canary", "spread") and situation.mode == COMPROMISED)
        if not due or old is None or not old.fingerprint:
            return cls(None)
        if (situation.name, old.id) not in marks:
            return cls(None, NO_MARK)
        from .._roles.enroot_credentials import token_folders  # few steps need it

        return cls(
            {
                "known": {marks[situation.name, old.id]: KNOWN.format(situation.name)},
                "own": [file.path for file in files],
                "caches": token_folders(cluster, ()),
            }
        )

    def entries(self) -> list[PlanEntry]:
        """What is sent for it: once, for what was removed is gone and what was found is known."""
        if self.options is None or self.outcome:
            return []
        return [{"kind": "key_leftovers", "capability": "rotate", "options": self.options}]

    def told(self, outcomes: list[ResourceOutcome]) -> int:
        """In how many places the key still stands; outcomes: what came of the entries."""
        self.outcome = outcomes[0] if outcomes else self.outcome
        return self.outcome["evidence"].get("leftovers", 0) if self.outcome else 0

    def added(self, result: ShareResult) -> ShareResult:
        """The result of the account's share, with what was removed and what is left; neither makes it fail."""
        if not (self.outcome or self.unlooked):
            return result
        texts = list(self.outcome["remarks"]) if self.outcome else []
        why = self.outcome["reason"] if self.outcome and self.outcome["status"] in FAILURES else self.unlooked
        if why:
            texts.append(f"leftovers of the old key were not looked for: {why}")
        removed = [self.outcome] if self.outcome and self.outcome["status"] == "extra" else []
        remarks: list[AccountRemark] = [{"capability": "rotate", "text": text} for text in texts]
        return {
            **result,
            "changed": result["changed"] or bool(removed),
            "outcomes": [*result.get("outcomes", []), *removed],
            "remarks": [*result.get("remarks", []), *remarks],
        }


def left_on(situation: Situation) -> dict[str, int]:
    """Accounts on which the replaced key of the last rotation still stands, and in how many places each."""
    opened = situation.opening.seq if situation.opening else 0
    found: dict[str, int] = {}
    for one in situation.mine:
        if one.seq > opened and one.evidence.get("leftovers"):
            found[one.target.partition(":")[0]] = int(one.evidence["leftovers"])
    return found
