#!/usr/bin/python
# Copyright: hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The documentation of connect, which is an action plugin."""

from __future__ import annotations

DOCUMENTATION = r"""
module: connect
short_description: Open the session by which an account is entered, at the terminal
version_added: 0.1.0
author: The hpc.onboard authors (@hpc-onboard)
description:
  - Made for C(connect.yml), and for the playbooks that do work. Where a person is asked for something at every
    connection (a code, a password, the passphrase of a key), ssh itself asks them, once and unseen, also for a jump
    host; the session stays open for this run and for later ones.
  - The session goes when nobody has used it for four hours, or for as many as the cluster's profile names.
  - Where a certificate or a Kerberos ticket has ended, or ends within minutes, the program that the profile names is
    offered and run at the terminal if the person agrees, before anything else. Its arguments are this collection's.
  - Without a terminal nothing is tried where somebody would be asked. The account is not entered then, and the
    command that opens a session is said.
  - Where the host key of a login node is not known yet, ssh asks for it here, too. It is compared with the fingerprints
    that the cluster's profile holds; one that the site does not publish ends the attempt. Nothing is trusted by itself.
  - Any other account is entered once, in a connection in which nobody is asked; if a question is in its way, at
    whatever host, it is asked at the terminal. An account whose session is open is left alone.
options:
  ahead:
    description: Whether work follows, which tells itself of an account that is not reached.
    type: bool
    default: false
attributes:
  check_mode:
    description: The session is opened in a check run, too, since it is the way to look.
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
    unasked: a practice account. entered: the account was entered, and asked nothing. each_time: it was entered; it asks
    in each run, for no session may stay. open: a session was open. opened: now it is. renewed: a new certificate or
    ticket is there. closed: nobody was there to be asked, and nothing was tried. ended: the certificate or ticket has
    ended, and nothing was tried. refused: there was no way in.
  returned: always
  type: str
  sample: opened
msg:
  description: What is to be done, or what ssh said.
  returned: when the session is not open
  type: str
"""
