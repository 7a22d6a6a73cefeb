# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a container registry says of a key: the token that it gives for it, and the image that the token opens.

A 200 alone proves nothing: registries give tokens and public images to anybody. So each 200 is compared with what a
random key of the same form gets, and an image also with what nobody gets. The specification wants 401 for wrong
credentials even where anonymous access would do; where a registry does not keep to that, the level is not measured.
Sources: distribution.github.io/distribution/spec/auth/token and spec/api; github.com/NVIDIA/enroot issue 161.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import urlsplit

from ...module_utils._formats.token_challenge import Refused, allowed_hosts, read_challenge, token_address
from .https import Answer, Line, Question, Unreached
from .key_kinds import Key, stranger
from .verdict import MANIFEST, TOKEN, Finding, Verdict

LOGIN = "$oauthtoken"
MEDIA = ", ".join(
    f"application/vnd.{kind}+json"
    for kind in (
        "oci.image.index.v1",
        "oci.image.manifest.v1",
        "docker.distribution.manifest.list.v2",
        "docker.distribution.manifest.v2",
    )
)

_HOST = re.compile(r"(?:[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?")
_WORD = r"[a-z0-9]+(?:[._-]+[a-z0-9]+)*"
_IMAGE = re.compile(rf"{_WORD}(?:/{_WORD})*:[A-Za-z0-9_][A-Za-z0-9._-]{{0,127}}")
_BEARER = re.compile(r"[A-Za-z0-9._~+/=-]{1,65536}")


@dataclass(frozen=True)
class Place:
    """An image in a registry, and the hosts that may see a key for it."""

    registry: str
    image: str
    realms: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not _HOST.fullmatch(self.registry) or not _IMAGE.fullmatch(self.image):
            raise ValueError(
                f"{self.registry!r} is no registry (host or host:port), or {self.image!r} no image of one"
                " (repository:tag, without the registry's name)"
            )

    @property
    def repository(self) -> str:
        """The image without its tag."""
        return self.image.rpartition(":")[0]

    @property
    def allowed(self) -> tuple[str, ...]:
        """The hosts that may be asked for a token."""
        return allowed_hosts(self.registry, self.realms)

    @property
    def manifest(self) -> str:
        """The address of the image's manifest."""
        repository, _colon, tag = self.image.rpartition(":")
        return f"https://{self.registry}/v2/{repository}/manifests/{tag}"


class _Step(NamedTuple):
    """How far somebody got: the status where the token is given, and that of the manifest for who has a token."""

    token: int
    manifest: int | None = None


class _Open(Exception):
    """The registry wants no login at all for this image."""


def token_level(key: Key, place: Place, line: Line) -> Finding:
    """Whether the registry gives a token for this key and not for a wrong one."""
    return _reported(TOKEN, place, lambda: _token_finding(key, place, line))


def manifest_level(key: Key, place: Place, line: Line) -> Finding:
    """Whether this key opens the image, which a wrong key and nobody at all do not."""
    return _reported(MANIFEST, place, lambda: _manifest_finding(key, place, line))


def _reported(level: str, place: Place, find: Callable[[], Finding]) -> Finding:
    """The finding, also where there was no answer to find it in."""
    try:
        return find()
    except Unreached as error:
        return Finding(level, Verdict.UNREACHABLE, str(error), error.status)
    except Refused as error:
        return Finding(level, Verdict.NOT_MEASURED, str(error))
    except _Open:
        return Finding(level, Verdict.NOT_MEASURED, _public(place), 200)


def _token_finding(key: Key, place: Place, line: Line) -> Finding:
    address = _token_address(place, line)
    status, _token = _granted(address, key, line)
    if status == 401:
        return _invalid(TOKEN, place)
    why = ""
    try:
        control, _token = _granted(address, stranger(key), line)
    except Unreached as error:
        control, why = 0, str(error)
    if status == 403:
        return _not_entitled(TOKEN, place, 403, same=control == 403)
    if control == 0:
        sentence = f"{place.registry} gave a token, but a wrong key could not be tried, so it proves nothing ({why})"
        return Finding(TOKEN, Verdict.NOT_MEASURED, sentence, status)
    if control == 200:
        sentence = (
            f"inconclusive: {place.registry} gives a token for a wrong key too;"
            " name a private image of yours as the canary"
        )
        return Finding(TOKEN, Verdict.NOT_MEASURED, sentence, status)
    return Finding(TOKEN, Verdict.VALID, f"{place.registry} takes the key and refuses a wrong one", status)


