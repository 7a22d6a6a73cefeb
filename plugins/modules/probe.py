#!/usr/bin/python
# Copyright: hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The documentation of probe, which is an action plugin."""

from __future__ import annotations

DOCUMENTATION = r"""
module: probe
short_description: Compare a profile with the cluster
version_added: 0.1.0
author: The hpc.onboard authors (@hpc-onboard)
description:
  - Used by C(probe.yml). Examines an account with one command over one connection, and compares the site facts in the
    cluster's profile with the account. It submits no job and changes nothing on the account.
  - Can write an initial profile of a cluster, or correct the facts that differ in your own profile.
options:
  part:
    description: Check the settings, examine one account, or write profiles.
    type: str
    required: true
    choices:
    - settings
    - account
    - write
attributes:
  check_mode:
    description: Writes nothing.
    support: full
  diff_mode:
    description: The facts that were changed are always listed.
    support: none
  action:
    description: Runs on the controller.
    support: full
requirements:
  - python >= 3.6 on the account
"""

EXAMPLES = r"""
- name: Examine the account
  hpc.onboard.probe:
    part: account
  register: hpc_onboard_probed

- name: Write the differences to my profile
  hpc.onboard.probe:
    part: write
  run_once: true
"""

RETURN = r"""
kind:
  description: The type of the result, for the console.
  type: str
  returned: always
facts:
  description: >-
    The facts that were compared. Each has the fields C(fact), C(result), C(says), C(seen), C(by) and, if the actual
    value is certain, C(value).
  type: list
  elements: dict
  returned: when part is account
observed:
  description: Values that were read on the account, by name.
  type: dict
  returned: when part is account
slurm:
  description: What Slurm offers the account.
  type: dict
  returned: when part is account
unclear:
  description: Sentences about the facts that could not be compared.
  type: list
  elements: str
  returned: when part is account
files:
  description: The profiles that were written, each with the facts that changed.
  type: dict
  returned: when part is write
next:
  description: The command to run next.
  type: list
  elements: str
  returned: when part is write
"""
