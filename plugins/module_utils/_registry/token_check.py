# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a registry takes a key, asked from the account: the token dance of a container tool, and nothing more.

The key goes to hosts that the plan names and to no others; no redirect is followed. Source of the dance:
https://distribution.github.io/distribution/spec/auth/token/
"""

from typing import Any, Dict, List, Mapping, NamedTuple, Optional

from .._formats.token_challenge import (
    ChallengeRefused,
    allowed_hosts,
    basic_authorization,
    read_challenge,
    read_token,
    token_address,
)

SECONDS = 10
LARGEST = 1024 * 1024

TAKEN, REFUSED, NOT_ENTITLED, NOT_MEASURED = "valid", "invalid", "not_entitled", "unknown"


class Verdict(NamedTuple):
    """valid, invalid, not_entitled or unknown, and why, in words that hold nothing of the answer."""

    word: str
    why: str


class Answer(NamedTuple):
    """What a server said."""

    status: int
    challenges: List[str]  # the headers that say where tokens are given
    body: bytes


def verdict(registry: Mapping[str, Any], login: str, password: str) -> Verdict:
    """What the registry says of the key. registry: address, repository, realms (hosts that may see it), ca (PEM)."""
    try:
        where = realm_of(registry)
        known = _status(where, registry, login, password)
        stranger = _status(where, registry, login, "nvapi-" + "0" * 64)
    except Unclear as error:
        return Verdict(NOT_MEASURED, str(error))
    if known == 200 and stranger == 200:
        return Verdict(NOT_MEASURED, "the registry gives a token for a wrong key, too")
    words = {200: TAKEN, 401: REFUSED, 403: NOT_ENTITLED}
    return Verdict(words[known], "the registry answers %d to the key as it stands in the file" % known)


class Unclear(Exception):
    """It could not be found out."""


def realm_of(registry: Mapping[str, Any]) -> str:
    """Where tokens are given, which the registry says to one who shows no key. Raises Unclear."""
    answer = asked("%s/v2/%s/manifests/latest" % (registry["address"], registry["repository"]), {}, registry)
    host = registry["address"].partition("://")[2]
    try:
        if answer.status == 401:
            hosts = allowed_hosts(host, registry.get("realms") or ())
            return token_address(read_challenge(answer.challenges), hosts, registry["repository"])
    except ChallengeRefused:
        pass  # its sentence shows what the registry said
    raise Unclear("the registry does not say where it gives tokens, or names a host that may not see a key")


def _status(where: str, registry: Mapping[str, Any], login: str, password: str) -> int:
    answer = asked(where, {"Authorization": basic_authorization(login, password)}, registry)
    if answer.status == 200 and not read_token(answer.body):
        raise Unclear("the response contains no token: does a proxy or a login page answer for the registry?")
    if answer.status not in (200, 401, 403):
        raise Unclear("the registry answers %d" % answer.status)
    return answer.status


def asked(address: str, headers: Dict[str, str], registry: Mapping[str, Any]) -> Answer:
    """What a server answers; no redirect is followed. registry: ca (PEM), unless a public one. Raises Unclear."""
    import http.client
    import ssl
    import urllib.error
    import urllib.request

    class Stay(urllib.request.HTTPRedirectHandler):
        """A redirect could lead a key elsewhere."""

        def redirect_request(self, *_arguments: Any, **_more: Any) -> Optional[Any]:
            return None

    context = ssl.create_default_context(cadata=registry.get("ca") or None)
    opener = urllib.request.build_opener(Stay, urllib.request.HTTPSHandler(context=context))
    try:
        with opener.open(urllib.request.Request(address, headers=headers), timeout=SECONDS) as answer:
            return Answer(answer.status, [], answer.read(LARGEST))
    except urllib.error.HTTPError as error:
        return Answer(error.code, error.headers.get_all("WWW-Authenticate") or [], b"")
    except (OSError, ValueError, http.client.HTTPException):
        raise Unclear("the registry cannot be reached from the account") from None
