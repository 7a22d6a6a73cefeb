# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a key is valid, as far as can be seen from this machine: level by level, each of which can be switched off.

form       it looks like a key of its service; without that it is no `Key` and goes nowhere
issuer     the service that made it knows it
token      the registry gives a token for it, and none for a wrong one
manifest   it opens an image that is shut to others
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from ...module_utils._formats.key_forms import HUGGING_FACE, NGC, WANDB
from . import issuers
from .https import Line, Transport, Unreached
from .key_kinds import Key
from .registry import Place, manifest_level, token_level
from .verdict import FORM, ISSUER, LEVELS, MANIFEST, TOKEN, Finding, Judgement, Verdict

_ADDRESS = re.compile(r"https://(?:[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?(?:[/?][!-~]*)?")


@dataclass(frozen=True)
class Settings:
    """What is asked, and where. The defaults are NVIDIA's, wandb's and Hugging Face's own addresses."""

    levels: tuple[str, ...] = LEVELS
    issuer: str = issuers.NGC_ISSUER
    wandb: str = issuers.WANDB_ISSUER
    huggingface: str = issuers.HUGGING_FACE_ISSUER
    registry: str = "nvcr.io"
    image: str = "nvidia/cuda:12.4.1-base-ubuntu22.04"
    """repository:tag that a token is asked for; it may be public."""
    canary: str = ""
    """repository:tag that only the key's user can pull; empty: the level manifest is not measured."""
    realms: tuple[str, ...] = ()
    """The hosts, or host:port, that the registry may send a key to; empty: those known for it, else itself."""
    transport: Transport = field(default_factory=Transport)

    def __post_init__(self) -> None:
        if set(self.levels) - set(LEVELS):
            raise ValueError(f"a level is one of {', '.join(LEVELS)}")
        for address in (self.issuer, self.wandb, self.huggingface):
            if not _ADDRESS.fullmatch(address):
                raise ValueError(f"{address!r} is no address that a key may go to: it begins with https:// and a host")
        for image in filter(None, (self.image, self.canary)):
            self.place(image)

    def place(self, image: str) -> Place:
        """That image in the registry. Raises ValueError for what is none."""
        return Place(self.registry, image, self.realms)

    def address(self, service: str) -> str:
        """Where the issuer of that service's keys answers."""
        return {NGC: self.issuer, WANDB: self.wandb, HUGGING_FACE: self.huggingface}[service]


def judged(key: Key, settings: Settings | None = None) -> Judgement:
    """What the services say of the key. Takes a Key only, so that what has no key's form is never sent."""
    if not isinstance(key, Key):
        raise TypeError("only a Key can be judged: recognised() makes one")
    chosen = settings or Settings()
    form = Finding(FORM, Verdict.VALID, f"it has the form of its kind ({key.kind})")
    try:
        line = Line(chosen.transport)
    except Unreached as error:
        return Judgement(key.kind, (form, *(Finding(level, Verdict.UNREACHABLE, str(error)) for level in _levels(key))))
    return Judgement(key.kind, (form, *(_level(name, key, chosen, line) for name in _levels(key))))


def _levels(key: Key) -> tuple[str, ...]:
    """The levels that there are for this key."""
    return LEVELS if key.service == NGC else (ISSUER,)


def _level(name: str, key: Key, settings: Settings, line: Line) -> Finding:
    """The finding of one level."""
    if name not in settings.levels:
        return Finding(name, Verdict.NOT_MEASURED, "switched off")
    if name == ISSUER:
        return issuers.issuer_level(key, settings.address(key.service), line)
    if name == TOKEN:
        return token_level(key, settings.place(settings.image), line)
    if not settings.canary:
        return Finding(MANIFEST, Verdict.NOT_MEASURED, "no canary is named: name an image that only you can pull")
    return manifest_level(key, settings.place(settings.canary), line)