def _manifest_finding(key: Key, place: Place, line: Line) -> Finding:
    address = _token_address(place, line)
    step = _pulled(address, place, key, line)
    if step.token == 401:
        return _invalid(MANIFEST, place)
    if step.manifest != 200:
        wrong = _pulled(address, place, stranger(key), line)
        return _not_entitled(MANIFEST, place, step.manifest or step.token, same=wrong == step)
    for other in (stranger(key), None):
        if _pulled(address, place, other, line).manifest == 200:
            return Finding(MANIFEST, Verdict.NOT_MEASURED, _public(place), 200)
    return Finding(MANIFEST, Verdict.VALID, f"the key opens {place.image}, which is shut to others", 200)


def _token_address(place: Place, line: Line) -> str:
    """Where the registry gives tokens for this image. Nothing secret is sent to learn it."""
    answer = line.ask(Question(place.manifest, "HEAD", {"Accept": MEDIA}))
    if answer.status == 200 and _is_manifest(answer):
        raise _Open
    if answer.status != 401:
        raise Unreached(
            f"{place.registry} answers HTTP {answer.status} where a registry asks for a login: is the address right?",
            answer.status,
        )
    return token_address(
        read_challenge(answer.headers.get_all("WWW-Authenticate") or []), place.allowed, place.repository
    )


def _granted(address: str, key: Key | None, line: Line) -> tuple[int, str]:
    """200 and a token, or 401 or 403."""
    headers = {}
    if key is not None:
        headers["Authorization"] = "Basic " + base64.b64encode(f"{LOGIN}:{key.value}".encode()).decode()
    answer = line.ask(Question(address, "GET", headers))
    if answer.status in (401, 403):
        return answer.status, ""
    token = _token_in(answer.body) if answer.status == 200 else None
    if token is None:
        host = urlsplit(address).netloc
        raise Unreached(
            f"{host} answers HTTP {answer.status} without a token: does a proxy stand between?", answer.status
        )
    return 200, token


def _token_in(body: bytes) -> str | None:
    """The token of an answer; registries call it by two names."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return None
    named = [document.get(name) for name in ("token", "access_token")] if isinstance(document, dict) else []
    return next((one for one in named if isinstance(one, str) and _BEARER.fullmatch(one)), None)


def _pulled(address: str, place: Place, key: Key | None, line: Line) -> _Step:
    """How far this key, or nobody, gets on the way to the image."""
    status, token = _granted(address, key, line)
    if status != 200:
        return _Step(status)
    answer = line.ask(Question(place.manifest, "HEAD", {"Accept": MEDIA, "Authorization": f"Bearer {token}"}))
    if answer.status not in (200, 401, 403, 404) or (answer.status == 200 and not _is_manifest(answer)):
        raise Unreached(f"{place.registry} answers HTTP {answer.status} to a token that it gave", answer.status)
    return _Step(200, answer.status)


def _is_manifest(answer: Answer) -> bool:
    """Whether a 200 comes from a registry, and not from what stands between."""
    return answer.headers.get_content_type() in MEDIA and bool(answer.headers.get("Docker-Content-Digest"))


def _invalid(level: str, place: Place) -> Finding:
    sentence = f"{place.registry} does not know the key (HTTP 401): it was revoked, has expired or is another one's"
    return Finding(level, Verdict.INVALID, sentence, 401)


def _not_entitled(level: str, place: Place, status: int, same: bool) -> Finding:
    """same: a wrong key is refused in the same way, so this one may be wrong altogether."""
    what = f"the key does not open {place.image} (HTTP {status}): "
    what += "does its user see that image, and do its services include NGC Catalog and Private Registry?"
    what += " A tag that does not exist looks the same." if status == 404 else ""
    doubt = " A wrong key is refused in the same way, so it may be wrong altogether." if same else ""
    return Finding(level, Verdict.NOT_ENTITLED, what + doubt, status)


def _public(place: Place) -> str:
    return f"inconclusive: {place.image} is open to anybody; name an image that only you can pull"
