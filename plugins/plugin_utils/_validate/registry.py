# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Check a key with a container registry: request a token with the key, and an image with the token.

A status of 200 proves nothing: registries give tokens and public images to anyone. So each 200 is compared with the
response to a random key of the same form, and for an image also with the response without a key. The specification
requires 401 for wrong credentials even if anonymous access is allowed; for other registries, the level is unknown.

The results are findings of two levels of validation (TOKEN, MANIFEST), each with a verdict. NOT_ENTITLED: the registry
refuses access to the image. UNREACHABLE: no response about the key. NOT_MEASURED: the level cannot tell.
ChallengeRefused: the registry names an address for token requests to which the key must not be sent.
Sources: distribution.github.io/distribution/spec/auth/token and spec/api; github.com/NVIDIA/enroot issue 161.
"""

from __future__ import annotations

import re
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

LOGIN = "$oauthtoken"  # user name for all keys of NGC

# HOST or [IPv6 address], with an optional :PORT; and REPOSITORY:TAG, whose repository has words between slashes
_HOST = re.compile(r"(?:[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?")
_WORD = r"[a-z0-9]+(?:[._-]+[a-z0-9]+)*"
_IMAGE = re.compile(rf"{_WORD}(?:/{_WORD})*:[A-Za-z0-9_][A-Za-z0-9._-]{{0,127}}")


@dataclass(frozen=True)
class RegistryImage:
    """An image (repository:tag) in a registry. realms: hosts that may receive a key for the image."""

    registry: str
    image: str
    realms: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Raise ValueError for an invalid registry or image."""
        if not _HOST.fullmatch(self.registry):
            raise ValueError(f"{self.registry!r} is not a registry: expected HOST or HOST:PORT")
        if not _IMAGE.fullmatch(self.image):
            raise ValueError(f"{self.image!r} is not an image: expected REPOSITORY:TAG without the registry's name")

    @property
    def repository(self) -> str:
        """Return the image without its tag."""
        return self.image.rpartition(":")[0]

    @property
    def token_hosts(self) -> tuple[str, ...]:
        """Return the hosts from which a token may be requested."""
        return allowed_hosts(self.registry, self.realms)

    @property
    def manifest_url(self) -> str:
        """Return the address of the image's manifest."""
        repository, _colon, tag = self.image.rpartition(":")
        return f"https://{self.registry}/v2/{repository}/manifests/{tag}"


class PullStatus(NamedTuple):
    """HTTP status of the request for a token, and of the request for the manifest; None if no token was returned."""

    token: int
    manifest: int | None = None


class _LoginNotRequired(Exception):
    """The image is public."""


def check_registry(level: str, key: CheckedKey, image: RegistryImage, client: HttpsClient) -> LevelFinding:
    """Return the finding of the level TOKEN or MANIFEST.

    TOKEN: valid if the registry returns a token for this key, but not for a random key. MANIFEST: valid if this key can
    pull the image, but a random key and no key cannot.
    """
    try:
        return _judge_token(key, image, client) if level == TOKEN else _judge_manifest(key, image, client)
    except ServiceUnreachable as error:
        return LevelFinding(level, KeyVerdict.UNREACHABLE, str(error), error.status)
    except ChallengeRefused as error:
        return LevelFinding(level, KeyVerdict.NOT_MEASURED, str(error))
    except _LoginNotRequired:
        return LevelFinding(level, KeyVerdict.NOT_MEASURED, _describe_public(image), status=200)


def _judge_token(key: CheckedKey, image: RegistryImage, client: HttpsClient) -> LevelFinding:
    """Return the finding of TOKEN, from the statuses for this key and for a random key (control)."""
    address = _find_token_address(image, client)
    status, _token = _request_token(address, key, client)
    if status == 401:
        return _report_invalid(TOKEN, image)
    try:
        control_status, _token = _request_token(address, random_key_like(key), client)
    except ServiceUnreachable as error:  # without the control, a refusal counts, but a token proves nothing
        if status == 403:
            return _report_not_entitled(TOKEN, image, status, is_any_key_refused=False)
        sentence = f"inconclusive: {image.registry} issued a token, but a wrong key could not be tested ({error})"
        return LevelFinding(TOKEN, KeyVerdict.NOT_MEASURED, sentence, status)
    if status == 403:
        return _report_not_entitled(TOKEN, image, status, is_any_key_refused=control_status == 403)
    if control_status == 200:
        sentence = (
            f"inconclusive: {image.registry} also issues a token for a wrong key; set an image that only you can pull:"
            f" {describe_options('rotate', '--canary-image', 'REPOSITORY:TAG')}"
        )
        return LevelFinding(TOKEN, KeyVerdict.NOT_MEASURED, sentence, status)
    return LevelFinding(TOKEN, KeyVerdict.VALID, f"{image.registry} accepts the key and refuses a wrong key", status)


