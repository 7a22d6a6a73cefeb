#!/usr/bin/python
# Copyright: hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The documentation of key_leftovers, which the action of converge carries out (meta/runtime.yml)."""

from __future__ import annotations

DOCUMENTATION = r"""
module: key_leftovers
short_description: Take out what a replaced key left behind, and say where else it stands
version_added: 0.1.0
author: The hpc.onboard authors (@hpc-onboard)
description:
  - Looks through the home for a key that was replaced, known by its fingerprint alone - in start-up files, histories,
    scripts and copies of files of keys.
  - Removes what is ours or made anew by its program, which are drafts that a killed run of hpc.onboard left beside
    the files in O(own), and the tokens that enroot keeps of its pulls. All else stays, and is named in the outcome's
    remarks with its line.
extends_documentation_fragment:
  - hpc.onboard.kept
options:
  known:
    description: Which key each fingerprint stands for, in words, such as C("key 0123456789ab") and C(the old key).
    type: dict
    required: true
  own:
    description: The files in which the key rightly was.
    type: list
    elements: str
    default: []
  caches:
    description: Folders in which enroot may keep its tokens, such as that of E(ENROOT_CACHE_PATH).
    type: list
    elements: str
    default: []
"""

EXAMPLES = r"""
- name: See where the old key still stands
  hpc.onboard.key_leftovers:
    known: {"key 0123456789ab": the key that was replaced}
    own: [~/enroot/.credentials]
    caches: [~/.cache/enroot]
"""

RETURN = r"""
outcome:
  description: What was found, what is wanted, and what came of it; see M(hpc.onboard.converge).
  type: dict
  returned: always
"""
