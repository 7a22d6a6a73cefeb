# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The query for a tag's digest and size, from the account and with the key of the container tool.

A key that the registry refuses is reported before a job waits in a queue for the import.

Source: https://distribution.github.io/distribution/spec/api/#pulling-an-image
"""

import hashlib
import json
import os
from typing import Any, Dict, Mapping, NamedTuple, Optional, Tuple

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
from .token_check import RegistryResponse, RegistryUnclear, fetch

MACHINES = {"x86_64": "amd64", "aarch64": "arm64", "ppc64le": "ppc64le"}


class ImageLookup(NamedTuple):
    """The digest of an image and the bytes of its layers (0 if unknown), or why there is none.

    is_certain: True if the registry itself refused the image, False if it gave no answer.
    """

    digest: str
    bytes: int
    why: str = ""
    is_certain: bool = False


def look_up_image(image: ImageName, login: Tuple[str, str]) -> ImageLookup:
    """Query the registry for an image. login: user and key of the tool's file; both empty for none."""
    try:
        header = _fetch_token_header(image, login)
        answer = _fetch_manifest(image, image.digest or image.tag, header)
        if answer.status != 200:
            return ImageLookup("", 0, _describe_refusal(image, answer.status, login), answer.status in (401, 403, 404))
        digest = image.digest or "sha256:" + hashlib.sha256(answer.body).hexdigest()
        document = _parse_json(answer.body)
        for one in document.get("manifests") or []:
            if one.get("platform", {}).get("architecture") == MACHINES.get(os.uname().machine):
                document = _parse_json(_fetch_manifest(image, str(one.get("digest")), header).body)
                break
        return ImageLookup(digest, sum(int(layer.get("size", 0)) for layer in document.get("layers") or []))
    except RegistryUnclear as error:
        return ImageLookup("", 0, str(error))
    except (AttributeError, TypeError, ValueError):
        return ImageLookup("", 0, "the registry's response is not a manifest: does a proxy answer in its place?")


def _fetch_token_header(image: ImageName, login: Tuple[str, str]) -> Dict[str, str]:
    """Return the header with a token, or with the login if the registry wants that. Raises RegistryUnclear."""
    first = _fetch_manifest(image, image.digest or image.tag, {})
    if first.status != 401:
        return {}
    headers = {"Authorization": basic_authorization(*login)} if login[1] else {}
    hosts = allowed_hosts(image.registry)
    if needs_basic_login(first.challenges) and image.registry in hosts:
        return headers
    try:
        where = token_address(read_challenge(first.challenges), hosts, image.repository)
    except ChallengeRefused:
        raise RegistryUnclear(
            "the registry names no token address, or one on a host that is not allowed to get the key"
        ) from None
    answer = fetch(where, headers, {})
    if answer.status != 200:
        return {}  # without a token, the registry refuses the image itself
    token = read_token(answer.body)
    if token is None:
        raise RegistryUnclear("the response contains no token: does a proxy or a login page answer for the registry?")
    return {"Authorization": "Bearer " + token}


def _fetch_manifest(image: ImageName, reference: str, header: Mapping[str, str]) -> RegistryResponse:
    """Return the registry's response for a tag or digest of the image."""
    address = "https://%s/v2/%s/manifests/%s" % (image.registry, image.repository, reference)
    return fetch(address, dict(header, Accept=MANIFEST_TYPES), {})


def _parse_json(body: bytes) -> Dict[str, Any]:
    """Return the JSON object in a response. Raise ValueError for anything else."""
    document = json.loads(body.decode("utf-8"))
    if not isinstance(document, dict):
        raise ValueError
    return document


def _describe_refusal(image: ImageName, status: int, login: Tuple[str, str]) -> str:
    """Return why the registry gave no image, from its HTTP status."""
    what = "%s:%s" % (image.repository, image.tag)
    if status == 404:
        return "%s has no image %s: check its name and tag" % (image.registry, what)
    if status in (401, 403):
        key = (
            "refuses %s for the key in the tool's file"
            if login[1]
            else "needs a key for %s, but the tool's file has none"
        )
        return ("%s " + key) % (image.registry, what)
    return "%s answers %d" % (image.registry, status)


def find_login(text: Optional[str], is_enroot: bool, registry: str) -> Tuple[str, str]:
    """Return user and key for a registry as the container tool finds them in its file, or two empty texts."""
    if not text:
        return "", ""
    if is_enroot:
        user, key = enroot.find_curl_login(text, registry.partition(":")[0])
        return user or "", key or ""
    found = docker_auth.find(text, registry)
    return (found.user, found.password) if found else ("", "")
