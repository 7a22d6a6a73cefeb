# Copyright: hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The documentation that the modules of all files with a key have in common."""

from __future__ import annotations


class ModuleDocFragment:
    """hpc.onboard.key"""

    DOCUMENTATION = r"""
options:
  replace:
    description:
      - Replaces an existing key that hpc-onboard did not write, even if no other copy of this key exists. If V(false),
        the task fails and keeps the existing key.
      - Before the replacement, the task makes a private copy of the file on the account. C(offboard) restores the key
        from this copy.
    type: bool
    default: false
"""
