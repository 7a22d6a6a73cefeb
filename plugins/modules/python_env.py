#!/usr/bin/python
# Copyright: hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The documentation of python_env, which the action of converge carries out (meta/runtime.yml)."""

from __future__ import annotations

DOCUMENTATION = r"""
module: python_env
short_description: Keep a Python environment with a lock
version_added: 0.1.0
author: The hpc.onboard authors (@hpc-onboard)
description:
  - Makes a Python environment from the site's modules and wheels, or from an index, with the list of what was installed
    beside it. One that is to be made from other modules or packages is made anew, beside the old one, and takes its
    place when it is whole; O(path) is a link to it.
  - Where packages come from the site's own wheels, what is missing, and which version there is instead, is said before
    anything is made.
  - The work goes on by itself when the connection drops, and a second one is never started beside it. What we did not
    make, and packages that somebody has installed by hand, are left alone.
extends_documentation_fragment:
  - hpc.onboard.kept
options:
  path:
    description: Where it is found. It may begin with C(~) or with a variable of the site such as C($SCRATCH).
    type: str
    required: true
  root:
    description: The folder that must be there already; the one above O(path) unless given.
    type: str
  modules:
    description: The environment modules to load, in their order.
    type: list
    elements: str
    default: []
  python:
    description: The Python to start, such as V(python3.11).
    type: str
    default: python3
  maker:
    description: What makes it. V(any) is uv where the account has it, else venv.
    type: str
    default: any
    choices:
    - virtualenv
    - venv
    - uv
    - any
  packages:
    description: Packages, as pip takes them, such as V(numpy) or V(torch==2.4.0).
    type: list
    elements: str
    default: []
  offline:
    description: Whether packages come from the wheels of the site, and O(wheels), alone.
    type: bool
    default: false
  wheels:
    description: Folders with wheels, beside those that the site's pip knows.
    type: list
    elements: str
    default: []
  index:
    description: The address of a package index. Empty is PyPI.
    type: str
    default: ''
  search:
    description: The command that shows which wheels the site has. It is printed, never run.
    type: str
    default: ''
  proxies:
    description: Proxies, by C(http), C(https), and C(no) for what needs none.
    type: dict
    default: {}
  in_job:
    description:
      - The variable that names a node's own disk in a job, such as V($SLURM_TMPDIR). With it, C(activate-in-job) is
        written, which makes the environment there from the lock.
    type: str
    default: ''
  state:
    description: Whether it is there. C(absent) removes what we have made, unless its packages were changed by hand.
    type: str
    default: present
    choices:
    - present
    - absent
"""

EXAMPLES = r"""
- name: Keep an environment from the site's wheels
  hpc.onboard.python_env:
    path: ~/envs/ml
    root: "~"
    modules: [StdEnv/2023, python/3.11]
    maker: virtualenv
    packages: [numpy, torch]
    offline: true
    in_job: $SLURM_TMPDIR
"""

RETURN = r"""
outcome:
  description: What was found, what is wanted, and what came of it; see M(hpc.onboard.converge).
  type: dict
  returned: always
"""
