#!/usr/bin/python
# Copyright: hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The documentation of import_result, which is an action plugin."""

from __future__ import annotations

DOCUMENTATION = r"""
module: import_result
short_description: Import the result of an exported script
version_added: 0.1.0
author: The hpc.onboard authors (@hpc-onboard)
description:
  - Used by C(import_result.yml). Reads the result file that a script of M(hpc.onboard.export_script) has written on an
    account. Checks that the result comes from this account and from a script that this machine exported, is unchanged,
    and was not imported before. Then uses the result like the result of a run over ssh.
  - Adds the result to this machine's copy of the receipt, to the ledger, and to the report of an audit.
options:
  file:
    description: The path of the result file, copied from the account.
    type: str
    required: true
attributes:
  check_mode:
    description: Reports the result, and stores nothing.
    support: full
  diff_mode:
    description: Shows no differences.
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
  description: The result of each resource; see M(hpc.onboard.converge).
  type: list
  elements: dict
  returned: when the script ran onboard or offboard
audit:
  description: The audit of the account.
  type: dict
  returned: when the script ran audit
"""
