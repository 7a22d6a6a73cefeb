#!/usr/bin/python
# Copyright: hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The documentation of preflight, which is an action plugin."""

from __future__ import annotations

DOCUMENTATION = r"""
module: preflight
short_description: Say whether accounts can be entered now, without a person
version_added: 0.1.0
author: The hpc.onboard authors (@hpc-onboard)
description:
  - Made for C(preflight.yml). Tells apart an account that is open, one whose ticket or certificate has ended, one
    where only a person can open a session, a refused key, a host key that is unknown or has changed, a name that is
    not found, a network or VPN that is missing, a login node that turns connections away, and an account that answers
    but whose Python, home or quota is not as work needs it.
  - Of each account one connection is opened at most, with one attempt. Where what this machine knows says that nobody
    would be let in, none is. Nothing is changed, and nobody is asked anything.
  - C(-e preflight_output=FILE) writes the report as JSON; its schema is C(docs/schemas/preflight.schema.json).
options:
  part:
    description: Whether to check the settings of the run, to look at one account, or to report on all of them.
    type: str
    required: true
    choices:
    - settings
    - account
    - report
attributes:
  check_mode:
    description: It only looks.
    support: full
  diff_mode:
    description: It only looks.
    support: none
  action:
    description: Runs on the controller.
    support: full
requirements:
  - python >= 3.6 on the account
"""

EXAMPLES = r"""
- name: Look whether the account can be entered
  hpc.onboard.preflight:
    part: account
  register: looked
  ignore_errors: true
  ignore_unreachable: true

- name: Say what was found
  hpc.onboard.preflight:
    part: report
  run_once: true
"""

RETURN = r"""
state:
  description: The result of the login.
  type: str
  returned: by an account
  sample: open
text:
  description: What was seen.
  type: str
  returned: by an account
next:
  description: What to do about it.
  type: str
  returned: by an account
accounts:
  description: Name, state, text and next of each account.
  type: list
  elements: dict
  returned: by the report
"""
