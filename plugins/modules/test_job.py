#!/usr/bin/python
# Copyright: hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The documentation of test_job, which is an action plugin."""

from __future__ import annotations

DOCUMENTATION = r"""
module: test_job
short_description: Try on a compute node what an account was set up for
version_added: 0.1.0
author: The hpc.onboard authors (@hpc-onboard)
description:
  - Made for C(test_job.yml). Submits one small Slurm job with minimal resources. The job reports whether it sees home
    and storage areas, can write there, finds the key file (not its content), loads the environment, reaches the
    registry or the proxy, and starts the container.
  - C(-e test_job_gpu=true) requests a GPU as well. C(-e test_job_wait=SECONDS) is how long the run waits for the job
    (300 by default). The next run looks at a job that is still pending, and submits no second one.
  - C(-e test_job_output=FILE) writes the results as JSON; the schema is C(docs/schemas/test-job.schema.json).
  - Once it is done, the job's files are gone. C(offboard.yml) cancels one that waits.
options:
  part:
    description: Whether to check the settings of the run, to try it on one account, or to report on all of them.
    type: str
    default: account
    choices:
    - settings
    - account
    - report
attributes:
  check_mode:
    description: Asks Slurm whether it would take the job (C(sbatch --test-only)).
    support: full
  diff_mode:
    description: There is no difference to show.
    support: none
  action:
    description: Runs on the controller.
    support: full
requirements:
  - python >= 3.6 on the account
"""

EXAMPLES = r"""
- name: Let a small job try it
  hpc.onboard.test_job:
  register: tried
  ignore_errors: true
  ignore_unreachable: true

- name: Say what was found
  hpc.onboard.test_job:
    part: report
  run_once: true
"""

RETURN = r"""
outcomes:
  description: One for each thing that was tried; see M(hpc.onboard.converge).
  type: list
  elements: dict
  returned: by an account
tried:
  description: State, checks and what was not tried, as the schema has them.
  type: dict
  returned: by an account
accounts:
  description: The same of all accounts, with their names.
  type: list
  elements: dict
  returned: by the report
"""
