#!/usr/bin/python
# Copyright: hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The documentation of token_file, which the action of converge carries out (meta/runtime.yml)."""

from __future__ import annotations

DOCUMENTATION = r"""
module: token_file
short_description: Keep a file that holds one token
version_added: 0.1.0
author: The hpc.onboard authors (@hpc-onboard)
description:
  - Keeps a file whose whole content is a token, as Hugging Face's programs do.
  - A file that holds more than one word is left alone.
extends_documentation_fragment:
  - hpc.onboard.kept
  - hpc.onboard.replaced
options:
  path:
    description: The file.
    type: str
    default: ~/.cache/huggingface/token
  password:
    description: The key. White space, control characters and a leading C($) are refused.
    type: str
  state:
    description: Whether the file is there.
    type: str
    default: present
    choices:
    - present
    - absent
"""

EXAMPLES = r"""
- name: Keep my Hugging Face token
  hpc.onboard.token_file:
    password: "{{ hf_token }}"
"""

RETURN = r"""
outcome:
  description: What was found, what is wanted, and what came of it; see M(hpc.onboard.converge).
  type: dict
  returned: always
"""
