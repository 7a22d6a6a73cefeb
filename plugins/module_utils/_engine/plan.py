# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Take the resources of a plan through a loop in order, so that a failure costs only what depends on it.

This is the pure part. Processes and time limits are in isolation.py.
"""

from typing import Any, Callable, Dict, List, Mapping, Optional, Type

from .._core.errors import AccountError, FileSystemHangs, as_account_error, describe_bug
from .._core.host import Host
from .._core.resource import Outcome, Resource

LOCK = ".hpc.onboard.lock"  # name of the lock file in the home
WAIT_SECONDS = 60  # for a run that holds the lock
SECONDS = 30.0  # for one resource

Kinds = Mapping[str, Type[Resource]]
Loop = Callable[[Resource, Host], Outcome]


def build_resource(declared: Mapping[str, Any], kinds: Kinds) -> Resource:
    """Return the resource for one entry of a plan, {kind, capability, options}: options completed and checked."""
    kind = str(declared.get("kind"))
    if kind not in kinds:
        raise AccountError("unknown resource type %r; available: %s" % (kind, ", ".join(sorted(kinds))))
    return kinds[kind](kinds[kind].with_defaults(declared["options"]))


class ResourceRun:
    """Produces outcomes one by one and remembers what failed, for the resources that depend on it."""

    def __init__(self, host: Host, loop: Loop) -> None:
        self.host = host
        self.loop = loop
        self._failed: Dict[str, str] = {}  # path -> identity

    def outcome(self, resource: Resource) -> Outcome:
        """Take one resource through the loop. Any error becomes its outcome."""
        self.host.forget_observations()
        try:
            bound = resource.bound(self.host)
            failed = self._find_failed(bound) if bound.WAITS else None
            if failed:
                return Outcome.of_failure(resource.identity, "blocked", "waits for: " + failed)
            outcome = self.loop(bound, self.host)
        except FileSystemHangs as error:
            outcome = Outcome.of_failure(resource.identity, "unknown", str(error))
        except AccountError as error:
            outcome = Outcome.of_failure(resource.identity, "failed", str(error))
        except OSError as error:
            outcome = Outcome.of_failure(resource.identity, "failed", str(as_account_error(error, resource.identity)))
        except Exception as error:
            outcome = Outcome.of_failure(resource.identity, "failed", describe_bug(error))
        paths: List[str] = []
        if outcome.status in ("blocked", "failed") or self.host.created_folders:
            paths = self._paths(resource)
        if paths and outcome.status in ("blocked", "failed"):
            self._failed.setdefault(paths[0], resource.identity)
        created, self.host.created_folders = self.host.created_folders, []
        outcome.folders = [self.host.shown(folder) for folder in created if folder not in paths[:1]]
        return outcome

    def _paths(self, resource: Resource) -> List[str]:
        """Return the paths that a resource touches; none if its paths cannot be expanded."""
        try:
            return resource.bound(self.host).touches(self.host)
        except AccountError:
            return []

    def _find_failed(self, resource: Resource) -> Optional[str]:
        """Return a failed resource that this one is in or points to; another entry of the same file does not count."""
        paths = resource.touches(self.host)
        for path in paths:
            for failed, identity in self._failed.items():
                if path.startswith(failed + "/") or (path == failed and path not in paths[:1]):
                    return identity
        return None
