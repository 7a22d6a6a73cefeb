# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Apply fixes that the user has seen and agreed to, before the account is examined.

Fixes go through the same loop, under the same lock, as declared resources. No fix removes a resource that the receipt
notes.
"""

import os
from typing import Callable, Dict, List

from .._core.errors import AccountError
from .._core.host import Host
from .._core.resource import CHANGES, FAILURES, Outcome, Resource, examine, reconcile
from .._receipt import notes, receipt
from .isolation import Document, Pass, run_isolated


def apply_fixes(
    resources: List[Resource], make_host: Callable[[], Host], seconds: float, is_preview: bool
) -> List[Document]:
    """Apply the fixes, or preview them, and return their outcomes in order. seconds: for one of them."""
    examining = Pass(make_host, examine, False, seconds)
    settled = _protect_noted(resources, make_host(), run_isolated([receipt.Receipt({})], examining, {})[0])
    seen = run_isolated(resources, examining, settled)
    if not any(one["status"] in CHANGES for one in seen):
        return seen
    if is_preview:
        from .._core.dry_run import DryRunHost

        return run_isolated(resources, Pass(lambda: DryRunHost(make_host()), reconcile, False, seconds), settled)
    done = run_isolated(resources, Pass(make_host, reconcile, True, seconds), settled)
    for variable in (name for one in done if one["status"] in CHANGES for name in one["before"]):
        os.environ.pop(variable, None)  # the shell that started this process had read it in the fixed file
    return done


def _protect_noted(resources: List[Resource], host: Host, outcome: Document) -> Dict[int, Document]:
    """Return the outcomes of fixes that would remove noted resources; of all removals, if the receipt is unknown.

    outcome: the receipt's.
    """
    noted = []
    for note in notes.parse_notes(outcome["after"]).values():
        paths = [str(note["options"].get(name) or "$") for name in ("path", "prefix")]
        noted += [host.expand(path) for path in paths if not path.startswith("$")]  # a site's variable is in no home
    found = {}
    for position, resource in enumerate(resources):
        try:
            removed = resource.bound(host).paths_to_remove(host)
        except (AccountError, OSError):
            continue  # the fix itself says so
        why = "waits for: " + receipt.IDENTITY if removed and outcome["status"] in FAILURES else ""
        for path in noted:
            if any(path == one or path.startswith(one + "/") for one in removed):
                why = host.shown(path) + " was set up by hpc-onboard; fixes do not remove it"
        if why:
            found[position] = Outcome.of_failure(resource.identity, "blocked", why).document()
    return found
