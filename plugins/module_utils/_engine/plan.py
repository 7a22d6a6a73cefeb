# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A plan: all that one account should have, in order, run so that one failure costs only its own.

The pure part: which resource waits for which, what a run of items yields. Processes and time
limits are in isolation.py.
"""

from typing import Any, Callable, Dict, List, Mapping, Optional, Type

from .._core.errors import AccountError, FileSystemHangs, as_account_error, describe_bug
from .._core.host import Host
from .._core.resource import Outcome, Resource

LOCK = ".hpc.onboard.lock"  # the file of the lock, in the home
WAIT_SECONDS = 60  # for a run that holds it

Kinds = Mapping[str, Type[Resource]]
Loop = Callable[[Resource, Host], Outcome]


def build_resource(declared: Mapping[str, Any], kinds: Kinds) -> Resource:
    """The resource for one entry of a plan, {kind, capability, options}; its options are checked."""
    kind = str(declared.get("kind"))
    if kind not in kinds:
        raise AccountError("%r is no kind of resource; there are: %s" % (kind, ", ".join(sorted(kinds))))
    return kinds[kind](declared["options"])


class ResourceRun:
    """The outcomes so far, and what they mean for the resources that come after."""

    def __init__(self, host: Host, loop: Loop) -> None:
        self.host = host
        self.loop = loop
        self._lost: Dict[str, str] = {}

    def lose(self, resource: Resource) -> None:
        """Remember where a resource failed: what lies at or below it cannot be had either."""
        try:
            paths = resource.bound(self.host).touches(self.host)
        except AccountError:
            return
        if paths:
            self._lost.setdefault(paths[0], resource.identity)

    def outcome(self, resource: Resource) -> Outcome:
        """Take one resource through the loop. Whatever goes wrong becomes its outcome."""
        self.host.forget_observations()
        try:
            bound = resource.bound(self.host)
            lost = self._waits_for(bound) if bound.WAITS else None
            if lost:
                return Outcome.unmet(resource.identity, "blocked", "waits for: " + lost)
            outcome = self.loop(bound, self.host)
        except FileSystemHangs as error:
            outcome = Outcome.unmet(resource.identity, "unknown", str(error))
        except AccountError as error:
            outcome = Outcome.unmet(resource.identity, "failed", str(error))
        except OSError as error:
            outcome = Outcome.unmet(resource.identity, "failed", str(as_account_error(error, resource.identity)))
        except Exception as error:
            outcome = Outcome.unmet(resource.identity, "failed", describe_bug(error))
        if outcome.status in ("blocked", "failed"):
            self.lose(resource)
        outcome.folders = self._made_for(resource)
        return outcome

    def _made_for(self, resource: Resource) -> List[str]:
        """The folders that were made since the last resource, but for what this one is itself."""
        made, self.host.created_folders = self.host.created_folders, []
        own = resource.bound(self.host).touches(self.host)[:1] if made else []
        return [self.host.shown(folder) for folder in made if folder not in own]

    def _waits_for(self, resource: Resource) -> Optional[str]:
        """What lies below a lost path waits for it, and what leads there; another entry of the same file does not."""
        own = resource.touches(self.host)[:1]
        for path in resource.touches(self.host):
            for lost, identity in self._lost.items():
                if path.startswith(lost + "/") or (path == lost and path not in own):
                    return identity
        return None
