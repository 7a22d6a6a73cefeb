# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Look up an image's digest and size at its registry, from the account and with the key of the container tool.

So a key that the registry refuses is reported before a job waits in a queue to import the image.

Source: https://distribution.github.io/distribution/spec/api/#pulling-an-image
"""

import hashlib
import json
import os
from typing import Dict, Mapping, NamedTuple, Tuple

from .._formats import docker_auth, enroot
from .._formats.token_challenge import (
    MANIFEST_TYPES,
    ChallengeRefused,
    allowed_hosts,
    basic_authorization,
    needs_basic_login,
    read_challenge,
    read_token,
    token_address,
)
from .._options.image_name import ImageName
from .token_check import NO_TOKEN, NO_TOKEN_ADDRESS, RegistryResponse, RegistryUnclear, fetch

UNEXPECTED_STATUS = "%s returned HTTP status %d"
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64", "ppc64le": "ppc64le"}  # names of the kernel -> of registries


class ImageLookup(NamedTuple):
    """The result of a look-up: the digest of an image and the size of its layers, or why the digest is unknown."""

    digest: str  # empty if unknown
    bytes: int  # of all layers; 0 if unknown
    why: str = ""  # why the digest is unknown
    is_certain: bool = False  # True if the registry refused the image, so that a second request would change nothing


def look_up_image(image: ImageName, login: Tuple[str, str]) -> ImageLookup:
    """Return the digest and size of an image at its registry, or why they are unknown.

    login: user and key from the container tool's file; both are empty without a key.
    """
    try:
        header = _fetch_token_header(image, login)
        response = _fetch_manifest(image, image.digest or image.tag, header)
        status = response.status
        if status != 200:
            why = _describe_refusal(image, status, login)
            return ImageLookup(digest="", bytes=0, why=why, is_certain=status in (401, 403, 404))
        digest = image.digest or "sha256:" + hashlib.sha256(response.body).hexdigest()
        manifest = json.loads(response.body)
        for entry in manifest.get("manifests") or []:  # an index names a manifest with layers for each architecture
            if entry.get("platform", {}).get("architecture") == ARCHITECTURES.get(os.uname().machine):
                manifest = json.loads(_fetch_manifest(image, str(entry.get("digest")), header).body)
                break
        return ImageLookup(digest, sum(int(layer.get("size", 0)) for layer in manifest.get("layers") or []))
    except RegistryUnclear as error:
        return ImageLookup(digest="", bytes=0, why=str(error))
    except (AttributeError, TypeError, ValueError, OverflowError, RecursionError):
        why = "the registry's response is not an image manifest: check whether a proxy answers instead"
        return ImageLookup(digest="", bytes=0, why=why)


def _fetch_token_header(image: ImageName, login: Tuple[str, str]) -> Dict[str, str]:
    """Return the Authorization header for the image: a token, or the login if the registry has no token service.

    login: user and key, or two empty texts. Return {} if no header is needed or the login is refused. Raise
    RegistryUnclear without a usable response.
    """
    anonymous_response = _fetch_manifest(image, image.digest or image.tag, header={})
    if anonymous_response.status != 401:  # the image is public, or the next request gets the same error
        return {}
    challenges = anonymous_response.challenges
    _user, key = login
    login_header = {"Authorization": basic_authorization(*login)} if key else {}
    hosts = allowed_hosts(image.registry)  # that may receive the key
    if needs_basic_login(challenges) and image.registry in hosts:  # the registry has no token service
        return login_header
    try:
        address = token_address(read_challenge(challenges), hosts, image.repository)
    except ChallengeRefused:
        raise RegistryUnclear(NO_TOKEN_ADDRESS) from None
    response = fetch(address, login_header, registry={})  # of the token service
    if response.status >= 500 or response.status == 429:  # a failure or a limit, which says nothing about the key
        raise RegistryUnclear(UNEXPECTED_STATUS % (image.registry, response.status))
    if response.status != 200:
        return {}  # the next request, without a token, is refused with a status for the message
    token = read_token(response.body)
    if token is None:
        raise RegistryUnclear(NO_TOKEN)
    return {"Authorization": "Bearer " + token}


def _fetch_manifest(image: ImageName, reference: str, header: Mapping[str, str]) -> RegistryResponse:
    """Return the registry's response for a tag or digest (reference) of the image. header: as _fetch_token_header's."""
    address = "https://%s/v2/%s/manifests/%s" % (image.registry, image.repository, reference)
    return fetch(address, dict(header, Accept=MANIFEST_TYPES), registry={})  # {}: the system's certificates


def _describe_refusal(image: ImageName, status: int, login: Tuple[str, str]) -> str:
    """Return why the registry refused the image. status: of its HTTP response. login: see look_up_image."""
    name = "%s@%s" % (image.repository, image.digest) if image.digest else "%s:%s" % (image.repository, image.tag)
    if status == 404:
        part = "digest" if image.digest else "tag"
        return "%s has no image %s: check its name and %s" % (image.registry, name, part)
    if status not in (401, 403):
        return UNEXPECTED_STATUS % (image.registry, status)
    if login[1]:  # a key was sent
        return "%s refuses access to %s with the key in the container tool's key file" % (image.registry, name)
    text = "%s requires a key for %s, but the container tool's key file contains no key for this registry"
    return text % (image.registry, name)


def find_login(text: str, is_enroot: bool, registry: str) -> Tuple[str, str]:
    """Return the user and key for a registry as the container tool finds them in its file; both are empty if none.

    text: the content of the file, or "" without a file. is_enroot: True for enroot's format, False for Docker's.
    """
    if not text:
        return "", ""
    if is_enroot:
        user, key = enroot.find_curl_login(text, registry.partition(":")[0])  # without the port
        return user or "", key or ""
    login = docker_auth.find(text, registry)
    return (login.user, login.password) if login else ("", "")
