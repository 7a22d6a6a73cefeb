#!/usr/bin/python
# Copyright: hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The documentation of ngc_config, which the action of converge carries out (meta/runtime.yml)."""

from __future__ import annotations

DOCUMENTATION = r"""
module: ngc_config
short_description: Keep the key of the ngc program
version_added: 0.1.0
author: The hpc.onboard authors (@hpc-onboard)
description:
  - Keeps the C(apikey) of the section in use in the settings of the ngc program. Every other byte of the file stays.
  - The program keeps its former settings in C(config.BAK); a key that stands there is replaced as well.
extends_documentation_fragment:
  - hpc.onboard.kept
  - hpc.onboard.replaced
options:
  path:
    description: The file.
    type: str
    default: ~/.ngc/config
  password:
    description: The key. White space, control characters and a leading C($) are refused.
    type: str
  state:
    description: Whether the key is there.
    type: str
    default: present
    choices:
    - present
    - absent
"""

EXAMPLES = r"""
- name: Keep my key for the ngc program
  hpc.onboard.ngc_config:
    password: "{{ ngc_key }}"
"""

RETURN = r"""
outcome:
  description: What was found, what is wanted, and what came of it; see M(hpc.onboard.converge).
  type: dict
  returned: always
"""
