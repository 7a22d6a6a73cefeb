# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Apply fixes that the user has seen and agreed to, before the account is examined.

Fixes are examined and changed as declared resources are, under the same lock. No fix removes a resource that is noted
in the receipt, the account's record of what hpc-onboard created.
"""

import os
from typing import Callable, Dict, List

from .._core.errors import AccountError
from .._core.host import Host
from .._core.resource import CHANGES, FAILURES, WAITS_FOR, Outcome, Resource, examine, reconcile
from .._receipt import notes, receipt
from .isolation import Document, Pass, run_isolated


def apply_fixes(
    resources: List[Resource], make_host: Callable[[], Host], seconds: float, is_preview: bool
) -> List[Document]:
    """Apply the fixes, or preview them, and return their outcomes in order.

    resources: the fixes. make_host: returns a new host, because a host caches what it has read. seconds: for one fix.
    """
    examine_pass = Pass(make_host, examine, locked=False, seconds=seconds)
    receipt_outcome = run_isolated([receipt.Receipt(changes={})], examine_pass)[0]  # without changes: only read
    blocked = _block_noted_removals(resources, make_host(), receipt_outcome)
    examined = run_isolated(resources, examine_pass, final_outcomes=blocked)
    if not any(outcome["status"] in CHANGES for outcome in examined):
        return examined
    if is_preview:
        from .._core.dry_run import DryRunHost  # imported late: few runs preview fixes

        preview_pass = Pass(lambda: DryRunHost(make_host()), reconcile, locked=False, seconds=seconds)
        return run_isolated(resources, preview_pass, final_outcomes=blocked)
    locked_pass = Pass(make_host, reconcile, locked=True, seconds=seconds)
    outcomes = run_isolated(resources, locked_pass, final_outcomes=blocked)
    for outcome in outcomes:
        if outcome["status"] in CHANGES:
            # fields may be variables, which this process has inherited from a shell that read the file before the fix
            for field in outcome["before"]:
                os.environ.pop(field, None)
    return outcomes


def _block_noted_removals(resources: List[Resource], host: Host, receipt_outcome: Document) -> Dict[int, Document]:
    """Return, by position, the blocked outcomes of the fixes that would remove a resource noted in the receipt.

    resources: the fixes. If the receipt cannot be read, all fixes that remove something are blocked.
    """
    noted_paths = []
    for note in notes.parse_notes(receipt_outcome["after"]).values():
        paths = [str(note["options"].get(option) or "") for option in ("path", "prefix")]  # where the resource is
        # fixes remove paths in the home only, and no site's variable ($NAME) points there
        noted_paths += [host.expand(path) for path in paths if path and not path.startswith("$")]
    blocked = {}
    for position, resource in enumerate(resources):
        try:
            removed_paths = resource.with_expanded_paths(host).paths_to_remove(host)
        except (AccountError, OSError):
            continue  # the outcome of the fix reports the error
        noted = [path for path in noted_paths for removed in removed_paths if (path + "/").startswith(removed + "/")]
        if noted:
            why = "hpc-onboard set up %s, so fixes do not remove it" % host.shown(noted[-1])
        elif removed_paths and receipt_outcome["status"] in FAILURES:
            why = WAITS_FOR + receipt.IDENTITY
        else:
            continue
        blocked[position] = Outcome.of_failure(resource.identity, "blocked", why).document()
    return blocked
