# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Variables that have no effect because a variable of hpc-onboard takes precedence."""

import os
from typing import Mapping

from .._core.errors import AccountError
from .._core.host import Host
from .._scan.tool_places import IN_COMMON, OUTRANKED
from .audit_check import AuditCheck


def report_outranked(
    check: AuditCheck, name: str, folder: str, where: str, own_values: Mapping[str, str], host: Host
) -> None:
    """Report a variable that has no effect because a variable of hpc-onboard takes precedence.

    name: of the variable. folder: its value. where: the place of the finding. own_values: variable -> value that
    hpc-onboard sets.
    """
    winners = [winner for winner in OUTRANKED.get(name, ()) if winner in own_values]
    if not winners or name in own_values or folder in [own_values[winner] for winner in winners]:
        return  # no conflict, or a variable of hpc-onboard itself
    unused = _find_unused_folder(check, name, folder, host)
    if name not in IN_COMMON or unused:  # a variable that many programs share still affects the others
        text = "%s is set here, but hpc-onboard's %s takes precedence" % (name, winners[0])
        if unused:
            text = "%s is set here, but hpc-onboard's %s takes precedence, so the content of %s is no longer used"
            text %= (name, winners[0], unused)
        check.report("ENV-009", where, text)


def _find_unused_folder(check: AuditCheck, name: str, folder: str, host: Host) -> str:
    """Return the path, for display, of a folder that a variable names and that has content; empty without content.

    name: of the variable. folder: its value, or empty. If many programs share the variable, only their subfolders are
    checked.
    """
    subfolders = IN_COMMON.get(name, ("",)) if folder else ()  # "": the folder itself
    for path in [os.path.normpath(os.path.join(folder, subfolder)) for subfolder in subfolders]:
        try:
            if host.resolved_kind(path) == "folder" and host.names(path):
                return host.shown(path)
        except AccountError as error:
            check.skip(str(error))
    return ""
