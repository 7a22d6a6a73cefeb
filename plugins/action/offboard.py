# Copyright: hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Takes out of an account what converge has made there, in one trip.

The documentation is in plugins/modules/offboard.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.hpc.onboard.plugins.action.converge import ActionModule as Converge
from ansible_collections.hpc.onboard.plugins.plugin_utils._capabilities.collect import Declared
from ansible_collections.hpc.onboard.plugins.plugin_utils._capabilities.declare import CAPABILITIES
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery import offboarding
from ansible_collections.hpc.onboard.plugins.plugin_utils._state import receipts


class ActionModule(Converge):
    """hpc.onboard.offboard"""

    ARGUMENTS = {
        "capabilities": {"type": "list", "elements": "str", "default": list(CAPABILITIES)},
        "resources": {"type": "list", "elements": "dict", "default": []},
        "only": {"type": "str", "default": "everything", "choices": ["everything", "undeclared"]},
        "seconds": {"type": "int", "default": 30},
        "wait": {"type": "int", "default": 3600},
    }

    def declare(self, arguments: Mapping[str, Any], variables: Mapping[str, Any]) -> Declared:
        """What goes: all that was asked for, or what is noted on the account and declared no more."""
        offboarding.check_settings(variables)
        every = self.collect_all(arguments["capabilities"], arguments, variables)
        chosen = every.of(self.leave_tagged(arguments["capabilities"], variables)).resources
        notes = receipts.kept(str(variables["inventory_hostname"]), bool(self.sandbox_of(variables)))
        cluster = str((variables.get("cluster") or {}).get("id", ""))
        entries = offboarding.undeclared(every.resources, notes, cluster)
        if arguments["only"] == "everything":
            entries = [offboarding.absent(entry) for entry in chosen] + entries
        return Declared(offboarding.in_order(offboarding.with_folders(entries, notes, cluster)), [])

    def work_of(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """As that of converge, of what we made and nothing else."""
        return {**super().work_of(arguments), "only_made": True}
