# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a person wants of a rotation, by -e rotate_NAME: each word known, each value of its form, before all else."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from ansible.module_utils.parsing.convert_bool import boolean
from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.diagnostics import nearest
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.standing import COMPROMISED, SCHEDULED
from ansible_collections.hpc.onboard.plugins.plugin_utils._validate.https import Transport
from ansible_collections.hpc.onboard.plugins.plugin_utils._validate.validate import Settings

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
    canary: str = ""
    excuse: tuple[str, ...] = ()
    levels: tuple[str, ...] | None = None
    registry: str = ""
    image: str = ""
    canary_image: str = ""
    issuer: str = ""
    realms: tuple[str, ...] = ()
    ca_file: str = ""

    def settings(self, service: str) -> Settings:
        """The services that are asked, with their own addresses as defaults. Raises AccountError."""
        chosen = Settings()
        field = {"ngc": "issuer"}.get(service, service)
        issuers: dict[str, Any] = {field: self.issuer} if self.issuer else {}
        try:
            return Settings(
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


NAMES = tuple(PREFIX + one.name for one in fields(Wishes))


def wishes(given: Mapping[str, Any]) -> Wishes:
    """The wishes that are among these variables; a rotate_ that is not known is an error. Raises AccountError."""
    mine = {name: value for name, value in given.items() if name.startswith(PREFIX) and value is not None}
    for name in mine:
        if name not in NAMES:
            raise AccountError(f"{name} is no setting of a rotation: {nearest(name, NAMES)} Nothing was done")
    kinds = {one.name: str(one.type) for one in fields(Wishes)}
    return Wishes(
        **{
            name.removeprefix(PREFIX): _read(name, value, kinds[name.removeprefix(PREFIX)])
            for name, value in mine.items()
        }
    )


def _read(name: str, value: Any, kind: str) -> Any:
    """The value in the form of its field."""
    if kind == "bool":
        return _truth(name, value)
    if kind.startswith("tuple"):
        return tuple(_words(value))
    if name == "rotate_grace":
        return _seconds(str(value))
    if name == "rotate_mode" and str(value) not in MODES:
        raise AccountError(f'rotate_mode: "{value}" is no mode: {nearest(str(value), MODES)} Nothing was done')
    return str(value)


def _truth(name: str, value: Any) -> bool:
    try:
        return bool(boolean(value))
    except TypeError:
        raise AccountError(f'{name}: "{value}" is neither true nor false. Nothing was done') from None


def _words(value: Any) -> Iterable[str]:
    """A list, or words with commas between them as the command line has them."""
    found = value.strip("[]").split(",") if isinstance(value, str) else value
    return [str(one).strip(" '\"") for one in found if str(one).strip()]


def _seconds(text: str) -> int:
    """Hours, days or weeks, such as 12h, 7d, 2w; 0 for none."""
    found = re.fullmatch(r"(\d{1,4})\s*([hdw]?)", text.strip().lower())
    seconds = int(found[1]) * UNITS.get(found[2], 0) if found else 0
    if not found or (int(found[1]) and not found[2]) or seconds > LONGEST_GRACE:
        raise AccountError(f'rotate_grace: "{text}" is no time of up to a year: 12h, 7d or 2w. Nothing was done')
    return seconds
