# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the collection lies that this is a part of, a checkout, a wheel or what Galaxy installed, and its roles."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

COLLECTION = Path(__file__).resolve().parents[3]
ROLES = Path(__file__).parents[3] / "roles"  # by the way that Ansible came, links and all: it names them so


@dataclass(frozen=True)
class Roles:
    """The roles below a folder, and what each lets an account set."""

    folder: Path = ROLES

    def names(self) -> set[str]:
        """Names of the roles that have an argument spec."""
        return {file.parts[-3] for file in self.folder.glob("*/meta/argument_specs.yml")}

    def settings(self, role: str) -> dict[str, Any]:
        """Schema of a role's settings, without the role's prefix in their names."""
        from ansible_collections.hpc.onboard.plugins.plugin_utils._input import role_specs  # few accounts set any

        return role_specs.settings_schema(role, self.folder / role / "meta" / "argument_specs.yml")
