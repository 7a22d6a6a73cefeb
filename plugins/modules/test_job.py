#!/usr/bin/python
# Copyright: hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The documentation of test_job, which is an action plugin."""

from __future__ import annotations

DOCUMENTATION = r"""
module: test_job
short_description: Test the setup of an account in a job on a compute node
version_added: 0.1.0
author: The hpc.onboard authors (@hpc-onboard)
description:
  - Used by C(test_job.yml). Submits one small Slurm job with minimal resources. The job tests that it can read and
    write the home directory and the storage areas, find the key file (not its content), load the environment, connect
    to the registry or the proxy, and start the container.
  - C(-e test_job_gpu=true) requests a GPU as well. C(-e test_job_wait=SECONDS) sets how long the run waits for the job
    (300 seconds by default). If a job is still pending, the next run checks this job and submits no second job.
  - C(-e test_job_output=FILE) writes the results as JSON; the schema is C(docs/schemas/test-job.schema.json).
  - The job's files are removed when the job has ended. C(offboard.yml) cancels a pending job.
options:
  part:
    description: Check the settings of the run, test one account, or report on all accounts.
    type: str
    default: account
    choices:
    - settings
    - account
    - report
attributes:
  check_mode:
    description: Lets Slurm check the job without submitting it (C(sbatch --test-only)).
    support: full
  diff_mode:
    description: Shows no differences.
    support: none
  action:
    description: Runs on the controller.
    support: full
requirements:
  - python >= 3.6 on the account
"""

EXAMPLES = r"""
- name: Run the test job
  hpc.onboard.test_job:
  register: tried
  ignore_errors: true
  ignore_unreachable: true

- name: Report the results
  hpc.onboard.test_job:
    part: report
  run_once: true
"""

RETURN = r"""
outcomes:
  description: The result of each resource; see M(hpc.onboard.converge).
  type: list
  elements: dict
  returned: when part is account
tried:
  description: The state, the checks and the skipped checks, as in docs/schemas/test-job.schema.json.
  type: dict
  returned: when part is account
accounts:
  description: The name of each account, with its state, checks and skipped checks.
  type: list
  elements: dict
  returned: when part is report
"""
