# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Check a key from this machine on several levels, each of which can be switched off.

Only a key in the form of its service's keys is sent (key_kinds.py). The levels are:

issuer     the service that issued the key accepts it
token      the registry gives a token for the key, and none for a wrong key
manifest   the key can pull an image that is not public
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from ...module_utils._formats.key_forms import HUGGING_FACE, NGC, WANDB
from .._input.command_line import describe_options
from .https import HttpsClient, ServiceUnreachable, Transport
from .issuers import HUGGING_FACE_ISSUER, NGC_ISSUER, WANDB_ISSUER, check_issuer
from .key_kinds import CheckedKey
from .registry import RegistryImage, check_registry
from .verdict import ISSUER, LEVELS, MANIFEST, TOKEN, Judgement, KeyVerdict, LevelFinding

# https:// with a host name or [IPv6 address], an optional port, and an optional path or query
_ADDRESS = re.compile(r"https://(?:[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?(?:[/?][!-~]*)?")


@dataclass(frozen=True)
class ValidationSettings:
    """The levels to check, and the addresses of the services; by default, those of NVIDIA, wandb and Hugging Face."""

    levels: tuple[str, ...] = LEVELS
    issuer: str = NGC_ISSUER
    wandb: str = WANDB_ISSUER
    huggingface: str = HUGGING_FACE_ISSUER
    registry: str = "nvcr.io"
    image: str = "nvidia/cuda:12.4.1-base-ubuntu22.04"
    """repository:tag of the token request; the image may be public."""
    canary: str = ""
    """repository:tag that only the key's user can pull; empty: the level manifest is not checked."""
    realms: tuple[str, ...] = ()
    """HOST or HOST:PORT that the registry may name for token requests; empty: known hosts, else the registry itself."""
    transport: Transport = field(default_factory=Transport)

    def __post_init__(self) -> None:
        """Raise ValueError for an unknown level, an address that is not HTTPS, or an invalid image."""
        if set(self.levels) - set(LEVELS):
            raise ValueError(f"each level must be one of {', '.join(LEVELS)}")
        for address in (self.issuer, self.wandb, self.huggingface):
            if not _ADDRESS.fullmatch(address):
                raise ValueError(f"{address!r} is not a valid address of a service: expected https://HOST/…")
        for image in filter(None, (self.image, self.canary)):
            self.registry_image(image)

    def registry_image(self, image: str) -> RegistryImage:
        """Return the image in the registry. Raise ValueError if its name is not valid."""
        return RegistryImage(self.registry, image, self.realms)


def judge_key(key: CheckedKey, settings: ValidationSettings) -> Judgement:
    """Return the verdicts of the services on the key. settings: the levels and services.

    Raise TypeError for any other text than a CheckedKey, because an unchecked text must not be sent.
    """
    if not isinstance(key, CheckedKey):
        raise TypeError("only a CheckedKey can be judged: check_key() returns one")
    levels = LEVELS if key.service == NGC else (ISSUER,)  # only NGC has a container registry
    try:
        client = HttpsClient(settings.transport)
    except ServiceUnreachable as error:
        return Judgement(tuple(LevelFinding(level, KeyVerdict.UNREACHABLE, str(error)) for level in levels))
    return Judgement(tuple(_check_level(level, key, settings, client) for level in levels))


def _check_level(level: str, key: CheckedKey, settings: ValidationSettings, client: HttpsClient) -> LevelFinding:
    """Return the finding of one level; NOT_MEASURED if the level is switched off, or if no private image is set."""
    if level not in settings.levels:
        return LevelFinding(level, KeyVerdict.NOT_MEASURED, "this check is switched off")
    if level == ISSUER:
        addresses = {NGC: settings.issuer, WANDB: settings.wandb, HUGGING_FACE: settings.huggingface}
        return check_issuer(key, addresses[key.service], client)
    if level == TOKEN:
        return check_registry(TOKEN, key, settings.registry_image(settings.image), client)
    # the level MANIFEST
    if not settings.canary:
        option = describe_options("rotate", "--canary-image", "REPOSITORY:TAG")
        return LevelFinding(MANIFEST, KeyVerdict.NOT_MEASURED, f"set an image that only you can pull: {option}")
    return check_registry(MANIFEST, key, settings.registry_image(settings.canary), client)
