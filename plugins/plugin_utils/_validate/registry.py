# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ask a container registry about a key: the token that it gives for the key, and the image that the token opens.

A 200 alone proves nothing: registries give tokens and public images to anyone. So each 200 is compared with the
response to a random key of the same form, and an image also with that to no key. The specification wants 401 for wrong
credentials even where anonymous access would do; at a registry that does not keep to that, the level is unknown.
Sources: distribution.github.io/distribution/spec/auth/token and spec/api; github.com/NVIDIA/enroot issue 161.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import urlsplit

from ...module_utils._formats.token_challenge import (
    MANIFEST_TYPES,
    ChallengeRefused,
    allowed_hosts,
    basic_authorization,
    read_challenge,
    read_token,
    token_address,
)
from .._input.command_line import describe_options
from .https import HttpRequest, HttpResponse, HttpsClient, ServiceUnreachable
from .key_kinds import CheckedKey, random_key_like
from .verdict import MANIFEST, TOKEN, KeyVerdict, LevelFinding

LOGIN = "$oauthtoken"

_HOST = re.compile(r"(?:[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?")
_WORD = r"[a-z0-9]+(?:[._-]+[a-z0-9]+)*"
_IMAGE = re.compile(rf"{_WORD}(?:/{_WORD})*:[A-Za-z0-9_][A-Za-z0-9._-]{{0,127}}")


@dataclass(frozen=True)
class RegistryImage:
    """An image (repository:tag) in a registry, and the hosts that may see a key for it."""

    registry: str
    image: str
    realms: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not _HOST.fullmatch(self.registry):
            raise ValueError(f"{self.registry!r} is not a registry: expected HOST or HOST:PORT")
        if not _IMAGE.fullmatch(self.image):
            raise ValueError(f"{self.image!r} is not an image: expected REPOSITORY:TAG without the registry's name")

    @property
    def repository(self) -> str:
        """The image without its tag."""
        return self.image.rpartition(":")[0]

    @property
    def allowed(self) -> tuple[str, ...]:
        """The hosts that may be asked for a token."""
        return allowed_hosts(self.registry, self.realms)

    @property
    def manifest_url(self) -> str:
        """The address of the image's manifest."""
        repository, _colon, tag = self.image.rpartition(":")
        return f"https://{self.registry}/v2/{repository}/manifests/{tag}"


class PullStatus(NamedTuple):
    """HTTP status of the request for a token, and of that for the manifest if there was a token."""

    token: int
    manifest: int | None = None


class _LoginNotRequired(Exception):
    """The registry gives this image to anyone."""


def check_token(key: CheckedKey, image: RegistryImage, client: HttpsClient) -> LevelFinding:
    """Return whether the registry gives a token for this key and none for a wrong one."""
    return _as_finding(TOKEN, image, lambda: _find_token(key, image, client))


def check_manifest(key: CheckedKey, image: RegistryImage, client: HttpsClient) -> LevelFinding:
    """Return whether this key opens the image, and neither a wrong key nor no key does."""
    return _as_finding(MANIFEST, image, lambda: _find_manifest(key, image, client))


def _as_finding(level: str, image: RegistryImage, find: Callable[[], LevelFinding]) -> LevelFinding:
    try:
        return find()
    except ServiceUnreachable as error:
        return LevelFinding(level, KeyVerdict.UNREACHABLE, str(error), error.status)
    except ChallengeRefused as error:
        return LevelFinding(level, KeyVerdict.NOT_MEASURED, str(error))
    except _LoginNotRequired:
        return LevelFinding(level, KeyVerdict.NOT_MEASURED, _describe_public(image), 200)


def _find_token(key: CheckedKey, image: RegistryImage, client: HttpsClient) -> LevelFinding:
    address = _ask_token_address(image, client)
    status, _token = _request_token(address, key, client)
    if status == 401:
        return _invalid(TOKEN, image)
    try:
        control, _token = _request_token(address, random_key_like(key), client)
    except ServiceUnreachable as error:
        if status == 403:
            return _not_entitled(TOKEN, image, 403, is_same=False)
        sentence = f"{image.registry} gave a token, but no wrong key could be tried, so it proves nothing ({error})"
        return LevelFinding(TOKEN, KeyVerdict.NOT_MEASURED, sentence, status)
    if status == 403:
        return _not_entitled(TOKEN, image, 403, is_same=control == 403)
    if control == 200:
        sentence = (
            f"inconclusive: {image.registry} gives a token for a wrong key too; name a private image of yours:"
            f" {describe_options('rotate', '--canary-image', 'REPOSITORY:TAG')}"
        )
        return LevelFinding(TOKEN, KeyVerdict.NOT_MEASURED, sentence, status)
    return LevelFinding(TOKEN, KeyVerdict.VALID, f"{image.registry} accepts the key and refuses a wrong one", status)


