# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is fixed before an account is looked at: what a person was shown, and agreed to.

It goes through the same loop, under the same lock, as what is set up. What is noted in the receipt is ours to keep,
and no fix takes it away.
"""

import os
from typing import Any, Callable, Dict, List, Mapping

from .._core.errors import AccountError
from .._core.host import Host
from .._core.resource import CHANGES, FAILURES, Outcome, Resource, examine, reconcile
from .._receipt import notes, receipt
from .isolation import Document, Pass, run_isolated


def apply_fixes(
    resources: List[Resource], real: Callable[[], Host], seconds: float, is_foreseen: bool
) -> List[Document]:
    """The outcomes of the fixes, in order. is_foreseen: nothing is changed."""
    look = Pass(real, examine, False, seconds)
    settled = _ours(resources, real(), run_isolated([receipt.Receipt({})], look, {})[0])
    seen = run_isolated(resources, look, settled)
    if not any(one["status"] in CHANGES for one in seen):
        return seen
    if is_foreseen:
        from .._core.dry_run import DryRunHost

        return run_isolated(resources, Pass(lambda: DryRunHost(real()), reconcile, False, seconds), settled)
    done = run_isolated(resources, Pass(real, reconcile, True, seconds), settled)
    for variable in (name for one in done if one["status"] in CHANGES for name in one["before"]):
        os.environ.pop(variable, None)  # the shell that started us had read it in the file that was fixed
    return done


def _ours(resources: List[Resource], host: Host, kept: Document) -> Dict[int, Document]:
    """The outcomes of fixes that would take away what we made, or of all that take away, where that is not known."""
    paths = _noted(notes.parse_notes(kept["after"]), host)
    found = {}
    for position, resource in enumerate(resources):
        try:
            taken = resource.bound(host).paths_to_remove(host)
        except (AccountError, OSError):
            continue  # the fix itself says so
        if taken and kept["status"] in FAILURES:
            found[position] = _stays(resource, "waits for: " + receipt.IDENTITY)
        for path in paths:
            if any(path == one or path.startswith(one + "/") for one in taken):
                found[position] = _stays(resource, host.shown(path) + " was set up by hpc.onboard")
    return found


def _stays(resource: Resource, why: str) -> Document:
    return Outcome.unmet(resource.identity, "blocked", why).document()


def _noted(noted: Mapping[str, Mapping[str, Any]], host: Host) -> List[str]:
    """The paths of what is noted; one that begins with a variable of the site is in no home."""
    named = [note["options"].get(name) for note in noted.values() for name in ("path", "prefix")]
    return [host.expand(str(path)) for path in named if path and not str(path).startswith("$")]
