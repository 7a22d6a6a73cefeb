#!/usr/bin/python
# Copyright: hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The documentation of own_file, which the action of converge carries out (meta/runtime.yml)."""

from __future__ import annotations

DOCUMENTATION = r"""
module: own_file
short_description: Keep a text file of yours on the account
version_added: 0.1.0
author: The hpc.onboard authors (@hpc-onboard)
description:
  - Writes a text file as it is, noted on the account as a sum.
  - A file that was there before, or was changed by hand since, is never touched, and the task fails.
  - A text that holds a key is refused; keys are kept by C(enroot_credential), C(netrc_entry) and the like.
extends_documentation_fragment:
  - hpc.onboard.kept
options:
  path:
    description: The file.
    type: str
    required: true
  content:
    description: The whole text, of 64 KiB at most.
    type: str
  found:
    description:
      - What stands in the text as C(@NAME@) and is found on the account by M(hpc.onboard.scheduler).
      - There is C(slurm_account).
    type: list
    elements: str
    default: []
  mode:
    description: The mode of the file.
    type: str
    default: '0644'
    choices:
    - '0600'
    - '0640'
    - '0644'
    - '0700'
    - '0750'
    - '0755'
  state:
    description: Whether the file is there.
    type: str
    default: present
    choices:
    - present
    - absent
"""

EXAMPLES = r"""
- name: Let conda ask conda-forge alone
  hpc.onboard.own_file:
    path: ~/.condarc
    content: |
      channels: [conda-forge]
"""

RETURN = r"""
outcome:
  description: What was found, what is wanted, and what came of it; see M(hpc.onboard.converge).
  type: dict
  returned: always
"""
