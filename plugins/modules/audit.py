#!/usr/bin/python
# Copyright: hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The documentation of audit, which is an action plugin."""

from __future__ import annotations

DOCUMENTATION = r"""
module: audit
short_description: Report drift of an account
version_added: 0.1.0
author: The hpc.onboard authors (@hpc-onboard)
description:
  - Used by C(audit.yml). Examines each account with one command over one connection, and changes nothing on the
    account.
  - Compares the account with its desired state (see M(hpc.onboard.converge)), and runs the audit checks.
  - Then writes one report on all accounts. The report task fails if a finding has at least the severity
    C(audit_fail_on) (default V(high)), or if an account could not be examined, unless C(audit_incomplete) is V(ignore).
  - Asks no questions. If ssh would prompt, the connection fails.
options:
  part:
    description: >-
      Check the settings of the run, examine one account, or write the report on all examined accounts.
    type: str
    required: true
    choices:
    - settings
    - account
    - report
  capabilities:
    description: Names of roles whose resources are compared. The default is all roles.
    type: list
    elements: str
  resources:
    description: Further declared resources; see M(hpc.onboard.converge).
    type: list
    elements: dict
    default: []
  seconds:
    description: The time limit for one check, in seconds. After that time, the result is unknown.
    type: int
    default: 30
attributes:
  check_mode:
    description: Changes nothing in any mode.
    support: full
  diff_mode:
    description: Changes nothing in any mode.
    support: none
  action:
    description: Runs on the controller.
    support: full
requirements:
  - python >= 3.6 on the account
  - keyring and cryptography on the controller
"""

EXAMPLES = r"""
- name: Check the settings
  hpc.onboard.audit:
    part: settings
  run_once: true

- name: Examine the account
  hpc.onboard.audit:
    part: account
  register: audited
  ignore_errors: true
  ignore_unreachable: true

- name: Report the findings
  hpc.onboard.audit:
    part: report
  run_once: true
"""

RETURN = r"""
kind:
  description:
    - The type of the result, for the console - C(audit_settings), C(audit_account) or C(audit_report).
  type: str
  returned: always
audit:
  description: The result of the account.
  type: dict
  returned: when part is account
report:
  description: The report; its schema is docs/schemas/audit.schema.json.
  type: dict
  returned: when part is report
"""
