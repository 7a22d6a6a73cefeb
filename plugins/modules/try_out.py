#!/usr/bin/python
# Copyright: hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The documentation of try_out, which is an action plugin."""

from __future__ import annotations

DOCUMENTATION = r"""
module: try_out
short_description: Try on a compute node what an account was set up for
version_added: 0.1.0
author: The hpc.onboard authors (@hpc-onboard)
description:
  - Made for C(try.yml). Submits one small Slurm job, which asks for the least, and says whether it sees home and areas,
    can write there, finds the key's file (not what it holds), loads the environment, reaches the registry or the proxy,
    and starts the container.
  - C(-e try_gpu=true) asks for a GPU as well. C(-e try_wait=SECONDS) says how long the job is waited for, 300 seconds
    else. One that still waits then is looked at by the next run, and not submitted again.
  - C(-e try_output=FILE) writes what was found as JSON; its schema is C(docs/schemas/try.schema.json).
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
  hpc.onboard.try_out:
  register: tried
  ignore_errors: true
  ignore_unreachable: true

- name: Say what was found
  hpc.onboard.try_out:
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
