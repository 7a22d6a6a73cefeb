#!/usr/bin/python
# Copyright: hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The documentation of offboard, which is an action plugin."""

from __future__ import annotations

DOCUMENTATION = r"""
module: offboard
short_description: Remove what hpc-onboard created on an account
version_added: 0.1.0
author: The hpc.onboard authors (@hpc-onboard)
description:
  - Removes what M(hpc.onboard.converge) has created on the account, with one command over one connection. Keys are
    removed first.
  - Keeps everything that existed before, according to the account's receipt, and every folder that is not empty. Empty
    folders that were created for a resource are removed with it.
  - Also removes the resources of a role with invalid settings, because the receipt lists them. A note reports this.
options:
  part:
    description:
      - The part of C(offboard.yml) to run. V(settings) checks that you can be asked, if a question is necessary.
        V(show) shows what would be removed from an account. V(ask) asks you to agree to the removal. V(account) removes
        everything that V(show) lists, without a question.
      - In check mode, and with C(offboard_sure), V(settings), V(show) and V(ask) do nothing.
    type: str
    default: account
    choices:
    - settings
    - show
    - ask
    - account
  capabilities:
    description: Names of roles whose resources are removed. The default is all roles.
    type: list
    elements: str
  resources:
    description: Further declared resources; see M(hpc.onboard.converge).
    type: list
    elements: dict
    default: []
  only:
    description: >-
      Remove V(everything), or only what is V(undeclared) - resources that hpc-onboard created and that your settings no
      longer declare.
    type: str
    default: everything
    choices:
    - everything
    - undeclared
  seconds:
    description: The time limit for one resource, in seconds. After that time, the result is unknown.
    type: int
    default: 30
  wait:
    description: How long to wait for work that continues in the background, in seconds.
    type: int
    default: 3600
attributes:
  check_mode:
    description: Reports what would be removed.
    support: full
  diff_mode:
    description: Keys appear as fingerprints.
    support: full
  action:
    description: Runs on the controller.
    support: full
requirements:
  - python >= 3.6 on the account
"""

EXAMPLES = r"""
- name: Remove everything that was set up
  hpc.onboard.offboard:

- name: Remove what is no longer declared
  hpc.onboard.offboard:
    only: undeclared
"""

RETURN = r"""
kind:
  description: The type of the result, for the console.
  type: str
  returned: always
outcomes:
  description: The result of each resource; see M(hpc.onboard.converge).
  type: list
  elements: dict
  returned: when part is account
"""
