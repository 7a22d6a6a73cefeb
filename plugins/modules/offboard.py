#!/usr/bin/python
# Copyright: hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The documentation of offboard, which is an action plugin."""

from __future__ import annotations

DOCUMENTATION = r"""
module: offboard
short_description: Take out of an account what was set up there
version_added: 0.1.0
author: The hpc.onboard authors (@hpc-onboard)
description:
  - Takes out what M(hpc.onboard.converge) has made on the account, in one command over one connection. Keys go first.
  - What was there before stays, as the account's receipt tells it, and so does every folder with something in it.
    Empty folders that were made for a thing go with it.
  - A role that refuses its settings needs none here, since the receipt says what was made for it. A note says so.
options:
  part:
    description:
      - Which part of C(offboard.yml) this is - V(settings), whether a person must agree and is there; V(show), what
        would be taken out of an account; V(ask), whether they agree; V(account), take it out, without a question.
      - The first three do nothing in a check run and with C(offboard_sure).
    type: str
    default: account
    choices:
    - settings
    - show
    - ask
    - account
  capabilities:
    description: Names of roles whose things are taken out. All of them unless given.
    type: list
    elements: str
  resources:
    description: Further things that were declared, see M(hpc.onboard.converge).
    type: list
    elements: dict
    default: []
  only:
    description: Whether V(everything) goes, or what is V(undeclared), that is noted as made and not declared any more.
    type: str
    default: everything
    choices:
    - everything
    - undeclared
  seconds:
    description: How long one resource may take before it counts as not measured.
    type: int
    default: 30
  wait:
    description: How long to wait for work that goes on by itself, in seconds.
    type: int
    default: 3600
attributes:
  check_mode:
    description: Says what would be taken out.
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
- name: Take out all that was set up
  hpc.onboard.offboard:

- name: Take out what is not declared any more
  hpc.onboard.offboard:
    only: undeclared
"""

RETURN = r"""
kind:
  description: What the result is of, by which the console shows it.
  type: str
  returned: always
outcomes:
  description: What came of each resource; see M(hpc.onboard.converge).
  type: list
  elements: dict
  returned: by an account
"""
