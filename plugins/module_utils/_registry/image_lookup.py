# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which digest a tag stands for by now, and how much there is to fetch: asked from the account, with the key that the
container tool will show, so that one that is not taken is known before a job waits in a queue for it.

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
    read_challenge,
    read_token,
    token_address,
)
from .._options.image_name import ImageName
from .token_check import Answer, Unclear, asked

MACHINES = {"x86_64": "amd64", "aarch64": "arm64", "ppc64le": "ppc64le"}


class Looked(NamedTuple):
    """What the registry says: the digest, the bytes of its layers (0 where it does not say), or why there is neither.

    is_certain: whether the registry itself has said that it cannot be had; else it was not reached.
    """

    digest: str
    bytes: int
    why: str = ""
    is_certain: bool = False


def looked_up(image: ImageName, login: Tuple[str, str]) -> Looked:
    """Ask for an image. login: user and key as they stand in the tool's file, both empty for nobody's."""
    try:
        header = _token(image, login)
        answer = _manifest(image, image.digest or image.tag, header)
        if answer.status != 200:
            return Looked("", 0, _refusal(image, answer.status, login), answer.status in (401, 403, 404))
        digest = image.digest or "sha256:" + hashlib.sha256(answer.body).hexdigest()
        document = _json(answer.body)
        for one in document.get("manifests") or []:
            if one.get("platform", {}).get("architecture") == MACHINES.get(os.uname().machine):
                document = _json(_manifest(image, str(one.get("digest")), header).body)
                break
        return Looked(digest, sum(int(layer.get("size", 0)) for layer in document.get("layers") or []))
    except Unclear as error:
        return Looked("", 0, str(error))
    except (AttributeError, TypeError, ValueError):
        return Looked("", 0, "the registry's answer is no manifest: does a proxy answer in its place?")


def _token(image: ImageName, login: Tuple[str, str]) -> Dict[str, str]:
    """The header that shows a token, where the registry wants one. Raises Unclear."""
    first = _manifest(image, image.digest or image.tag, {})
    if first.status != 401:
        return {}
    try:
        hosts = allowed_hosts(image.registry)
        where = token_address(read_challenge(first.challenges), hosts, image.repository)
    except ChallengeRefused:
        raise Unclear(
            "the registry does not say where it gives tokens, or names a host that may not see a key"
        ) from None
    headers = {"Authorization": basic_authorization(*login)} if login[1] else {}
    answer = asked(where, headers, {})
    if answer.status != 200:
        return {}  # without one, the registry says itself that it cannot be had
    token = read_token(answer.body)
    if token is None:
        raise Unclear("the response contains no token: does a proxy or a login page answer for the registry?")
    return {"Authorization": "Bearer " + token}


def _manifest(image: ImageName, reference: str, header: Mapping[str, str]) -> Answer:
    address = "https://%s/v2/%s/manifests/%s" % (image.registry, image.repository, reference)
    return asked(address, dict(header, Accept=MANIFEST_TYPES), {})


def _json(body: bytes) -> Dict[str, Any]:
    document = json.loads(body.decode("utf-8"))
    if not isinstance(document, dict):
        raise ValueError
    return document


def _refusal(image: ImageName, status: int, login: Tuple[str, str]) -> str:
    what = "%s:%s" % (image.repository, image.tag)
    if status == 404:
        return "%s has no image %s: is its name right?" % (image.registry, what)
    if status in (401, 403):
        key = "does not give %s to the key in the tool's file" if login[1] else "wants a key for %s, and none is there"
        return ("%s " + key) % (image.registry, what)
    return "%s answers %d" % (image.registry, status)


def login_in(text: Optional[str], is_enroot: bool, registry: str) -> Tuple[str, str]:
    """User and key for a registry, as the container tool finds them in its file; both empty where there are none."""
    if not text:
        return "", ""
    if is_enroot:
        user, key = enroot.curl_login(text, registry.partition(":")[0])
        return user or "", key or ""
    found = docker_auth.find(text, registry)
    return (found.user, found.password) if found else ("", "")
