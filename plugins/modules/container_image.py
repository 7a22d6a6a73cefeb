#!/usr/bin/python
# Copyright: hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The documentation of container_image, which the action of converge carries out (meta/runtime.yml)."""

from __future__ import annotations

DOCUMENTATION = r"""
module: container_image
short_description: Keep a container image in a folder of the account
version_added: 0.1.0
author: The hpc.onboard authors (@hpc-onboard)
description:
  - Imports an image from a registry with enroot or Apptainer, into a file that is named for its digest, and keeps a
    link to it under a name without one.
  - The work goes on by itself, on the login node or as a Slurm job, which is submitted once. When the tag stands for
    another digest, the new image is imported beside the old one and the link is turned.
  - The key is read by the container tool from its own file. It is in no argument and in no variable.
extends_documentation_fragment:
  - hpc.onboard.kept
options:
  image:
    description: The image, such as C(nvcr.io/nvidia/pytorch:24.03-py3). With C(@sha256:...) it stays that one.
    type: str
    required: true
  folder:
    description: The folder that it goes to. It may begin with C(~) or with a variable of the site such as C($SCRATCH).
    type: str
    required: true
  root:
    description: The folder that must be there already; the one above O(folder) unless given.
    type: str
  runtime:
    description: What imports it.
    type: str
    required: true
    choices:
    - enroot
    - apptainer
  module:
    description: The environment module that brings that.
    type: str
    default: ''
  credentials:
    description: The file in which it finds its keys, to ask the registry with.
    type: str
  by:
    description: Whether it is imported on the login node, or on a compute node by a job.
    type: str
    default: login
    choices:
    - login
    - job
  job_options:
    description: Options of sbatch for the job.
    type: list
    elements: str
    default: []
  minutes:
    description: The time limit of the job.
    type: int
    default: 120
  temporary:
    description: The folder that is written to meanwhile; one beside the image unless given.
    type: str
  site_images:
    description: A folder with images of the site's own. One of the same name is used, and nothing is imported.
    type: str
  packages:
    description: Packages that the list beside such an image must name.
    type: list
    elements: str
    default: []
  old:
    description: What becomes of images that the tag stood for before.
    type: str
    default: keep
    choices:
    - keep
    - remove
  state:
    description: Whether it is there. C(absent) cancels the job and removes what we imported, unless it was changed.
    type: str
    default: present
    choices:
    - present
    - absent
"""

EXAMPLES = r"""
- name: Keep PyTorch where jobs can read it
  hpc.onboard.container_image:
    image: nvcr.io/nvidia/pytorch:24.03-py3
    folder: /data/ada/images
    runtime: enroot
    credentials: ~/enroot/.credentials
    by: job
    job_options: [--partition=cpu]
"""

RETURN = r"""
outcome:
  description: What was found, what is wanted, and what came of it; see M(hpc.onboard.converge).
  type: dict
  returned: always
"""
