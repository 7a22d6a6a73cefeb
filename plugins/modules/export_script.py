#!/usr/bin/python
# Copyright: hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The documentation of export_script, which is an action plugin."""

from __future__ import annotations

DOCUMENTATION = r"""
module: export_script
short_description: Write a script that sets up an account that forbids automated logins
version_added: 0.1.0
author: The hpc.onboard authors (@hpc-onboard)
description:
  - Used by C(export_script.yml). Writes one script for Python 3.6 or newer, which the owner of the account runs on the
    login node. The script does what onboarding, an audit and offboarding do over ssh.
  - The script contains no key and no fingerprint of a key. It prompts for keys at a terminal, and hides your input.
  - The script writes its result to the home directory of the account. M(hpc.onboard.import_result) imports it.
options:
  output:
    description: The path of the script. If the path already exists and is not an exported script, the task fails.
    type: str
    default: ""
attributes:
  check_mode:
    description: Writes the script in check mode, too.
    support: none
  diff_mode:
    description: Shows no differences.
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
  description: The path of the script.
  type: str
  returned: success
questions:
  description: The keys that the script asks for.
  type: list
  elements: str
  returned: success
"""
