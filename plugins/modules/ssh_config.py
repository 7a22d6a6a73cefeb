#!/usr/bin/python
# Copyright: hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The documentation of ssh_config, which is an action plugin."""

from __future__ import annotations

DOCUMENTATION = r"""
module: ssh_config
short_description: Set up short names for all accounts in ssh_config
version_added: 0.1.0
author: The hpc.onboard authors (@hpc-onboard)
description:
  - Used by C(ssh_config.yml). In your own playbook, use this module in one task with C(run_once). Afterwards,
    C(ssh wilson) connects to your account on C(wilson). If you have two accounts on C(wilson), each has a name such as
    C(simone-wilson).
  - Writes entries for all accounts of the inventory, regardless of C(--limit), to C(~/.ssh/hpc.onboard.conf) on this
    machine, and three lines at the end of C(~/.ssh/config) that include it. Nothing else in that file changes. ssh uses
    the first value that it finds, so your own settings take precedence.
  - An entry contains the ssh options that hpc-onboard uses, and your own settings for the login host. If the site
    allows it, C(ssh) and hpc-onboard share their sessions.
  - If your own settings already contain a name, no entry uses this name. Sandboxes, and accounts with ssh settings that
    an entry cannot express, have no entry; the result says why.
  - Connects to no host.
options:
  part:
    description:
      - Check the settings of the run, show what would be written, ask, or write it.
      - A task in your own playbook writes without a question.
    type: str
    default: keep
    choices:
    - settings
    - show
    - ask
    - keep
  state:
    description:
      - The desired state of the entries. C(absent) removes all of them, with the lines in C(~/.ssh/config).
      - C(offboarded) removes the entries of the accounts that are still in the play, after M(hpc.onboard.offboard).
      - C(-e ssh_config_state=absent) sets this option for a run. The default is C(present).
    type: str
    choices:
    - present
    - absent
    - offboarded
attributes:
  check_mode:
    description: Asks no questions, and reports what would be written.
    support: full
  diff_mode:
    description: Shows the changes of both files.
    support: full
  action:
    description: Runs on the controller.
    support: full
requirements:
  - OpenSSH 7.3 or newer on the controller
"""

EXAMPLES = r"""
- name: Write the entries of my accounts
  hpc.onboard.ssh_config:
  run_once: true

- name: Remove all entries
  hpc.onboard.ssh_config:
    state: absent
  run_once: true
"""

RETURN = r"""
names:
  description: >-
    Each C(account) with its C(name) and a C(text). The text says why the account has no entry, or to which host the
    name connects.
  type: list
  elements: dict
  returned: always
  sample:
    - account: simone@wilson
      name: wilson
      text: ""
outcome:
  description: The former and the current state; see M(hpc.onboard.converge).
  type: dict
  returned: always
"""
