#!/usr/bin/python
# Copyright: hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The documentation of netrc_entry, which the action of converge carries out (meta/runtime.yml)."""

from __future__ import annotations

DOCUMENTATION = r"""
module: netrc_entry
short_description: Keep the key for one machine in a netrc file
version_added: 0.1.0
author: The hpc.onboard authors (@hpc-onboard)
description:
  - Keeps exactly one entry for a machine, in the form that wandb writes. Every other byte of the file stays.
  - Not for enroot, whose file only looks like netrc; see M(hpc.onboard.enroot_credential).
extends_documentation_fragment:
  - hpc.onboard.kept
  - hpc.onboard.replaced
options:
  path:
    description: The file.
    type: str
    default: ~/.netrc
  machine:
    description: The host name.
    type: str
    required: true
  login:
    description: The user there; wandb wants C(user).
    type: str
    default: user
  password:
    description: The key. White space, control characters and a leading C($) are refused.
    type: str
  state:
    description: Whether the entry is there.
    type: str
    default: present
    choices:
    - present
    - absent
"""

EXAMPLES = r"""
- name: Keep my wandb key
  hpc.onboard.netrc_entry:
    machine: api.wandb.ai
    password: "{{ wandb_key }}"
"""

RETURN = r"""
outcome:
  description: What was found, what is wanted, and what came of it; see M(hpc.onboard.converge).
  type: dict
  returned: always
"""
