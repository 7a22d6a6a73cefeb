# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the collection lies that this is a part of, a checkout, a wheel or what Galaxy installed, and its roles."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

COLLECTION = Path(__file__).resolve().parents[3]
ROLES_FOLDER = Path(__file__).parents[3] / "roles"  # by the way that Ansible came, links and all: it names them so


def version() -> str:
    """Our own version: a checkout and a wheel hold galaxy.yml, what ansible-galaxy installs a manifest in its place."""
    if (COLLECTION / "MANIFEST.json").is_file():
        manifest = json.loads((COLLECTION / "MANIFEST.json").read_text(encoding="utf-8"))
        return str(manifest["collection_info"]["version"])
    text = (COLLECTION / "galaxy.yml").read_text(encoding="utf-8")
    return next((line.split()[1].strip('"') for line in text.splitlines() if line.startswith("version:")), "")


def serving(accounts: Path) -> Path:
    """The file to read for an accounts file: itself, or where it is not there the practice accounts beside it."""
    practice = accounts.with_name("practice.yml") if accounts.name == "accounts.yml" else accounts
    return practice if practice.is_file() and not accounts.exists() else accounts


def refusals(result: Mapping[str, Any]) -> list[str]:
    """What Ansible says of the settings of a role of ours that stands alone in a play, where it checks them itself.

    Its words as they are; none for any other result, the check of another's role too.
    """
    context = result.get("validate_args_context") or {}
    name = str(context.get("name", ""))
    role = name.removeprefix("hpc.onboard.")
    is_ours = role != name or str(context.get("path", "")).startswith(str(ROLES_FOLDER))
    said = dict.fromkeys(str(message).strip() for message in result.get("argument_errors") or ())
    return [f"role {role}: {message}" for message in said] if is_ours else []


@dataclass(frozen=True)
class Roles:
    """The roles below a folder, and what each can be told. All of it is plain data, read without Ansible."""

    folder: Path = ROLES_FOLDER

    def names(self) -> set[str]:
        """Names of the roles that have an argument spec."""
        return {file.parts[-3] for file in self.folder.glob("*/meta/argument_specs.yml")}

    def options(self, role: str) -> dict[str, Any]:
        """The argument spec of a role: each setting by its name."""
        specs = _document(self.folder / role / "meta" / "argument_specs.yml")["argument_specs"]
        options: dict[str, Any] = specs.get("main", {}).get("options") or {}
        return options

    def defaults(self, role: str) -> dict[str, Any]:
        """What the settings of a role are where nobody says anything."""
        return _document(self.folder / role / "defaults" / "main.yml")

    def settings(self, role: str) -> dict[str, Any]:
        """Schema of a role's settings, without the role's prefix in their names."""
        from . import role_specs  # few accounts set any

        return role_specs.settings_schema(role, self.options(role))


def _document(file: Path) -> dict[str, Any]:
    import yaml  # here, because help and mistakes on the command line read no role

    from .yaml_loader import Loader

    return yaml.load(file.read_text(encoding="utf-8"), Loader=Loader)  # type: ignore[no-any-return]  # YAML may be anything
