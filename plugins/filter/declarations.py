# Copyright: hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filters that turn a role's settings into what it declares; one for each capability."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ansible_collections.hpc.onboard.plugins.plugin_utils._capabilities import CAPABILITIES


class FilterModule:
    """One filter per capability, of the capability's name."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Name -> function from settings to declaration."""
        return dict(CAPABILITIES)
