#!/usr/bin/python
# Copyright: hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The documentation of doctor, which is an action plugin."""

from __future__ import annotations

DOCUMENTATION = r"""
module: doctor
short_description: Look whether this machine has what a run needs
version_added: 0.1.0
author: The hpc.onboard authors (@hpc-onboard)
description:
  - Looks at the versions of Python, ansible-core and ssh, the keyring, the ssh agent, the accounts file, and how each
    account would be reached. Connects to nothing and changes nothing.
  - Fails when something is found that would make a run fail.
  - It reads the accounts files among the sources of the inventory itself, and tells their mistakes with file and line.
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
    description: There is nothing to compare.
    support: none
  action:
    description: Runs on the controller alone.
    support: full
"""

EXAMPLES = r"""
- name: Look at this machine
  hosts: localhost
  connection: local
  gather_facts: false
  tasks:
    - name: Look at all that a run needs
      hpc.onboard.doctor:
"""

RETURN = r"""
kind:
  description: What the result is of, by which the console shows it - C(doctor).
  type: str
  returned: always
checks:
  description: One for each thing that was looked at.
  type: list
  elements: dict
  returned: always
  contains:
    name: {description: What was looked at., type: str}
    status: {description: "C(ok), C(warning) or C(failed).", type: str}
    text: {description: What was found., type: str}
    next: {description: What to do about it. Empty for nothing., type: str}
"""
