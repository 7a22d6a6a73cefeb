#!/usr/bin/python
# Copyright: hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The documentation of conda_install, which the action of converge carries out (meta/runtime.yml)."""

from __future__ import annotations

DOCUMENTATION = r"""
module: conda_install
short_description: Keep a conda of your own, with its environments
version_added: 0.1.0
author: The hpc.onboard authors (@hpc-onboard)
description:
  - Installs conda from an installer whose sum is known, writes its settings beside it, and makes environments from
    files. C(conda init) is never run, and no terms of service are accepted for anybody.
  - The work goes on by itself when the connection drops, and a second one is never started beside it. What was half
    made by us is made anew; a prefix that we did not make is left alone.
extends_documentation_fragment:
  - hpc.onboard.kept
options:
  prefix:
    description:
      - The folder to install into. It may begin with C(~) or with a variable of the site such as C($SCRATCH);
        C({machine}) in it is the architecture of the login node.
    type: str
    required: true
  root:
    description: The folder that must be there already; the one above O(prefix) unless given.
    type: str
  distribution:
    description: Which one it is.
    type: str
    required: true
    choices:
    - miniforge
    - miniconda
  version:
    description: The installer's version. A newer one that is there already is left.
    type: str
    required: true
  installers:
    description: The installers by architecture, each an address C(url) and a C(sha256).
    type: dict
    required: true
  glibc:
    description: The oldest glibc that its programs run with.
    type: str
    default: '2.17'
  bytes:
    description: How many bytes an installation takes; with less room it is not begun.
    type: int
    default: 0
  files:
    description: How many files an installation makes; with less room it is not begun.
    type: int
    default: 0
  channels:
    description: The channels that packages come from, the first one foremost.
    type: list
    elements: str
    default:
    - conda-forge
  environments:
    description: Environments, each a C(name) and a C(content), that of an environment.yml or of an explicit lock.
    type: list
    elements: dict
    default: []
  proxies:
    description: Proxies, by C(http), C(https), and C(no) for what needs none.
    type: dict
    default: {}
  state:
    description: Whether it is there. C(absent) removes what we have installed, unless environments of yours are in it.
    type: str
    default: present
    choices:
    - present
    - absent
"""

EXAMPLES = r"""
- name: Keep Miniforge in the data area
  hpc.onboard.conda_install:
    prefix: /data/ada/miniforge3
    distribution: miniforge
    version: 26.1.1-3
    installers:
      x86_64:
        url: https://github.com/conda-forge/miniforge/releases/download/26.1.1-3/Miniforge3-26.1.1-3-Linux-x86_64.sh
        sha256: b25b828b702df4dd2a6d24d4eb56cfa912471dd8e3342cde2c3d86fe3dc2d870
"""

RETURN = r"""
outcome:
  description: What was found, what is wanted, and what came of it; see M(hpc.onboard.converge).
  type: dict
  returned: always
"""
