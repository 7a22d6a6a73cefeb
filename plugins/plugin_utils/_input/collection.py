# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the collection lies that this is a part of, a checkout, a wheel or what Galaxy installed, and its roles."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

COLLECTION = Path(__file__).resolve().parents[3]
ROLES_FOLDER = Path(__file__).parents[3] / "roles"  # by the way that Ansible came, links and all: it names them so


def read_version() -> str:
    """Our own version: a checkout and a wheel hold galaxy.yml, what ansible-galaxy installs a manifest in its place."""
    if (COLLECTION / "MANIFEST.json").is_file():
        manifest = json.loads((COLLECTION / "MANIFEST.json").read_text(encoding="utf-8"))
        return str(manifest["collection_info"]["version"])
    text = (COLLECTION / "galaxy.yml").read_text(encoding="utf-8")
    return next((line.split()[1].strip('"') for line in text.splitlines() if line.startswith("version:")), "")


def practice_or(accounts: Path) -> Path:
    """The file to read for an accounts file: itself, or where it is not there the practice accounts beside it."""
    practice = accounts.with_name("practice.yml") if accounts.name == "accounts.yml" else accounts
    return practice if practice.is_file() and not accounts.exists() else accounts


def refused_settings(result: Mapping[str, Any]) -> list[str]:
    """What Ansible says of the settings of a role of ours that stands alone in a play, where it checks them itself.

    Its words as they are; none for any other result, the check of another's role too.
    """
    context = result.get("validate_args_context") or {}
    name = str(context.get("name", ""))
    role = name.removeprefix("hpc.onboard.")
    is_ours = role != name or str(context.get("path", "")).startswith(str(ROLES_FOLDER))
    said = dict.fromkeys(str(message).strip() for message in result.get("argument_errors") or ())
    return [f"role {role}: {message}" for message in said] if is_ours else []
