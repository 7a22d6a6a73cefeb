#!/usr/bin/python
# Copyright: hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The documentation of converge, which is an action plugin."""

from __future__ import annotations

DOCUMENTATION = r"""
module: converge
short_description: Bring an account to what the roles declare, in one command over one connection
version_added: 0.1.0
author: The hpc.onboard authors (@hpc-onboard)
description:
  - Takes what the named capabilities declare, and resources given directly, to the account as one plan.
  - The plan and the program that carries it out go in on standard input and one answer comes back. Nothing is
    copied, no remote temporary directory is made, and nothing is left behind but what was asked for.
  - Every resource is examined, changed where it differs, and examined again. One that fails, or a file system that
    hangs, costs its own resources and what depends on them, never the rest.
  - Nothing of the user's is overwritten. Another kind of thing in the way is reported as C(blocked).
options:
  capabilities:
    description:
      - Names of this collection's roles. What follows from their settings is kept, each role's defaults among them.
      - In a task that is tagged C(always), C(--tags) and C(--skip-tags) choose among them by name.
    type: list
    elements: str
    default: []
  resources:
    description:
      - Resources given directly, each a dictionary of C(kind) and the options of the module of that name.
      - In place of C(password), C(secret) names a key in the keyring.
    type: list
    elements: dict
    default: []
  seconds:
    description: How long one resource may take before its file system counts as hung, in seconds.
    type: int
    default: 30
  wait:
    description:
      - How long to wait for work that takes minutes and goes on by itself on the account, in seconds. What is not done
        by then goes on; the next run waits for it.
    type: int
    default: 3600
attributes:
  check_mode:
    description: Foresees exactly what a run would do.
    support: full
  diff_mode:
    description: Shows the state before and after; keys appear as fingerprints.
    support: full
  action:
    description: Runs on the controller and sends one command.
    support: full
requirements:
  - python >= 3.6 on the account
  - keyring on the controller, where a secret is named
  - cryptography >= 44 on the controller, where keys lie in the encrypted file
"""

EXAMPLES = r"""
- name: Keep what two roles say, in one trip
  hosts: accounts
  gather_facts: false
  vars:
    path_scripts_folder: ~/.local/bin
  tasks:
    - name: Keep the links and the scripts
      hpc.onboard.converge:
        capabilities: [storage_links, path_scripts]

- name: Keep a folder and a key
  hosts: accounts
  gather_facts: false
  tasks:
    - name: Keep both, in one trip
      hpc.onboard.converge:
        resources:
          - {kind: directory, path: /work1/deep_lgt/simone}
          - {kind: enroot_credential, machine: nvcr.io, secret: ngc}
"""

RETURN = r"""
kind:
  description: What the result is of, by which the console shows it - C(account).
  type: str
  returned: always
outcomes:
  description: One for each resource, in the order declared.
  type: list
  elements: dict
  returned: always
  contains:
    identity: {description: What the resource is called., type: str}
    capability: {description: The role that declared it., type: str}
    status:
      description:
        - What was found (C(ok), C(missing), C(different), C(extra)), or why nothing came of it (C(blocked),
          C(failed), C(unknown)).
      type: str
    fields: {description: The fields of the state that differed., type: list, elements: str}
    before: {description: The state found. Empty is absent; keys are fingerprints., type: dict}
    after: {description: The state wanted., type: dict}
    reason: {description: "Why it is blocked or failed or was not measured, and what to do.", type: str}
    seconds: {description: How long it took., type: float}
    remarks: {description: What you should know though nothing differs., type: list, elements: str}
    evidence: {description: "What was seen beside the state and is acted on, as answer.schema.json has it.", type: dict}
    was: {description: "Former modes of files and folders of yours that became private.", type: dict}
    missing_secret: {description: "The name of the key that it waits for, where the keyring has none.", type: str}
    left: {description: "How far work is that goes on by itself, where it was not waited for any longer.", type: dict}
    progress:
      description: How far work is that goes on by itself, in a check run. Otherwise it is waited for.
      type: dict
remarks:
  description: What the owner of the account should know though nothing differs, each a C(capability) and a C(text).
  type: list
  elements: dict
  returned: always
notes:
  description: Why a capability declared less than it could, each a C(capability), a C(code), a C(text) and, where
    it is one, the storage C(area).
  type: list
  elements: dict
  returned: always
"""
