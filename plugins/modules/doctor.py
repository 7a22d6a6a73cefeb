#!/usr/bin/python
# Copyright: hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The documentation of doctor, which is an action plugin."""

from __future__ import annotations

DOCUMENTATION = r"""
module: doctor
short_description: Check that this machine meets the requirements for a run
version_added: 0.1.0
author: The hpc.onboard authors (@hpc-onboard)
description:
  - Checks the versions of Python, ansible-core and ssh, the keyring, the ssh agent, the accounts file, and the ssh
    settings of each account. Connects to no host and changes nothing.
  - Fails if it finds a problem that would make a run fail.
  - Reads the accounts files of the inventory, and reports each mistake with its file and line.
options:
  key:
    description: The key to look for in the keyring. Its value is not shown.
    type: str
    default: ngc
attributes:
  check_mode:
    description: Changes nothing in any mode.
    support: full
  diff_mode:
    description: Changes nothing in any mode.
    support: none
  action:
    description: Runs only on the controller.
    support: full
"""

EXAMPLES = r"""
- name: Check this machine
  hosts: localhost
  connection: local
  gather_facts: false
  tasks:
    - name: Check the requirements for a run
      hpc.onboard.doctor:
"""

RETURN = r"""
kind:
  description: The type of the result, for the console - C(doctor).
  type: str
  returned: always
checks:
  description: The result of each check.
  type: list
  elements: dict
  returned: always
  contains:
    name: {description: The name of the check., type: str}
    status: {description: "C(ok), C(warning) or C(failed).", type: str}
    text: {description: The result in words., type: str}
    next: {description: What to do; may be empty., type: str}
"""
