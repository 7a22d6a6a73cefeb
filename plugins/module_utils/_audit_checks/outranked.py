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
    check: AuditCheck, name: str, folder: str, where: str, ours: Mapping[str, str], host: Host
) -> None:
    """Report a variable that has no effect because a variable of hpc-onboard takes precedence.

    name, folder: of the variable, and its value. where: the place of the finding. ours: variable -> value that
    hpc-onboard sets.
    """
    winners = [winner for winner in OUTRANKED.get(name, ()) if winner in ours]
    if not winners or name in ours or folder in [ours[winner] for winner in winners]:
        return  # no conflict, or a variable of hpc-onboard itself
    unused = _unused_content(check, name, folder, host)
    if name not in IN_COMMON or unused:  # a variable that many programs share still affects the others
        text = "%s is set here, but hpc-onboard's %s takes precedence" % (name, winners[0])
        if unused:
            text += ", so the content of %s is no longer used" % unused
        check.report("ENV-009", where, text)


def _unused_content(check: AuditCheck, name: str, folder: str, host: Host) -> str:
    """Return the displayed path of a folder with content that a variable names; empty without content.

    folder: the value of the variable, or empty. If many programs share the variable, their subfolders are checked.
    """
    subfolders = IN_COMMON.get(name, ("",)) if folder else ()  # "": the folder itself
    for path in [os.path.normpath(os.path.join(folder, subfolder)) for subfolder in subfolders]:
        try:
            if host.resolved_kind(path) == "folder" and host.names(path):
                return host.shown(path)
        except AccountError as error:
            check.skip(str(error))
    return ""
