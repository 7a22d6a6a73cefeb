# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of a rotation: the variables rotate_NAME, which a user sets with -e. They are checked first of all."""

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
UNITS = {"h": 3600, "d": 86400, "w": 7 * 86400}  # in seconds
LONGEST_GRACE = 366 * 86400  # seconds; the limit of the ledger


@dataclass(frozen=True)
class RotationOptions:
    """The values of the variables rotate_NAME.

    key_file: the file with the new key, "-" for standard input, or empty to ask the user. resume, give_up: continue, or
    cancel, the open rotation. retired: the user has deactivated the old key. mode: SCHEDULED or COMPROMISED. grace: the
    seconds for which the old key stays active, 0 for none. expires: the last day of the new key, or empty. canary: the
    target (one file on one account) to write first, or empty. excuse: targets to skip. levels: the tests of the key, or
    None for the default. registry, image, canary_image, issuer, realms, ca_file: see ValidationSettings.
    """

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
        """Return the settings for tests of the service's keys. Raise AccountError for an invalid setting.

        service: such as ngc or wandb. A setting that the user has not set keeps its default.
        """
        issuer_field = "issuer" if service == "ngc" else service  # the setting with the address of the key's issuer
        addresses = {"registry": self.registry, "image": self.image, issuer_field: self.issuer}
        chosen: dict[str, Any] = {name: value for name, value in addresses.items() if value}
        if self.levels is not None:
            chosen["levels"] = self.levels
        transport = Transport(ca_file=self.ca_file or None)
        try:
            return ValidationSettings(canary=self.canary_image, realms=self.realms, transport=transport, **chosen)
        except ValueError as error:
            raise AccountError(f"the settings of the rotation are invalid: {error}") from None


def _parse_grace(name: str, value: Any) -> int:
    """Return the seconds of a duration such as 12h, 7d or 2w; only 0 needs no unit. Raise AccountError.

    name: of the variable, for the message. value: as the user set it.
    """
    match = re.fullmatch(r"(\d{1,4})\s*([hdw]?)", str(value).strip().lower())
    number, unit = (int(match[1]), match[2]) if match else (0, "")
    seconds = number * UNITS.get(unit, 0)  # 0 without a unit
    if not match or (number and not unit) or seconds > LONGEST_GRACE:
        raise AccountError(f"{name} is {str(value)!r}; expected a duration up to a year, such as 12h, 7d or 2w")
    return seconds


def parse_last_day(name: str, value: Any) -> str:
    """Return the last day of a key as YYYY-MM-DD. Raise AccountError for an invalid or past day.

    name: of the option or input, as the message calls it. value: as the user set or typed it.
    """
    try:
        day = date.fromisoformat(str(value))
    except ValueError:
        raise AccountError(
            f"{name} is {str(value)!r}; expected a date such as 2027-01-31, as on the page where you created the key"
        ) from None
    if day < date.today():
        raise AccountError(f"{name} is {day}, which is in the past. Enter the last day on which the new key is valid")
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
    """Return the options among these variables. Raise AccountError for an unknown rotate_NAME or an invalid value."""
    try:
        settings = extra_vars.read_settings("a rotation", SETTINGS, variables, read_variable=variables.get)
    except AccountError as error:
        full_stop = "" if str(error)[-1] in ".?" else "."  # some messages end with a question
        raise AccountError(f"{error}{full_stop} Nothing was done") from None
    return RotationOptions(**{name.removeprefix(PREFIX): value for name, value in settings.items()})
