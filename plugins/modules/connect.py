#!/usr/bin/python
# Copyright: hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The documentation of connect, which is an action plugin."""

from __future__ import annotations

DOCUMENTATION = r"""
module: connect
short_description: Log in at the terminal, and keep the session for later runs
version_added: 0.1.0
author: The hpc.onboard authors (@hpc-onboard)
description:
  - Used by C(connect.yml), and by the playbooks that change accounts. If a site asks for a code, a
    password or the passphrase of a key at every connection, ssh prompts you once and hides your input. The prompts of
    a jump host work in the same way. The session stays open for this run and for later runs.
  - A session ends after four hours without use, or after the time in the cluster's profile.
  - If a certificate or a Kerberos ticket has expired, or expires within minutes, the module first offers to run
    the program that the profile names. If you agree, the program runs at the terminal, with arguments
    that this collection sets.
  - Without a terminal, the module does not try to log in to an account that needs an interactive login. It prints the
    command that opens a session.
  - If the host key of a login node is unknown, the module compares the key with the fingerprints in the cluster's
    profile. If the site does not publish this key, the attempt ends. No host key is trusted without a check.
  - For any other account, the module tries one connection without prompts. If a host prompts, you can answer at the
    terminal. The module skips an account with an open session.
options:
  ahead:
    description: Set this to V(true) if later tasks of the run report an account that cannot be reached.
    type: bool
    default: false
attributes:
  check_mode:
    description: The session is opened in check mode, too, because the account cannot be examined without it.
    support: none
  diff_mode:
    description: Nothing on the account changes.
    support: none
  action:
    description: Runs on the controller.
    support: full
seealso:
  - plugin: hpc.onboard.accounts
    plugin_type: inventory
"""

EXAMPLES = r"""
- name: Open the session
  hpc.onboard.connect:
  throttle: 1  # one question at a time
"""

RETURN = r"""
state:
  description: >-
    unasked: the account is a sandbox, or its connection does not use ssh. entered: the login worked without a
    prompt. each_time: the login worked, but each run prompts again, because the site forbids open sessions. open: a
    session was already open. opened: the module opened a session. renewed: the certificate or ticket was renewed.
    closed: no login was tried, because no terminal was available, or because the site does not allow programs to log
    in. ended: no login was tried, because the certificate or ticket has expired. refused: the login failed.
  returned: always
  type: str
  sample: opened
msg:
  description: What to do, or the message of ssh.
  returned: when the session is not open
  type: str
"""
