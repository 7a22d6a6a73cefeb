#!/usr/bin/python
# Copyright: hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The documentation of scheduler, which the action of converge carries out (meta/runtime.yml)."""

from __future__ import annotations

DOCUMENTATION = r"""
module: scheduler
short_description: Ask Slurm what it lets the account do
version_added: 0.1.0
author: The hpc.onboard authors (@hpc-onboard)
description:
  - Asks Slurm's own programs on the login node (C(sacctmgr), C(sinfo), and C(sshare) where the first one does not say
    it) for the account's Slurm accounts, qualities of service, partitions and types of GPUs. Nothing is changed.
  - Each program is asked once, for ten seconds at most. What does not answer is not measured, and no failure.
  - In the shared trip it comes before files whose text holds C(@slurm_account@) and that say so (C(found)).
extends_documentation_fragment:
  - hpc.onboard.kept
options:
  account:
    description: The Slurm account that you have chosen for jobs.
    type: str
    default: ''
  likely:
    description: The one that is taken where you have several, if it is one of yours.
    type: str
    default: ''
  required:
    description: Whether no job starts without one here, so that what names it waits until one is chosen.
    type: str
    default: 'no'
    choices:
    - 'yes'
    - 'no'
"""

EXAMPLES = r"""
- name: See what Slurm offers
  hpc.onboard.scheduler:
  register: asked
"""

RETURN = r"""
outcome:
  description: What was found, in C(evidence.slurm); see M(hpc.onboard.converge).
  type: dict
  returned: always
"""
