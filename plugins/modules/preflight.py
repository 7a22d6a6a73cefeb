#!/usr/bin/python
# Copyright: hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The documentation of preflight, which is an action plugin."""

from __future__ import annotations

DOCUMENTATION = r"""
module: preflight
short_description: Check that accounts are reachable now, without prompts
version_added: 0.1.0
author: The hpc.onboard authors (@hpc-onboard)
description:
  - Used by C(preflight.yml). Distinguishes a reachable account, an expired ticket or certificate, an
    interactive login without a session, a refused key, an unknown or changed host key, an unknown host name, a
    missing network or VPN, a login node that refuses connections, and a login that works although Python, the home
    directory or the quota do not meet the requirements.
  - Opens at most one connection to each account, with one attempt, and none if the login is certain to fail.
    Changes nothing and asks no questions.
  - C(-e preflight_output=FILE) writes the results as JSON; the schema is C(docs/schemas/preflight.schema.json).
options:
  part:
    description: Check the settings of the run, check one account, or report on all accounts.
    type: str
    required: true
    choices:
    - settings
    - account
    - report
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
"""

EXAMPLES = r"""
- name: Check that the account is reachable
  hpc.onboard.preflight:
    part: account
  register: looked
  ignore_errors: true
  ignore_unreachable: true

- name: Report the results
  hpc.onboard.preflight:
    part: report
  run_once: true
"""

RETURN = r"""
state:
  description: The result of the login.
  type: str
  returned: when part is account
  sample: open
text:
  description: The observation in words.
  type: str
  returned: when part is account
next:
  description: The command or advice for the user.
  type: str
  returned: when part is account
accounts:
  description: The name of each account, with its C(state), C(text) and C(next).
  type: list
  elements: dict
  returned: when part is report
"""
