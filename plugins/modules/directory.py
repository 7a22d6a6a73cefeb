#!/usr/bin/python
# Copyright: hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The documentation of directory, which the action of converge carries out (meta/runtime.yml)."""

from __future__ import annotations

DOCUMENTATION = r"""
module: directory
short_description: Keep a folder of your account
version_added: 0.1.0
author: The hpc.onboard authors (@hpc-onboard)
description:
  - Makes a folder in the home or in a storage area of the site, and every missing folder between it and O(root).
  - A folder that is there stays as it is. With O(state=absent) it is removed when it is empty, else it stays.
extends_documentation_fragment:
  - hpc.onboard.kept
options:
  path:
    description: The folder. It may begin with C(~) or with a variable of the site such as C($SCRATCH).
    type: str
    required: true
  root:
    description: The folder that must be there already; the one above O(path) unless given.
    type: str
  mode:
    description: The mode of the folder when it is made.
    type: str
    default: '0700'
    choices:
    - '0700'
    - '0750'
    - '0755'
    - '0770'
    - '2770'
  state:
    description: Whether the folder is to be there.
    type: str
    default: present
    choices:
    - present
    - absent
"""

EXAMPLES = r"""
- name: Make my own folder in the project's area
  hpc.onboard.directory:
    path: /work1/deep_lgt/simone
    root: /work1/deep_lgt
"""

RETURN = r"""
outcome:
  description: What was found, what is wanted, and what came of it; see M(hpc.onboard.converge).
  type: dict
  returned: always
"""
