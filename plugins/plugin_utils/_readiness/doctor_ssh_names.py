# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What doctor makes of the names that ssh is to know accounts by, where there are any."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from .._input.command_line import command
from .._ssh_config import texts
from .._ssh_config.user_settings import NameTarget
from .doctor_checks import OK, WARNING, Check

NAME = "ssh names"


def check(config: str, ways: Sequence[NameTarget]) -> Check:
    """Whether they lead to their accounts. config: the text of ~/.ssh/config; ways: where ssh says that each leads."""
    again = shlex.join(command("ssh-config"))
    if not texts.has_block(config):
        return Check(NAME, WARNING, f"{texts.CONFIG} does not read {texts.FILE} any more.", again)
    elsewhere = [one for one in ways if one.actual != one.desired]
    if elsewhere:
        said = "; ".join(f"ssh {one.name} points to {one.actual}, not to {one.desired}" for one in elsewhere)
        return Check(NAME, WARNING, f"{said}: your own settings of ssh win.", f"look for 'Host' in {texts.CONFIG}")
    if not texts.is_block_last(config):
        text = f"more stands behind our lines in {texts.CONFIG}, and does not win over them."
        return Check(NAME, WARNING, text, again)
    return Check(NAME, OK, f"{', '.join(f'ssh {one.name}' for one in ways)}: as {texts.FILE} says.")
