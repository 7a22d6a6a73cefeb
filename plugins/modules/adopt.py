#!/usr/bin/python
# Copyright: hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The documentation of adopt, which is an action plugin."""

from __future__ import annotations

DOCUMENTATION = r"""
module: adopt
short_description: Use what already exists on an account
version_added: 0.1.0
author: The hpc.onboard authors (@hpc-onboard)
description:
  - Used by C(adopt.yml). Examines an account with one command over one connection, and lists the resources that the
    user has already set up. Each resource is equal to the desired state, equivalent to it, or different.
  - Asks what to use from now on, and adds the answers to the accounts file. The module changes nothing on the account.
options:
  part:
    description: Check the settings, examine one account, ask about the differences, or write the accounts file.
    type: str
    required: true
    choices:
    - settings
    - account
    - ask
    - write
attributes:
  check_mode:
    description: Asks no questions and writes nothing.
    support: full
  diff_mode:
    description: The change to the accounts file is always shown.
    support: none
  action:
    description: Runs on the controller.
    support: full
requirements:
  - python >= 3.6 on the account
"""

EXAMPLES = r"""
- name: Examine the account
  hpc.onboard.adopt:
    part: account
  register: hpc_onboard_existing

- name: Ask about the differences
  hpc.onboard.adopt:
    part: ask
  run_once: true
  register: hpc_onboard_chosen

- name: Write the accounts file
  hpc.onboard.adopt:
    part: write
  run_once: true
"""

RETURN = r"""
kind:
  description: The type of the result, for the console.
  type: str
  returned: always
things:
  description: >-
    The resources that the user has already set up. Each has the fields C(relation), C(thing), C(use), C(keep),
    C(replace) and C(lost).
  type: list
  elements: dict
  returned: when part is account
unclear:
  description: Sentences about the resources that were skipped because their state is unknown.
  type: list
  elements: str
  returned: when part is account
file:
  description: The path of the accounts file.
  type: str
  returned: when part is ask or write
after:
  description: The changed text of the accounts file.
  type: str
  returned: when part is ask
left:
  description: The number of differences that were skipped because no terminal was available for questions.
  type: int
  returned: when part is ask
next:
  description: The command to run next.
  type: list
  elements: str
  returned: when part is write
"""
