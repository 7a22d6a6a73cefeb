#!/usr/bin/python
# Copyright: hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The documentation of path_script, which the action of converge carries out (meta/runtime.yml)."""

from __future__ import annotations

DOCUMENTATION = r"""
module: path_script
short_description: Keep a script of yours on the account
version_added: 0.1.0
author: The hpc.onboard authors (@hpc-onboard)
description:
  - Writes an executable file that carries a stamp of ours.
  - A file without it, or one that was changed by hand since, is never touched, and the task fails.
extends_documentation_fragment:
  - hpc.onboard.kept
options:
  path:
    description: The file.
    type: str
    required: true
  content:
    description: The whole text; it begins with C(#!) and ends its last line.
    type: str
  asks:
    description: What is asked about it in each run; the answer is among the remarks. Nothing is submitted.
    type: str
    default: ''
    choices:
    - ''
    - sbatch --test-only
  found:
    description:
      - What stands in the text as C(@NAME@) and is found on the account by M(hpc.onboard.scheduler).
      - There is C(slurm_account).
    type: list
    elements: str
    default: []
  state:
    description: Whether the file is there.
    type: str
    default: present
    choices:
    - present
    - absent
"""

EXAMPLES = r"""
- name: Keep a launcher in ~/bin
  hpc.onboard.path_script:
    path: ~/bin/hello.sh
    content: |
      #!/bin/sh
      echo hello
"""

RETURN = r"""
outcome:
  description: What was found, what is wanted, and what came of it; see M(hpc.onboard.converge).
  type: dict
  returned: always
"""
