# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The variables rotate_NAME that a user sets by -e: checked before anything is done."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from ...module_utils._core.errors import AccountError
from .._input import extra_vars
from .._input.extra_vars import Reader
from .._validate.https import Transport
from .._validate.validate import ValidationSettings
from .situation import COMPROMISED, SCHEDULED

PREFIX = "rotate_"
UNITS = {"h": 3600, "d": 86400, "w": 7 * 86400}
LONGEST_GRACE = 366 * 86400


@dataclass(frozen=True)
class RotationOptions:
    """The variables rotate_NAME, by name. grace is in seconds, 0 for none."""

    key_file: str = ""
    resume: bool = False
    give_up: bool = False
    retired: bool = False
    mode: str = SCHEDULED
    grace: int = 0
    expires: str = ""
    canary: str = ""
    excuse: tuple[str, ...] = ()
    levels: tuple[str, ...] | None = None
    registry: str = ""
    image: str = ""
    canary_image: str = ""
    issuer: str = ""
    realms: tuple[str, ...] = ()
    ca_file: str = ""

    def validation_settings(self, service: str) -> ValidationSettings:
        """Return which services are asked, with their own addresses as defaults. Raises AccountError."""
        chosen: dict[str, Any] = {"registry": self.registry, "image": self.image}
        chosen["issuer" if service == "ngc" else service] = self.issuer
        chosen = {name: value for name, value in chosen.items() if value}
        if self.levels is not None:
            chosen["levels"] = self.levels
        transport = Transport(ca_file=self.ca_file or None)
        try:
            return ValidationSettings(canary=self.canary_image, realms=self.realms, transport=transport, **chosen)
        except ValueError as error:
            raise AccountError(f"the settings of the rotation: {error}") from None


def _parse_grace(name: str, value: Any) -> int:
    """Return the seconds of a time such as 12h, 7d or 2w; 0 for none."""
    found = re.fullmatch(r"(\d{1,4})\s*([hdw]?)", str(value).strip().lower())
    seconds = int(found[1]) * UNITS.get(found[2], 0) if found else 0
    if not found or (int(found[1]) and not found[2]) or seconds > LONGEST_GRACE:
        raise AccountError(f"{name} is {str(value)!r}; expected a duration up to a year, such as 12h, 7d or 2w")
    return seconds


def parse_last_day(name: str, value: Any) -> str:
    """Return a day in the future as YYYY-MM-DD. Raises AccountError, which begins with the name."""
    try:
        day = date.fromisoformat(str(value))
    except ValueError:
        raise AccountError(
            f"{name} is {str(value)!r}; expected a date such as 2027-01-31, as on the page where you created the key"
        ) from None
    if day < date.today():
        raise AccountError(f"{name} is {day}, which is in the past: the new key must not be expired")
    return day.isoformat()


SETTINGS: dict[str, Reader] = {
    "rotate_key_file": extra_vars.read_text,
    "rotate_resume": extra_vars.read_bool,
    "rotate_give_up": extra_vars.read_bool,
    "rotate_retired": extra_vars.read_bool,
    "rotate_mode": extra_vars.read_choice(SCHEDULED, COMPROMISED),
    "rotate_grace": _parse_grace,
    "rotate_expires": parse_last_day,
    "rotate_canary": extra_vars.read_text,
    "rotate_excuse": extra_vars.read_words,
    "rotate_levels": extra_vars.read_words,
    "rotate_registry": extra_vars.read_text,
    "rotate_image": extra_vars.read_text,
    "rotate_canary_image": extra_vars.read_text,
    "rotate_issuer": extra_vars.read_text,
    "rotate_realms": extra_vars.read_words,
    "rotate_ca_file": extra_vars.read_text,
}


def parse_options(variables: Mapping[str, Any]) -> RotationOptions:
    """Return the options among these variables. Raises AccountError for an unknown rotate_NAME or an invalid value."""
    try:
        found = extra_vars.read_settings("a rotation", SETTINGS, variables, variables.get)
    except AccountError as error:
        ending = "" if str(error)[-1] in ".?" else "."
        raise AccountError(f"{error}{ending} Nothing was done") from None
    return RotationOptions(**{name.removeprefix(PREFIX): value for name, value in found.items()})
