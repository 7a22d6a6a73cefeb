#!/usr/bin/python
# Copyright: hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The documentation of rotate, which is an action plugin."""

from __future__ import annotations

DOCUMENTATION = r"""
module: rotate
short_description: Run a part of the rotation of a key
version_added: 0.1.0
author: The hpc.onboard authors (@hpc-onboard)
description:
  - Used by C(rotate_ngc.yml) and C(rotate.yml). The coordinator (part V(lead)) reads the records, determines the next
    step, and takes all steps that need no account. Each account takes its part of a step with one command over one
    connection.
  - The new key is read from a prompt, or from the file that C(rotate_key_file) names. If C(rotate_key_file) is C(-),
    the new key is read from standard input.
  - The settings are variables that begin with C(rotate_); docs/rotation.md lists them. An unknown setting is an error.
    Sandboxes are skipped, because their keys are simulated.
options:
  part:
    description: The part to run.
    type: str
    required: true
    choices:
    - lead
    - account
  secret:
    description: The name of the key in the keyring. If empty, the task fails and lists the keys of the accounts.
    type: str
    default: ''
  lead:
    description: The previous result of the coordinator.
    type: dict
    default: {}
  last:
    description: V(true) for the last part of the run, in which unfinished work is a failure.
    type: bool
    default: false
attributes:
  check_mode:
    description: Tests the new key, examines each account once and reports what would be written; nothing is stored.
    support: full
  diff_mode:
    description: Keys appear as fingerprints.
    support: full
  action:
    description: Runs on the controller.
    support: full
requirements:
  - python >= 3.6 on the account
  - keyring and cryptography on the controller
"""

EXAMPLES = r"""
- name: Show the state of the rotation of my NGC key
  hpc.onboard.rotate:
    part: lead
    secret: ngc
  run_once: true
"""

RETURN = r"""
kind:
  description: The type of the result, for the console - C(rotation_lead) or C(rotation_share).
  type: str
  returned: always
checks:
  description: What the coordinator found and did, each with C(name), C(status), C(text) and C(next).
  type: list
  elements: dict
  returned: when part is lead
then:
  description: The command that continues the rotation; empty if nothing is left to do.
  type: str
  returned: when part is lead
step:
  description: The step for the accounts, with C(name), C(version) and C(targets).
  type: dict
  returned: when part is lead
outcomes:
  description: The result of each file; see M(hpc.onboard.converge).
  type: list
  elements: dict
  returned: when part is account
"""
