# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The folder of this collection, which is a checkout, a wheel or an installation by Galaxy, and what is in it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

COLLECTION = Path(__file__).resolve().parents[3]
ROLES_FOLDER = Path(__file__).parents[3] / "roles"  # not resolved: Ansible reports roles by this path


def read_version() -> str:
    """Return the version of hpc.onboard, from the manifest of Galaxy, or from galaxy.yml in a checkout or wheel."""
    if (COLLECTION / "MANIFEST.json").is_file():
        manifest = json.loads((COLLECTION / "MANIFEST.json").read_text(encoding="utf-8"))
        return str(manifest["collection_info"]["version"])
    text = (COLLECTION / "galaxy.yml").read_text(encoding="utf-8")
    return next((line.split()[1].strip('"') for line in text.splitlines() if line.startswith("version:")), "")


def find_accounts_file(accounts: Path) -> Path:
    """Return the path of an accounts file, or of practice.yml next to it if only practice.yml exists.

    A checkout has practice.yml for users without an accounts file of their own.
    """
    practice = accounts.with_name("practice.yml") if accounts.name == "accounts.yml" else accounts
    return practice if practice.is_file() and not accounts.exists() else accounts


def read_refused_settings(result: Mapping[str, Any]) -> list[str]:
    """Return Ansible's messages about invalid settings if a role of this collection is used directly in a play.

    Return [] for any other result, also for the check of another collection's role.
    """
    context = result.get("validate_args_context") or {}
    name = str(context.get("name", ""))
    role = name.removeprefix("hpc.onboard.")
    # Ansible names a role hpc.onboard.ROLE, or only ROLE if the play does.
    is_own_role = role != name or str(context.get("path", "")).startswith(str(ROLES_FOLDER))
    messages = dict.fromkeys(str(message).strip() for message in result.get("argument_errors") or ())
    return [f"role {role}: {message}" for message in messages] if is_own_role else []
