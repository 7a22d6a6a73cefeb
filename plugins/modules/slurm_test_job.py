#!/usr/bin/python
# Copyright: hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The documentation of slurm_test_job, which the action of converge carries out (meta/runtime.yml)."""

from __future__ import annotations

DOCUMENTATION = r"""
module: slurm_test_job
short_description: Let a small Slurm job try what an account was set up for
version_added: 0.1.0
author: The hpc.onboard authors (@hpc-onboard)
description:
  - Submits one job, once, whose checks say what works on a compute node. It is looked at by its result file.
  - Made for C(test_job.yml), which says what to try, reads the result and takes job and files out again
    (see M(hpc.onboard.test_job)).
extends_documentation_fragment:
  - hpc.onboard.kept
options:
  folder:
    description: The job's own folder, which nodes can see, in one that nobody else can change.
    type: str
    required: true
  checks:
    description: What is tried, each with C(what) it is called, C(way), C(words) and how many of these are C(paths).
    type: list
    elements: dict
    default: []
  options:
    description: Options of sbatch.
    type: list
    elements: str
    default: []
  minutes:
    description: The time limit.
    type: int
    default: 5
  state:
    description: Whether the job is there; absent cancels it and takes its files out.
    type: str
    default: present
    choices:
    - present
    - absent
"""

EXAMPLES = r"""
- name: See whether a job can write in the home
  hpc.onboard.slurm_test_job:
    folder: ~/.hpc.onboard-test-job
    checks:
      - {what: the home, way: writes, words: ["~"], paths: 1}
"""

RETURN = r"""
outcome:
  description: What was found, what is wanted, and what came of it; see M(hpc.onboard.converge).
  type: dict
  returned: always
"""
