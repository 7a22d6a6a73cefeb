#!/usr/bin/python
# Copyright: hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The documentation of fix, which is an action plugin."""

from __future__ import annotations

DOCUMENTATION = r"""
module: fix
short_description: Fix what the last audit found on an account
version_added: 0.1.0
author: The hpc.onboard authors (@hpc-onboard)
description:
  - Made for C(fix.yml). Takes those findings of the last M(hpc.onboard.audit) from this machine that can be fixed
    without a loss, shows them and asks; then fixes each account and looks at it again, in one command over one
    connection.
  - A thing is looked for by the fingerprint of what was found. What was changed meanwhile, or hangs together with
    other things, is left as it is.
  - What a role keeps is put right by M(hpc.onboard.converge), not here.
options:
  part:
    description: Whether to show what is offered, to ask, to fix one account, or to report what is there now.
    type: str
    required: true
    choices:
    - show
    - ask
    - account
    - report
  capabilities:
    description: Names of roles whose things are looked at afterwards. All of them unless given.
    type: list
    elements: str
  resources:
    description: Further things that were declared, see M(hpc.onboard.converge).
    type: list
    elements: dict
    default: []
  seconds:
    description: How long one thing may take before it counts as not measured.
    type: int
    default: 30
attributes:
  check_mode:
    description: Nobody is asked, and what would be fixed is foreseen on the account.
    support: full
  diff_mode:
    description: It tells what it fixes.
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

- name: Ask, unless fix_sure says so
  hpc.onboard.fix:
    part: ask
  run_once: true

- name: Fix the account, and look at it again
  hpc.onboard.fix:
    part: account
  register: audited
  ignore_errors: true
  ignore_unreachable: true

- name: Say what is left
  hpc.onboard.fix:
    part: report
  run_once: true
"""

RETURN = r"""
kind:
  description: What the result is of, by which the console shows it.
  type: str
  returned: always
offered:
  description: The findings that can be fixed.
  type: list
  elements: dict
  returned: by show
outcomes:
  description: What came of each fix.
  type: list
  elements: dict
  returned: by an account
audit:
  description: What the account comes to afterwards.
  type: dict
  returned: by an account
report:
  description: The report; its schema is docs/schemas/audit.schema.json.
  type: dict
  returned: by the report
"""
