# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The role conda: a conda installation in the data area, its environments, and the command conda in every shell.

A declaration has resources, and notes with the reasons for skipped ones: a code for programs, and a text for the user.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .table import Settings, declare_nothing, resource

if TYPE_CHECKING:
    from .._documents.declaration import Declaration, SkipReason


def declare(settings: Settings) -> Declaration:
    """Declare a conda installation and its shell function; nothing if the site refuses conda or no conda is requested.

    settings: of the role. `site` is the part of the profile about conda; `wanted` requests a conda; `distribution` is
    "own" for a conda that the user has installed.
    """
    site = settings["site"]
    if site["policy"] == "refused":
        advice = f"Use {site['instead']}." if site["instead"] else "Use the software that the site offers."
        return declare_nothing("refused", f"{site['why']} {advice}")
    is_users_own = settings["distribution"] == "own"
    if not settings["wanted"] and not settings["environments"] and not is_users_own:
        return {"resources": [], "notes": []}
    from . import conda_installer  # imported late: few accounts have a conda

    skip_reason = None if is_users_own else conda_installer.reason_to_skip(settings)
    if skip_reason:
        return declare_nothing("to_decide", skip_reason)
    options = conda_installer.own_options(settings) if is_users_own else conda_installer.install_options(settings)
    section = resource(
        "shell_environment",
        section="conda",
        on_demand=conda_installer.shell_functions(options["prefix"]),
        state=settings["state"],
    )
    terms: SkipReason = {"code": "terms", "text": conda_installer.LICENCE}
    notes = [terms] if not is_users_own and conda_installer.uses_anaconda_channels(settings["channels"]) else []
    return {"resources": [resource("conda_install", **options), section], "notes": notes}


def prepare(accounts: Sequence[Settings]) -> None:
    """Read the pinned installers once for all accounts, if any account wants a conda."""
    if any(settings.get("wanted") for settings in accounts):
        from . import conda_installer

        conda_installer.read_pins()  # caches the result
