#!/usr/bin/python
# Copyright: hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The documentation of rotate, which is an action plugin."""

from __future__ import annotations

DOCUMENTATION = r"""
module: rotate
short_description: Take a part in the rotation of a key
version_added: 0.1.0
author: The hpc.onboard authors (@hpc-onboard)
description:
  - Made for C(rotate_ngc.yml) and C(rotate.yml). The lead decides from the records what comes next and takes every step
    that needs no account; each account takes its share of a step in one command over one connection.
  - The new key comes by prompt, from the file that C(rotate_key_file) names, or with C(-) from standard input.
  - What a person wants of it comes by variables that begin with C(rotate_), all of which are in docs/rotation.md; one
    that is not known is an error. Sandboxes are not rotated, since their keys are pretended.
options:
  part:
    description: Which part is taken.
    type: str
    required: true
    choices:
    - lead
    - account
  secret:
    description: The name of the key in the keyring; without it, those that the accounts hold are named, as an error.
    type: str
    default: ''
  lead:
    description: The result of the lead before.
    type: dict
    default: {}
  last:
    description: Whether nothing follows in this run, so that what is not done is a failure.
    type: bool
    default: false
attributes:
  check_mode:
    description: Judges the new key, looks at each account once and says what would be written; nothing is kept.
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
- name: See where the rotation of my NGC key stands
  hpc.onboard.rotate:
    part: lead
    secret: ngc
  run_once: true
"""

RETURN = r"""
kind:
  description: What the result is of, by which the console shows it - C(rotation_lead) or C(rotation_share).
  type: str
  returned: always
checks:
  description: What the lead found and did, each a C(name), C(status), C(text) and C(next).
  type: list
  elements: dict
  returned: by the lead
then:
  description: The command that goes on with the rotation; empty where nothing is left to do.
  type: str
  returned: by the lead
step:
  description: What the accounts are to do, its C(name), C(version) and C(targets).
  type: dict
  returned: by the lead
outcomes:
  description: What came of each file; see M(hpc.onboard.converge).
  type: list
  elements: dict
  returned: by an account
"""
