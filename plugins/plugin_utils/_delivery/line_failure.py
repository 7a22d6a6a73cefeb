# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What it means that there was no way to an account, or none back."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery import payload
from ansible_collections.hpc.onboard.plugins.plugin_utils._text.sanitise import harmless_lines

if TYPE_CHECKING:
    from ansible_collections.hpc.onboard.plugins.plugin_utils._doors.shut_door import ShutDoor


class LineFailure(NamedTuple):
    """No way to the account, or none back. began: the command may have begun there. words: ssh's own, in one line."""

    text: str
    began: bool
    words: str = ""


def line_failure(words: str, door: ShutDoor, began: bool) -> LineFailure:
    """What ssh's failure means, and the next step. words: Ansible's for it, which hold ssh's own and are shown."""
    from ansible_collections.hpc.onboard.plugins.plugin_utils._text import ssh_words  # few fail

    lines = harmless_lines(ssh_words.without_asides(words), 2000).split("\n")
    reason = " | ".join(line for line in lines if line and line != payload.BEGUN)
    if began:
        dropped = f"the line dropped ({reason})" if reason else "the line dropped"
        text = f"{dropped}. What was done is not known; run again: it reads back and decides"
        return LineFailure(text, began, reason)
    if ssh_words.is_session_taken(reason):
        text = "the session to the login node takes no second command (MaxSessions): log out of the shell that uses it"
        return LineFailure(f"{text}, then run again ({reason})", began, reason)
    if ssh_words.is_dropped_at_the_door(reason):
        text = "the login node dropped the connection before it asked who that is, as it does with too many at once"
        return LineFailure(f"{text} ({reason}). Run again later, or for fewer accounts at a time (-f 2)", began, reason)
    shut = door.judged(reason)
    return LineFailure(f"{shut.text}. {shut.next}", began, reason)
