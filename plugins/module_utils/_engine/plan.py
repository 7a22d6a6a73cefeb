# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Take the resources of a plan through a loop in order, so that a failure costs only what depends on it.

A plan is the JSON document that says what a run does on an account; each of its entries describes a resource. A loop is
a function that examines or reconciles (brings to its desired state) one resource, and returns the outcome. A Host reads
and changes the files of the account. Everything here happens in one process; isolation.py adds child processes and time
limits.
"""

import os
from typing import Any, Callable, Dict, Mapping, Optional, Type

from .._core.errors import AccountError, FileSystemHangs, as_account_error, describe_bug
from .._core.host import Host
from .._core.resource import WAITS_FOR, Outcome, Resource, list_touched_paths

LOCK = ".hpc.onboard.lock"  # name of the lock file in the home
WAIT_SECONDS = 60  # for another run to release the lock
SECONDS = 30.0  # for one resource

Kinds = Mapping[str, Type[Resource]]  # the resource types by their names
Loop = Callable[[Resource, Host], Outcome]  # examine or reconcile, perhaps restricted


def build_resource(entry: Mapping[str, Any], kinds: Kinds) -> Resource:
    """Return the resource for one entry of a plan, with defaults filled in. Raise AccountError for an invalid entry."""
    kind = str(entry.get("kind"))
    if kind not in kinds:
        raise AccountError("unknown resource type %r; available: %s" % (kind, ", ".join(sorted(kinds))))
    return kinds[kind](kinds[kind].with_defaults(entry["options"]))


def create_sandbox(root: str, sandbox: Mapping[str, Any]) -> None:
    """Create the folders of a sandbox, which simulates an account, that a site itself would provide.

    root: the folder that the sandbox uses as /. sandbox: its "home", and the storage areas in "folders".
    """
    for folder in [sandbox["home"], *sandbox.get("folders", [])]:
        path = root + os.path.normpath("/" + folder.lstrip("/"))  # with ".." resolved, the path stays below root
        if not os.path.isdir(path):
            os.makedirs(path, 0o755)


class ResourceRun:
    """Takes resources through a loop one by one. Those that depend on a failed one are blocked."""

    def __init__(self, host: Host, loop: Loop) -> None:
        """Store the host and the loop for all resources."""
        self.host = host
        self.loop = loop
        self._failed: Dict[str, str] = {}  # own path of each failed resource -> its identity

    def produce_outcome(self, resource: Resource) -> Outcome:
        """Take one resource through the loop, and return the outcome; any error becomes a failed or unknown outcome.

        The outcome also names the folders that were created for the resource.
        """
        self.host.forget_observations()  # the previous resource may have changed the account
        try:
            expanded = resource.with_expanded_paths(self.host)
            failed_identity = self._find_failed_parent(expanded) if resource.WAITS else None
            if failed_identity:  # not added to _failed: only resources with a problem of their own block others
                return Outcome.of_failure(resource.identity, "blocked", WAITS_FOR + failed_identity)
            outcome = self.loop(expanded, self.host)
        except FileSystemHangs as error:
            outcome = Outcome.of_failure(resource.identity, "unknown", str(error))
        except AccountError as error:
            outcome = Outcome.of_failure(resource.identity, "failed", str(error))
        except OSError as error:
            outcome = Outcome.of_failure(resource.identity, "failed", str(as_account_error(error, resource.identity)))
        except Exception as error:
            outcome = Outcome.of_failure(resource.identity, "failed", describe_bug(error))
        has_failed = outcome.status in ("blocked", "failed")
        paths = list_touched_paths(resource, self.host) if has_failed or self.host.created_folders else []
        own_path = paths[0] if paths else None
        if own_path and has_failed:
            self._failed.setdefault(own_path, resource.identity)
        # a folder that is itself the resource is noted as such, not as created for the resource
        created, self.host.created_folders = self.host.created_folders, []
        outcome.folders = [self.host.shown(folder) for folder in created if folder != own_path]
        return outcome

    def _find_failed_parent(self, resource: Resource) -> Optional[str]:
        """Return the identity of a failed resource that contains this resource or is its target; else None."""
        paths = resource.touches(self.host)
        for path in paths:
            for failed_path, identity in self._failed.items():
                # a failed resource with the same own path (the first) is another entry of the same file
                is_target = path == failed_path and path != paths[0]
                if is_target or path.startswith(failed_path + "/"):
                    return identity
        return None
