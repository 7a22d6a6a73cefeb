#!/usr/bin/python
# Copyright: hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The documentation of rotated_key, which the action of converge carries out (meta/runtime.yml)."""

from __future__ import annotations

DOCUMENTATION = r"""
module: rotated_key
short_description: Replace the key in one file, at all places there that hold one, and try it
version_added: 0.1.0
author: The hpc.onboard authors (@hpc-onboard)
description:
  - Puts the key in at all places of one file that hold a key, reads it back as its reader does, and asks the registry
    whether it takes it from here. A place that holds no key stays without one. Where anything fails, the file has its
    exact old bytes and mode again.
  - What cannot be measured, since the login node has no way out, is no failure; it is said in the outcome's remarks.
extends_documentation_fragment:
  - hpc.onboard.kept
options:
  path:
    description: The file.
    type: str
    required: true
  places:
    description:
      - The places in the file, each a C(kind) (M(hpc.onboard.enroot_credential), M(hpc.onboard.registry_auth),
        M(hpc.onboard.netrc_entry), M(hpc.onboard.token_file), M(hpc.onboard.ngc_config)) and its options.
    type: list
    elements: dict
    required: true
  password:
    description: The key.
    type: str
  registry:
    description:
      - The registry that is asked, with C(address), C(repository), C(realms) (hosts that may see the key) and C(ca)
        (certificates in PEM, where the system's do not do). Empty asks nobody.
    type: dict
    default: {}
  known:
    description:
      - Fingerprints of the keys that may be replaced, as outcomes show them. A file with another key stays as it is.
        Left out, any key is replaced.
    type: list
    elements: str
"""

EXAMPLES = r"""
- name: Replace my NGC key where enroot reads it
  hpc.onboard.rotated_key:
    path: ~/enroot/.credentials
    places:
      - {kind: enroot_credential, machine: nvcr.io}
      - {kind: enroot_credential, machine: authn.nvidia.com}
    password: "{{ ngc_key }}"
"""

RETURN = r"""
outcome:
  description: What was found, what is wanted, and what came of it; see M(hpc.onboard.converge).
  type: dict
  returned: always
"""