def _find_manifest(key: CheckedKey, image: RegistryImage, client: HttpsClient) -> LevelFinding:
    address = _ask_token_address(image, client)
    pulled = _pull(address, image, key, client)
    if pulled.token == 401:
        return _invalid(MANIFEST, image)
    if pulled.manifest != 200:
        control = _pull(address, image, random_key_like(key), client)
        return _not_entitled(MANIFEST, image, pulled.manifest or pulled.token, is_same=control == pulled)
    for other in (random_key_like(key), None):
        if _pull(address, image, other, client).manifest == 200:
            return LevelFinding(MANIFEST, KeyVerdict.NOT_MEASURED, _describe_public(image), 200)
    return LevelFinding(MANIFEST, KeyVerdict.VALID, f"the key opens {image.image}, which is closed to others", 200)


def _ask_token_address(image: RegistryImage, client: HttpsClient) -> str:
    """Return where the registry gives tokens for this image. Nothing secret is sent to learn it."""
    response = client.send(HttpRequest(image.manifest_url, "HEAD", {"Accept": MANIFEST_TYPES}))
    if response.status == 200 and _is_manifest(response):
        raise _LoginNotRequired
    if response.status != 401:
        raise ServiceUnreachable(
            f"{image.registry} answers HTTP {response.status} where a registry asks for a login: is the address right?",
            response.status,
        )
    challenge = read_challenge(response.headers.get_all("WWW-Authenticate") or [])
    return token_address(challenge, image.allowed, image.repository)


def _request_token(address: str, key: CheckedKey | None, client: HttpsClient) -> tuple[int, str]:
    """Return 200 and a token, or 401 or 403. Without a key, ask as an anonymous user."""
    headers = {"Authorization": basic_authorization(LOGIN, key.value)} if key else {}
    response = client.send(HttpRequest(address, "GET", headers))
    if response.status in (401, 403):
        return response.status, ""
    token = read_token(response.body) if response.status == 200 else None
    if token is None:
        raise ServiceUnreachable(
            f"{urlsplit(address).netloc} answers HTTP {response.status} without a token: is a proxy between?",
            response.status,
        )
    return 200, token


def _pull(address: str, image: RegistryImage, key: CheckedKey | None, client: HttpsClient) -> PullStatus:
    """Return how far a pull of the image gets with this key, or with none."""
    status, token = _request_token(address, key, client)
    if status != 200:
        return PullStatus(status)
    headers = {"Accept": MANIFEST_TYPES, "Authorization": f"Bearer {token}"}
    response = client.send(HttpRequest(image.manifest_url, "HEAD", headers))
    if response.status not in (200, 401, 403, 404) or (response.status == 200 and not _is_manifest(response)):
        raise ServiceUnreachable(
            f"{image.registry} answers HTTP {response.status} to a token that it gave", response.status
        )
    return PullStatus(200, response.status)


def _is_manifest(response: HttpResponse) -> bool:
    """Return True if a 200 comes from a registry and not from a proxy."""
    is_known = response.headers.get_content_type() in MANIFEST_TYPES
    return is_known and bool(response.headers.get("Docker-Content-Digest"))


def _invalid(level: str, image: RegistryImage) -> LevelFinding:
    sentence = f"{image.registry} does not know the key (HTTP 401): it was revoked, has expired or is another user's"
    return LevelFinding(level, KeyVerdict.INVALID, sentence, 401)


def _not_entitled(level: str, image: RegistryImage, status: int, is_same: bool) -> LevelFinding:
    """is_same: a wrong key is refused in the same way, so this one may be wrong altogether."""
    sentence = (
        f"the key does not open {image.image} (HTTP {status}): does its user see that image, and do its services"
        " include NGC Catalog and Private Registry?"
    )
    sentence += " A tag that does not exist looks the same." if status == 404 else ""
    sentence += " A wrong key is refused in the same way, so it may be wrong altogether." if is_same else ""
    return LevelFinding(level, KeyVerdict.NOT_ENTITLED, sentence, status)


def _describe_public(image: RegistryImage) -> str:
    return f"inconclusive: {image.image} is public; name an image that only you can pull"
