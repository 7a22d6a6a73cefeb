# Copyright: hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The documentation that the modules of all resource types have in common."""

from __future__ import annotations


class ModuleDocFragment:
    """hpc.onboard.resource"""

    DOCUMENTATION = r"""
attributes:
  check_mode:
    description: Shows exactly what a run would change.
    support: full
  diff_mode:
    description: Shows the state before and after; keys appear as fingerprints.
    support: full
  action:
    description: Runs on the controller and sends one command, as M(hpc.onboard.converge) does.
    support: full
  async:
    description: Work of minutes goes on by itself on the account and is waited for.
    support: none
options:
  fingerprint_key:
    description:
      - The key that fingerprints of secrets are made with, in hexadecimal. Without it that of this machine
        for the account is taken.
    type: str
requirements:
  - python >= 3.6 on the account
notes:
  - What it makes is noted on the account (C(~/.config/hpc.onboard/receipt.json)). So it changes and takes out what it
    has made itself and nobody has changed since, and C(offboard) takes that out, too.
seealso:
  - module: hpc.onboard.converge
"""
