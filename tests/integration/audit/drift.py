# SPDX-License-Identifier: GPL-3.0-or-later
"""One thing that can happen to an account that was set up, as the tables of drifts tell it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

ENROOT = "enroot/.credentials"
JSON = ".apptainer/docker-config.json"


class Drift(NamedTuple):
    """One thing that happens.

    do: a command that the user runs; site: one that root runs. In both stand {home}, {user} and {project}.
    finds: rule, class, cause and severity of each finding. by_hand: what a person does (root, for what the site
    did) where the fix is a sentence. settings: what the accounts file says of the account instead. place: what the
    place of each finding begins with, for those that name one.
    """

    name: str
    finds: tuple[str, ...]
    do: str = ""
    site: str = ""
    by_hand: str = ""
    settings: Mapping[str, Any] = {}
    place: str = ""
