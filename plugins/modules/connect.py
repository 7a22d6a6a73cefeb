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
  - Used by C(connect.yml), and by the playbooks that change accounts. If a site prompts at every connection (for a
    code, a password, the passphrase of a key), ssh itself prompts you, once and with hidden input, also for a jump
    host. The session stays open for this run and for later runs.
  - A session ends after four hours without use, or after the time in the cluster's profile.
  - If a certificate or a Kerberos ticket has expired, or expires within minutes, the program that the profile names is
    offered first, and run at the terminal if you agree. This collection sets its arguments.
  - Without a terminal, no login is attempted for an account with an interactive login. The command that opens a session
    is printed.
  - If the host key of a login node is unknown, it is compared with the fingerprints in the cluster's profile. A key
    that the site does not publish ends the attempt. No host key is trusted without a check.
  - For any other account, one connection without prompts is attempted. If a host prompts, you are asked at the
    terminal. An account with an open session is skipped.
options:
  ahead:
    description: V(true) if later tasks of this run report an unreachable account.
    type: bool
    default: false
attributes:
  check_mode:
    description: The session is opened in check mode, too, because examining the account needs it.
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
    unasked: a practice account. entered: the login worked without a question. each_time: the login worked; it asks in
    each run, because no session may stay. open: a session was open. opened: a session was opened. renewed: the
    certificate or ticket was renewed. closed: there was no terminal, and nothing was tried. ended: the certificate or
    ticket has expired, and nothing was tried. refused: the login failed.
  returned: always
  type: str
  sample: opened
msg:
  description: What to do, or the message of ssh.
  returned: when the session is not open
  type: str
"""
