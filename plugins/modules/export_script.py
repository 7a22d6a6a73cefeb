#!/usr/bin/python
# Copyright: hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The documentation of export, which is an action plugin."""

from __future__ import annotations

DOCUMENTATION = r"""
module: export
short_description: Write a file that sets up an account where no program may log in
version_added: 0.1.0
author: The hpc.onboard authors (@hpc-onboard)
description:
  - Made for C(export_script.yml). Writes one program for Python 3.6 and newer, which the owner of the account runs on
    the login node. It does what onboarding, an audit and offboarding do over ssh.
  - The program holds no key and no fingerprint of one. It asks for keys there, hidden, and only at a terminal.
  - What came of it is written there as an answer, which M(hpc.onboard.import_result) takes in.
options:
  output:
    description: The file. A file of this name that this module did not write stays as it is.
    type: str
    default: ""
attributes:
  check_mode:
    description: It writes the file in a check run, too.
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
- name: Write the file
  hpc.onboard.export_script:
    output: set-up-simone
"""

RETURN = r"""
file:
  description: The file that was written.
  type: str
  returned: success
asks:
  description: The keys that it asks for.
  type: list
  elements: str
  returned: success
"""
