#!/usr/bin/python
# Copyright: hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The documentation of shell_environment, which the action of converge carries out (meta/runtime.yml)."""

from __future__ import annotations

DOCUMENTATION = r"""
module: shell_environment
short_description: Keep environment variables and PATH folders for every shell
version_added: 0.1.0
author: The hpc.onboard authors (@hpc-onboard)
description:
  - Writes C(~/.config/hpc.onboard/env.sh), C(env.csh) and C(env.fish), each with one section per O(section).
  - Puts one line that reads them into the start-up file that the login shell in use really reads, above
    everything that could return early.
extends_documentation_fragment:
  - hpc.onboard.kept
options:
  section:
    description: The name of the section; each has its own variables.
    type: str
    default: environment
  variables:
    description: Variables, name to value. A value that begins with C(~/) or a variable of the site is a path there.
    type: dict
    default: {}
  path:
    description: Folders in front of PATH, the first one foremost.
    type: list
    default: []
    elements: str
  on_demand:
    description:
      - Commands that are defined by a file when they are first used. For each name the files for C(sh), C(csh) and
        C(fish); C({machine}) in a path is the architecture of the machine that the shell runs on.
    type: dict
    default: {}
  state:
    description: Whether the section is there.
    type: str
    default: present
    choices:
    - present
    - absent
"""

EXAMPLES = r"""
- name: Keep the caches of pip off the home
  hpc.onboard.shell_environment:
    section: pip
    variables:
      PIP_CACHE_DIR: $SCRATCH/pip
"""

RETURN = r"""
outcome:
  description: What was found, what is wanted, and what came of it; see M(hpc.onboard.converge).
  type: dict
  returned: always
"""