def _judge_manifest(key: CheckedKey, image: RegistryImage, client: HttpsClient) -> LevelFinding:
    """Return the finding of MANIFEST, from pulls with this key, with a random key, and without a key."""
    address = _find_token_address(image, client)
    pull = _pull(address, image, key, client)
    if pull.token == 401:
        return _report_invalid(MANIFEST, image)
    if pull.manifest != 200:
        control_pull = _pull(address, image, random_key_like(key), client)
        status = pull.manifest or pull.token  # without a token, the manifest was not requested
        return _report_not_entitled(MANIFEST, image, status, is_any_key_refused=control_pull == pull)
    for other_key in (random_key_like(key), None):
        if _pull(address, image, other_key, client).manifest == 200:
            return LevelFinding(MANIFEST, KeyVerdict.NOT_MEASURED, _describe_public(image), status=200)
    return LevelFinding(MANIFEST, KeyVerdict.VALID, f"the key can pull {image.image}, which is not public", status=200)


def _find_token_address(image: RegistryImage, client: HttpsClient) -> str:
    """Return the address for token requests, which the registry names if a request has no key.

    Raise _LoginNotRequired for a public image.
    """
    response = client.send(HttpRequest(image.manifest_url, "HEAD", {"Accept": MANIFEST_TYPES}))
    if response.status == 200 and _is_manifest(response):
        raise _LoginNotRequired
    if response.status != 401:
        raise ServiceUnreachable(
            f"{image.registry} did not request a login (HTTP {response.status}): check the address",
            response.status,
        )
    challenge = read_challenge(response.headers.get_all("WWW-Authenticate") or [])
    return token_address(challenge, image.token_hosts, image.repository)


def _request_token(address: str, key: CheckedKey | None, client: HttpsClient) -> tuple[int, str]:
    """Return 200 and a token, or 401 or 403 and "". Without a key, request the token as an anonymous user."""
    headers = {"Authorization": basic_authorization(LOGIN, key.value)} if key else {}
    response = client.send(HttpRequest(address, "GET", headers))
    if response.status in (401, 403):
        return response.status, ""
    token = read_token(response.body) if response.status == 200 else None
    if token is None:
        raise ServiceUnreachable(
            f"{urlsplit(address).netloc} returned no token (HTTP {response.status}): check whether a proxy interferes",
            response.status,
        )
    return 200, token


def _pull(address: str, image: RegistryImage, key: CheckedKey | None, client: HttpsClient) -> PullStatus:
    """Try to pull the image with this key, or without a key, and return the statuses."""
    status, token = _request_token(address, key, client)
    if status != 200:
        return PullStatus(token=status)
    headers = {"Accept": MANIFEST_TYPES, "Authorization": f"Bearer {token}"}
    response = client.send(HttpRequest(image.manifest_url, "HEAD", headers))
    if response.status not in (200, 401, 403, 404) or (response.status == 200 and not _is_manifest(response)):
        raise ServiceUnreachable(
            f"{image.registry} returned an unexpected response to a request with a valid token"
            f" (HTTP {response.status}): check whether a proxy interferes",
            response.status,
        )
    return PullStatus(token=200, manifest=response.status)


def _is_manifest(response: HttpResponse) -> bool:
    """Return True if a response with status 200 is from a registry, and not from a proxy."""
    has_manifest_type = response.headers.get_content_type() in MANIFEST_TYPES
    return has_manifest_type and bool(response.headers.get("Docker-Content-Digest"))


def _report_invalid(level: str, image: RegistryImage) -> LevelFinding:
    """Return the finding for status 401 to the request for a token."""
    sentence = (
        f"{image.registry} does not accept the key (HTTP 401): it was revoked, has expired or belongs to another user"
    )
    return LevelFinding(level, KeyVerdict.INVALID, sentence, status=401)


def _report_not_entitled(level: str, image: RegistryImage, status: int, is_any_key_refused: bool) -> LevelFinding:
    """Return the finding for a key that cannot pull the image. status: of HTTP.

    is_any_key_refused: the registry also refuses a random key, so the key may be invalid.
    """
    sentences = [
        f"the key cannot pull {image.image} (HTTP {status}): check that you have access to the image, and that the"
        " services of the key include NGC Catalog and Private Registry"
    ]
    if status == 404:
        sentences.append("The registry also returns this status for a missing tag")
    if is_any_key_refused:
        sentences.append("The registry responds in the same way to a wrong key, so this key may be wrong")
    return LevelFinding(level, KeyVerdict.NOT_ENTITLED, ". ".join(sentences), status)


def _describe_public(image: RegistryImage) -> str:
    """Return the sentence about an image that says nothing about a key, because anyone can pull it."""
    return f"inconclusive: {image.image} is public; set an image that only you can pull"
