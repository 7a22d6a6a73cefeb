#!/usr/bin/python
# Copyright: hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The documentation of registry_auth, which the action of converge carries out (meta/runtime.yml)."""

from __future__ import annotations

DOCUMENTATION = r"""
module: registry_auth
short_description: Keep the login for one registry in the file that Apptainer and Docker read
version_added: 0.1.0
author: The hpc.onboard authors (@hpc-onboard)
description:
  - Keeps the entry of a registry below C(auths) in Docker's JSON file. Every other byte of the file stays.
  - Apptainer reads its own file when it is there, and Docker's only when it is not; what is hidden thereby is said.
  - Where a credential helper would answer in the file's place, nothing is written.
extends_documentation_fragment:
  - hpc.onboard.kept
  - hpc.onboard.replaced
options:
  path:
    description: The file. Docker reads C(~/.docker/config.json).
    type: str
    default: ~/.apptainer/docker-config.json
  registry:
    description: The registry as its readers look it up, C(nvcr.io) say, or C(https://index.docker.io/v1/).
    type: str
    required: true
  login:
    description: The user at the registry. C($oauthtoken) is meant literally; it is the user of every NGC key.
    type: str
    default: $oauthtoken
  password:
    description: The key. White space, control characters and a leading C($) are refused.
    type: str
  state:
    description: Whether the login is there.
    type: str
    default: present
    choices:
    - present
    - absent
"""

EXAMPLES = r"""
- name: Keep my NGC key where Apptainer reads it
  hpc.onboard.registry_auth:
    registry: nvcr.io
    password: "{{ ngc_key }}"
"""

RETURN = r"""
outcome:
  description: What was found, what is wanted, and what came of it; see M(hpc.onboard.converge).
  type: dict
  returned: always
"""
