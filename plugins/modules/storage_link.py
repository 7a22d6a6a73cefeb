#!/usr/bin/python
# Copyright: hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The documentation of storage_link, which the action of converge carries out (meta/runtime.yml)."""

from __future__ import annotations

DOCUMENTATION = r"""
module: storage_link
short_description: Keep a link from the home to a storage area
version_added: 0.1.0
author: The hpc.onboard authors (@hpc-onboard)
description:
  - A link that leads elsewhere is turned. Anything else in its place is never touched, and the task fails.
  - A link whose target is missing is reported as such.
extends_documentation_fragment:
  - hpc.onboard.kept
options:
  path:
    description: The link.
    type: str
    required: true
  target:
    description: The folder that it leads to.
    type: str
    required: true
  state:
    description: Whether the link is there.
    type: str
    default: present
    choices:
    - present
    - absent
"""

EXAMPLES = r"""
- name: Link the project's area into the home
  hpc.onboard.storage_link:
    path: ~/work
    target: /work1/deep_lgt/simone
"""

RETURN = r"""
outcome:
  description: What was found, what is wanted, and what came of it; see M(hpc.onboard.converge).
  type: dict
  returned: always
"""
