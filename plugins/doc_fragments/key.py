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
      - Replaces a key that hpc-onboard did not write, and that may exist nowhere else. If V(false), the task fails, and
        the key stays.
      - A private copy of the file is kept on the account, and C(offboard) restores the key.
    type: bool
    default: false
"""
