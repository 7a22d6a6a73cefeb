# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a person wants of a rotation, by -e rotate_NAME: each word known, each value of its form, before all else."""

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
from .standing import COMPROMISED, SCHEDULED

PREFIX = "rotate_"
MODES = (SCHEDULED, COMPROMISED)
UNITS = {"h": 3600, "d": 86400, "w": 7 * 86400}
LONGEST_GRACE = 366 * 86400


@dataclass(frozen=True)
class Wishes:
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

    def settings(self, service: str) -> ValidationSettings:
        """The services that are asked, with their own addresses as defaults. Raises AccountError."""
        chosen = ValidationSettings()
        field = {"ngc": "issuer"}.get(service, service)
        issuers: dict[str, Any] = {field: self.issuer} if self.issuer else {}
        try:
            return ValidationSettings(
                levels=chosen.levels if self.levels is None else self.levels,
                **issuers,
                registry=self.registry or chosen.registry,
                image=self.image or chosen.image,
                canary=self.canary_image,
                realms=self.realms,
                transport=Transport(ca_file=self.ca_file or None),
            )
        except ValueError as error:
            raise AccountError(f"the settings of the rotation: {error}") from None


def _seconds(name: str, value: Any) -> int:
    """Hours, days or weeks, such as 12h, 7d, 2w; 0 for none."""
    found = re.fullmatch(r"(\d{1,4})\s*([hdw]?)", str(value).strip().lower())
    seconds = int(found[1]) * UNITS.get(found[2], 0) if found else 0
    if not found or (int(found[1]) and not found[2]) or seconds > LONGEST_GRACE:
        raise AccountError(f"{name} is {str(value)!r}, which is no time of up to a year: 12h, 7d or 2w")
    return seconds


def day_to_come(name: str, value: Any) -> str:
    """A day that is to come, such as 2027-01-31. Raises AccountError, which begins with the name."""
    try:
        day = date.fromisoformat(str(value))
    except ValueError:
        raise AccountError(
            f"{name} is {str(value)!r}, not a day: 2027-01-31, as the page where the key was made has it"
        ) from None
    if day < date.today():
        raise AccountError(f"{name} is {day}, which is over: a key that has expired replaces none")
    return day.isoformat()


SETTINGS: dict[str, Reader] = {
    "rotate_key_file": extra_vars.text,
    "rotate_resume": extra_vars.truth,
    "rotate_give_up": extra_vars.truth,
    "rotate_retired": extra_vars.truth,
    "rotate_mode": extra_vars.one_of(*MODES),
    "rotate_grace": _seconds,
    "rotate_expires": day_to_come,
    "rotate_canary": extra_vars.text,
    "rotate_excuse": extra_vars.words,
    "rotate_levels": extra_vars.words,
    "rotate_registry": extra_vars.text,
    "rotate_image": extra_vars.text,
    "rotate_canary_image": extra_vars.text,
    "rotate_issuer": extra_vars.text,
    "rotate_realms": extra_vars.words,
    "rotate_ca_file": extra_vars.text,
}


def wishes(given: Mapping[str, Any]) -> Wishes:
    """The wishes that are among these variables; a rotate_ that is not known is an error. Raises AccountError."""
    try:
        found = extra_vars.read("a rotation", SETTINGS, given, given.get)
    except AccountError as error:
        ending = "" if str(error)[-1] in ".?" else "."
        raise AccountError(f"{error}{ending} Nothing was done") from None
    return Wishes(**{name.removeprefix(PREFIX): value for name, value in found.items()})
