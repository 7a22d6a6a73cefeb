#!/usr/bin/python
# Copyright: hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The documentation of enroot_credential, which the action of converge carries out (meta/runtime.yml)."""

from __future__ import annotations

DOCUMENTATION = r"""
module: enroot_credential
short_description: Keep the key for one registry in the file that enroot reads
version_added: 0.1.0
author: The hpc.onboard authors (@hpc-onboard)
description:
  - Keeps exactly one line for a machine and login, at the place where enroot and curl find it first.
  - Other lines stay as they are, byte for byte. The file is readable by its owner alone, and so is its folder.
  - enroot's form is not netrc, see U(https://github.com/NVIDIA/enroot/blob/master/doc/cmd/import.md).
extends_documentation_fragment:
  - hpc.onboard.kept
  - hpc.onboard.replaced
options:
  path:
    description: The file that this site's enroot reads.
    type: str
    default: ~/.config/enroot/.credentials
  machine:
    description: The registry's host name.
    type: str
    required: true
  login:
    description: The user at the registry. C($oauthtoken) is meant literally; it is the user of every NGC key.
    type: str
    default: $oauthtoken
  password:
    description: The key. White space, control characters and a leading C($), which enroot would run as a command,
      are refused.
    type: str
  state:
    description: Whether the line is there.
    type: str
    default: present
    choices:
    - present
    - absent
"""

EXAMPLES = r"""
- name: Keep my NGC key where enroot reads it
  hpc.onboard.enroot_credential:
    path: ~/enroot/.credentials
    machine: nvcr.io
    password: "{{ ngc_key }}"
"""

RETURN = r"""
outcome:
  description: What was found, what is wanted, and what came of it; see M(hpc.onboard.converge).
  type: dict
  returned: always
"""
