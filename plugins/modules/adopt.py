#!/usr/bin/python
# Copyright: hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The documentation of adopt, which is an action plugin."""

from __future__ import annotations

DOCUMENTATION = r"""
module: adopt
short_description: Use what an account has already
version_added: 0.1.0
author: The hpc.onboard authors (@hpc-onboard)
description:
  - Made for C(adopt.yml). Looks at an account with one command over one connection, and lists what its user has set up
    before - equal to the desired state, equivalent to it, or different.
  - Asks what to use from now on, and adds the answers to the accounts file. It changes nothing on the account.
options:
  part:
    description: Check the settings, look at one account, ask about what is different, or write the accounts file.
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
    description: The change of the accounts file is always shown.
    support: none
  action:
    description: Runs on the controller.
    support: full
requirements:
  - python >= 3.6 on the account
"""

EXAMPLES = r"""
- name: Look at the account
  hpc.onboard.adopt:
    part: account
  register: hpc_onboard_existing

- name: Ask about what is different
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
  description: What the user has, with relation, thing, use, keep, replace and lost.
  type: list
  elements: dict
  returned: by an account
unclear:
  description: What could not be told safely, and was left.
  type: list
  elements: str
  returned: by an account
file:
  description: The accounts file.
  type: str
  returned: by ask and write
after:
  description: The changed text of the accounts file.
  type: str
  returned: by ask
left:
  description: How many different things were left, since there was no terminal to ask at.
  type: int
  returned: by ask
next:
  description: The command that shows what follows.
  type: list
  elements: str
  returned: by write
"""
