#!/usr/bin/python
# Copyright: hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The documentation of export_script, which is an action plugin."""

from __future__ import annotations

DOCUMENTATION = r"""
module: export_script
short_description: Write a script that sets up an account where no program may log in
version_added: 0.1.0
author: The hpc.onboard authors (@hpc-onboard)
description:
  - Made for C(export_script.yml). Writes one script for Python 3.6 and newer, which the owner of the account runs on
    the login node. It does what onboarding, an audit and offboarding do over ssh.
  - The script holds no key and no fingerprint of one. It asks for keys without showing them, and only at a terminal.
  - It leaves its result in the home of the account. M(hpc.onboard.import_result) imports it.
options:
  output:
    description: The script. Another file of this name stays, and the task fails.
    type: str
    default: ""
attributes:
  check_mode:
    description: It writes the script in check mode, too.
    support: none
  diff_mode:
    description: It shows none.
    support: none
  action:
    description: Runs on the controller.
    support: full
requirements:
  - python >= 3.6 on the account
"""

EXAMPLES = r"""
- name: Write the script
  hpc.onboard.export_script:
    output: set-up-simone
"""

RETURN = r"""
file:
  description: The script.
  type: str
  returned: success
questions:
  description: The keys that the script asks for.
  type: list
  elements: str
  returned: success
"""
