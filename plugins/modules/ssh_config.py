#!/usr/bin/python
# Copyright: hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The documentation of ssh_config, which is an action plugin."""

from __future__ import annotations

DOCUMENTATION = r"""
module: ssh_config
short_description: Let ssh know all accounts by a short name
version_added: 0.1.0
author: The hpc.onboard authors (@hpc-onboard)
description:
  - Made for C(ssh_config.yml), and of use in a playbook of your own as one task with C(run_once). Afterwards
    C(ssh wilson) leads to the account on C(wilson), and C(ssh simone-wilson) where there are two accounts.
  - Writes the entries of all accounts of the inventory, whatever C(--limit) says, into C(~/.ssh/hpc.onboard.conf) on
    this machine, and three lines at the end of C(~/.ssh/config) that read it. Nothing else in that file changes, and
    since ssh takes the first value that it finds, what stands there wins.
  - An entry says what runs say to ssh, with what your own settings say of the login host. Sessions are shared with
    runs where the site allows it.
  - A name that your own settings say anything of stays yours. Sandboxes have no entry, and neither have accounts with
    settings of ssh that an entry cannot say; the result says why.
  - It connects to nothing.
options:
  part:
    description:
      - Whether to check the settings of the run, to show what would be written, to ask, or to write it.
      - As a task of its own it writes, and asks nobody.
    type: str
    default: keep
    choices:
    - settings
    - show
    - ask
    - keep
  state:
    description:
      - Whether the entries are to be there. C(absent) takes all of them out, with the lines in C(~/.ssh/config).
      - C(offboarded) takes out those of the accounts that the play still holds; M(hpc.onboard.offboard) runs before.
      - C(-e ssh_config_state=absent) says it for a run; without either it is C(present).
    type: str
    choices:
    - present
    - absent
    - offboarded
attributes:
  check_mode:
    description: Nobody is asked, and the result says what would be written.
    support: full
  diff_mode:
    description: It shows what of both files differs.
    support: full
  action:
    description: Runs on the controller.
    support: full
requirements:
  - OpenSSH 7.3 or newer on the controller
"""

EXAMPLES = r"""
- name: Let ssh know my accounts
  hpc.onboard.ssh_config:
  run_once: true

- name: Take all of it out again
  hpc.onboard.ssh_config:
    state: absent
  run_once: true
"""

RETURN = r"""
names:
  description: Account, name and text of each account; the text says why it has none, or where it leads instead.
  type: list
  elements: dict
  returned: always
  sample:
    - account: simone@wilson
      name: wilson
      text: ""
outcome:
  description: What was found and what is there now, see M(hpc.onboard.converge).
  type: dict
  returned: always
"""
