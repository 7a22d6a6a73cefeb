# Copyright: hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What all modules that keep one resource have in common."""

from __future__ import annotations


class ModuleDocFragment:
    """hpc.onboard.kept"""

    DOCUMENTATION = r"""
attributes:
  check_mode:
    description: Foresees exactly what a run would do.
    support: full
  diff_mode:
    description: Shows the state before and after; keys appear as fingerprints.
    support: full
options:
  fingerprint_key:
    description:
      - The key that fingerprints of secrets are made with, in hexadecimal. Without it they differ from run to run.
    type: str
requirements:
  - python >= 3.8 on the account; M(hpc.onboard.converge) is content with 3.6.
seealso:
  - module: hpc.onboard.converge
"""
