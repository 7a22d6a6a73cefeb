#!/usr/bin/python
# Copyright: hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The documentation of fix, which is an action plugin."""

from __future__ import annotations

DOCUMENTATION = r"""
module: fix
short_description: Fix the findings of the last audit of an account
version_added: 0.1.0
author: The hpc.onboard authors (@hpc-onboard)
description:
  - Used by C(fix.yml). Shows the findings of the last M(hpc.onboard.audit) from this machine that can be fixed without
    losing data, and asks you to agree. Then fixes each account and audits it again, with one command over one
    connection.
  - Identifies the object of a finding by its fingerprint. An object that has changed since the audit, or that is used
    elsewhere, is not changed.
  - Resources of roles are fixed by M(hpc.onboard.converge), not by this module.
options:
  part:
    description: Show the offered fixes, ask, fix one account, or report the result.
    type: str
    required: true
    choices:
    - show
    - ask
    - account
    - report
  capabilities:
    description: Names of roles whose resources are examined afterwards. The default is all roles.
    type: list
    elements: str
  resources:
    description: Further declared resources; see M(hpc.onboard.converge).
    type: list
    elements: dict
    default: []
  seconds:
    description: The time limit for one resource, in seconds. After that time, the result is unknown.
    type: int
    default: 30
attributes:
  check_mode:
    description: Asks no questions, and reports what would be fixed on the account.
    support: full
  diff_mode:
    description: The result lists each fix instead.
    support: none
  action:
    description: Runs on the controller.
    support: full
requirements:
  - python >= 3.6 on the account
"""

EXAMPLES = r"""
- name: Show what can be fixed
  hpc.onboard.fix:
    part: show
  run_once: true

- name: Ask, unless fix_sure is true
  hpc.onboard.fix:
    part: ask
  run_once: true

- name: Fix the account, and audit it again
  hpc.onboard.fix:
    part: account
  register: audited
  ignore_errors: true
  ignore_unreachable: true

- name: Report what is left
  hpc.onboard.fix:
    part: report
  run_once: true
"""

RETURN = r"""
kind:
  description: The type of the result, for the console.
  type: str
  returned: always
offered:
  description: The findings that can be fixed.
  type: list
  elements: dict
  returned: when part is show
outcomes:
  description: The result of each fix.
  type: list
  elements: dict
  returned: when part is account
audit:
  description: The result of the audit after the fixes.
  type: dict
  returned: when part is account
report:
  description: The report; its schema is docs/schemas/audit.schema.json.
  type: dict
  returned: when part is report
"""
