# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What only the audit looks at: things that are nobody's wish, and that it is better to know of.

A watch is a resource whose wanted state is that nothing is found. Its state names each thing found by the rule
that it breaks and the place where it is ("SEC-004 ~/.bashrc:12"), and says in words what is there; a key is
never among them, only its fingerprint. What it could not look at is among its remarks.
"""

from typing import Any, Dict, List, NamedTuple, Optional

from .._core.errors import AccountError
from .._core.host import Host
from .._core.resource import Evidence, Resource, State

# Cases of a rule that need different advice: the words are in plugin_utils/_audit/fixes.py.
UNKNOWN_KEY, APPLICATION, NO_REPLACEMENT, NOT_ON_PATH = "unknown_key", "application", "no_replacement", "not_on_path"
NOT_MADE_AGAIN, LEADS_PAST = "not_made_again", "leads_past"


class Seen(NamedTuple):
    """One thing that is found.

    severity: where it is worse here than its rule. fix: what fixes it, {kind, options}. case: see above.
    """

    rule: str
    place: str
    text: str
    severity: str = ""
    auto_fix: Optional[Dict[str, Any]] = None
    case: str = ""

    @property
    def field(self) -> str:
        """What it is called in the state."""
        return "%s %s" % (self.rule, self.place)


class Watch(Resource):
    """A look at one question. A kind is a subclass; it only reads, starts no program of the account that may write."""

    WAITS = False  # what cannot be put right can be looked at all the same

    def seen(self, host: Host) -> List[Seen]:
        """What is found, each with its rule (see plugin_utils/_audit/rules.py), place and what is there."""
        raise NotImplementedError

    def unseen(self, host: Host) -> List[str]:
        """What could not be looked at, and why, one sentence each."""
        return []

    def touches(self, host: Host) -> List[str]:
        return []

    def desired(self, host: Host) -> State:
        return {}

    _found: Optional[List[Seen]] = None

    def _looked(self, host: Host) -> List[Seen]:
        """What is found, looked for once."""
        if self._found is None:
            self._found = list(self.seen(host))
        return self._found

    def inspect(self, host: Host) -> State:
        return {one.field: one.text for one in self._looked(host)}

    def evidence(self, before: State, host: Host) -> Evidence:
        looked = self._looked(host)
        evidence: Evidence = {
            "severities": {one.field: one.severity for one in looked if one.severity},
            "fixes": {one.field: one.auto_fix for one in looked if one.auto_fix},
            "cases": {one.field: one.case for one in looked if one.case},
        }
        return {name: found for name, found in evidence.items() if found}

    def obstacle(self, before: State, host: Host) -> Optional[str]:
        return None

    def remarks(self, host: Host) -> List[str]:
        return self.unseen(host)

    def apply(self, host: Host) -> None:
        raise AccountError("%s: this is only looked at" % self.identity)
