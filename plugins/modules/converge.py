#!/usr/bin/python
# Copyright: hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The documentation of converge, which is an action plugin."""

from __future__ import annotations

DOCUMENTATION = r"""
module: converge
short_description: Bring an account to its desired state, with one command over one connection
version_added: 0.1.0
author: The hpc.onboard authors (@hpc-onboard)
description:
  - Sends the resources of the named roles, and resources given directly, to the account as one plan.
  - The plan and the program that applies it are sent through standard input, and the account sends back one response.
    No file is copied and no remote temporary directory is created. Only the requested resources, the receipt and the
    program stay on the account. Later runs do not send the program again. With C(-e onboard_keep_engine=false), the
    program is not stored.
  - Examines every resource, changes it if it differs, and examines it again. If a resource fails, or its file system
    hangs, only that resource and the resources that depend on it are affected.
  - Never overwrites the user's own files. A conflict is reported as C(blocked).
options:
  capabilities:
    description:
      - Names of this collection's roles. Each role declares resources from its settings and defaults.
      - In a task that is tagged C(always), C(--tags) and C(--skip-tags) select roles by name.
    type: list
    elements: str
    default: []
  resources:
    description:
      - Resources given directly. Each is a dictionary with C(kind), the name of a module, and the options of that
        module.
      - In place of C(password), C(secret) names a key in the keyring.
    type: list
    elements: dict
    default: []
  seconds:
    description: >-
      The time limit for one resource, in seconds. After that time, the file system of the resource is treated as hung.
    type: int
    default: 30
  wait:
    description:
      - How long to wait for work that continues in the background on the account, in seconds. Work that takes longer
        continues, and the next run waits for it.
    type: int
    default: 3600
attributes:
  check_mode:
    description: Shows exactly what a run would change.
    support: full
  diff_mode:
    description: Shows the state before and after; keys appear as fingerprints.
    support: full
  action:
    description: Runs on the controller and sends one command.
    support: full
requirements:
  - python >= 3.6 on the account
  - keyring on the controller, if a secret is named
  - cryptography >= 44 on the controller, if keys are in the encrypted file
"""

EXAMPLES = r"""
- name: Apply two roles over one connection
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
    - name: Keep both, over one connection
      hpc.onboard.converge:
        resources:
          - {kind: directory, path: /work1/deep_lgt/simone}
          - {kind: enroot_credential, machine: nvcr.io, secret: ngc}
"""

RETURN = r"""
kind:
  description: The type of the result, for the console - C(account).
  type: str
  returned: always
outcomes:
  description: The result for each resource, in the order of declaration.
  type: list
  elements: dict
  returned: always
  contains:
    identity: {description: The name of the resource., type: str}
    capability: {description: The role that declared the resource., type: str}
    status:
      description:
        - The observed state (C(ok), C(missing), C(different), C(extra)), or why nothing was done (C(blocked),
          C(failed), C(unknown)).
      type: str
    fields: {description: The fields of the state that differed., type: list, elements: str}
    before: {description: "The observed state, empty for an absent resource. Keys appear as fingerprints.", type: dict}
    after: {description: The desired state., type: dict}
    reason: {description: "Why the resource is blocked, failed or unknown, and what to do.", type: str}
    seconds: {description: The time that the resource took., type: float}
    remarks: {description: Warnings about a resource that does not differ., type: list, elements: str}
    evidence: {description: "What was observed in addition to the state; see answer.schema.json.", type: dict}
    was: {description: "Former modes of files and folders of yours that became private.", type: dict}
    missing_secret:
      description: The name of the key that the resource needs, if the keyring does not contain this key.
      type: str
    left: {description: "Progress of work that continues in the background after the time limit.", type: dict}
    progress:
      description: Progress of work in the background, in check mode. Without check mode, the run waits for this work.
      type: dict
remarks:
  description: Warnings, each with its role (C(capability)) and C(text).
  type: list
  elements: dict
  returned: always
adoption:
  description: The number of your own C(things) on the account, and the C(command) that shows them.
  type: dict
  returned: in check mode, if a resource would replace or hide something of your own
notes:
  description: >-
    The reasons why roles skipped resources. Each has the role (C(capability)), a C(code), a C(text) and, if the reason
    concerns a storage area, the name of the C(area).
  type: list
  elements: dict
  returned: always
"""
