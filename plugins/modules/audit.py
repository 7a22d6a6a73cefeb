#!/usr/bin/python
# Copyright: hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The documentation of audit, which is an action plugin."""

from __future__ import annotations

DOCUMENTATION = r"""
module: audit
short_description: Say what has drifted on an account
version_added: 0.1.0
author: The hpc.onboard authors (@hpc-onboard)
description:
  - Made for C(audit.yml). Looks at each account in one command over one connection, and changes nothing there.
  - What M(hpc.onboard.converge) would keep is compared, and what else is worth knowing of an account is looked at.
  - Then all accounts together make a report. It fails when a finding is as severe as C(audit_fail_on), V(high) unless
    given, or when an account could not be measured, unless C(audit_incomplete) is V(ignore).
  - Nobody is asked anything. ssh fails where it would ask.
options:
  part:
    description: >-
      Whether to check the run's own settings, to look at one account, or to make the report of all that were looked at.
    type: str
    required: true
    choices:
    - settings
    - account
    - report
  capabilities:
    description: Names of roles whose things are compared. All of them unless given.
    type: list
    elements: str
  resources:
    description: Further things that were declared, see M(hpc.onboard.converge).
    type: list
    elements: dict
    default: []
  seconds:
    description: How long one look may take before it counts as not measured.
    type: int
    default: 30
attributes:
  check_mode:
    description: It never changes anything.
    support: full
  diff_mode:
    description: It never changes anything.
    support: none
  action:
    description: Runs on the controller.
    support: full
requirements:
  - python >= 3.6 on the account
  - keyring and cryptography on the controller
"""

EXAMPLES = r"""
- name: See what is asked for
  hpc.onboard.audit:
    part: settings
  run_once: true

- name: Look at the account
  hpc.onboard.audit:
    part: account
  register: audited
  ignore_errors: true
  ignore_unreachable: true

- name: Say what was found
  hpc.onboard.audit:
    part: report
  run_once: true
"""

RETURN = r"""
kind:
  description:
    - What the result is of, by which the console shows it - C(audit_settings), C(audit_account) or C(audit_report).
  type: str
  returned: always
audit:
  description: What the account came to.
  type: dict
  returned: by an account
report:
  description: The report; its schema is docs/schemas/audit.schema.json.
  type: dict
  returned: by the report
"""
