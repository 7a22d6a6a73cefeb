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
    description: Work that takes minutes continues in the background on the account, and the task waits for it.
    support: none
  become:
    description: Runs as the account's own user. The task fails with C(become=true).
    support: none
  delegation:
    description: C(delegate_to) may name another account. If it names the controller, the task fails.
    support: partial
    details: The account and its connection are those of the other host; the options are those of the current host.
options:
  fingerprint_key:
    description:
      - The key for fingerprints of secrets, in hexadecimal. The default is this machine's key for the account.
    type: str
requirements:
  - python >= 3.6 on the account
notes:
  - The module records what it creates on the account (C(~/.config/hpc.onboard/receipt.json)). It changes and removes
    only what it has created and what is unchanged since then. C(offboard) follows the same rule.
seealso:
  - module: hpc.onboard.converge
"""
