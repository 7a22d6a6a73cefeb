#!/usr/bin/python
# Copyright: hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The documentation of emptied_cache, which the action of converge carries out (meta/runtime.yml)."""

from __future__ import annotations

DOCUMENTATION = r"""
module: emptied_cache
short_description: Empty the cache of a container tool
version_added: 0.1.0
author: The hpc.onboard authors (@hpc-onboard)
description:
  - Removes from a cache of enroot or Apptainer what these can fetch again, which are the layers of images that enroot
    keeps under their digests, and the folders that C(apptainer cache clean) empties. All else in the folder stays.
  - How much there was is said, in a check run too. What is being pulled meanwhile has to be pulled again.
extends_documentation_fragment:
  - hpc.onboard.kept
options:
  path:
    description: The cache. It is what E(ENROOT_CACHE_PATH) names, or C(cache) in what E(APPTAINER_CACHEDIR) names.
    type: str
    required: true
  runtime:
    description: Whose cache it is.
    type: str
    required: true
    choices:
    - enroot
    - apptainer
  state:
    description: With C(absent) nothing is asked of it, and nothing is done.
    type: str
    default: present
    choices:
    - present
    - absent
"""

EXAMPLES = r"""
- name: Empty the cache of Apptainer
  hpc.onboard.emptied_cache:
    path: $SCRATCH/apptainer/cache
    runtime: apptainer
"""

RETURN = r"""
outcome:
  description: What was found, what is wanted, and what came of it; see M(hpc.onboard.converge).
  type: dict
  returned: always
"""
