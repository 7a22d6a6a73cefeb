#!/usr/bin/python
# Copyright: hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The documentation of import_result, which is an action plugin."""

from __future__ import annotations

DOCUMENTATION = r"""
module: import_result
short_description: Import the result of a script that was run where no program may log in
version_added: 0.1.0
author: The hpc.onboard authors (@hpc-onboard)
description:
  - Made for C(import_result.yml). Reads the result file that a script of M(hpc.onboard.export_script) has left on an
    account. Checks that it is of this account and of a script from this machine, unchanged and new, and uses it as if
    it had come over ssh.
  - The copy of the receipt, the ledger and the report of an audit then include it.
options:
  file:
    description: The result, as it was copied from the account.
    type: str
    required: true
attributes:
  check_mode:
    description: Reports the result, and keeps nothing.
    support: full
  diff_mode:
    description: It shows none.
    support: none
  action:
    description: Runs on the controller.
    support: full
requirements:
  - python >= 3.6 on the account
"""

EXAMPLES = r"""
- name: Import the result
  hpc.onboard.import_result:
    file: hpc-onboard-frontier-onboard.json
"""

RETURN = r"""
outcomes:
  description: What came of each resource.
  type: list
  elements: dict
  returned: for onboard and offboard
audit:
  description: The audit of the account.
  type: dict
  returned: for audit
"""
