# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The check of a key by a registry, from the account: only the token exchange of a container tool.

The key is sent only to hosts that the plan names, and no redirect is followed. Source of the protocol:
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


class RegistryVerdict(NamedTuple):
    """valid, invalid, not_entitled or unknown, and the reason, which quotes nothing of the response."""

    word: str
    why: str


class RegistryResponse(NamedTuple):
    """The response of a server."""

    status: int
    challenges: List[str]  # WWW-Authenticate headers, which name the token address
    body: bytes


def check_key(registry: Mapping[str, Any], login: str, password: str) -> RegistryVerdict:
    """Return the registry's verdict. registry: address, repository, realms (hosts that may get the key), ca (PEM)."""
    try:
        where = find_token_address(registry)
        own = _fetch_token_status(where, registry, login, password)
        wrong = _fetch_token_status(where, registry, login, "nvapi-" + "0" * 64)
    except RegistryUnclear as error:
        return RegistryVerdict(NOT_MEASURED, str(error))
    if own == 200 and wrong == 200:
        return RegistryVerdict(NOT_MEASURED, "the registry accepts a wrong key as well, so this test proves nothing")
    words = {200: TAKEN, 401: REFUSED, 403: NOT_ENTITLED}
    return RegistryVerdict(words[own], "the registry answers %d to the key in the file" % own)


class RegistryUnclear(Exception):
    """The registry gave no usable answer. The message says why."""


def find_token_address(registry: Mapping[str, Any]) -> str:
    """Return the token address, which the registry names if asked without a key. Raises RegistryUnclear."""
    answer = fetch("%s/v2/%s/manifests/latest" % (registry["address"], registry["repository"]), {}, registry)
    host = registry["address"].partition("://")[2]
    try:
        if answer.status == 401:
            hosts = allowed_hosts(host, registry.get("realms") or ())
            return token_address(read_challenge(answer.challenges), hosts, registry["repository"])
    except ChallengeRefused:
        pass  # its message quotes the registry
    raise RegistryUnclear("the registry names no token address, or one on a host that is not allowed to get the key")


def _fetch_token_status(where: str, registry: Mapping[str, Any], login: str, password: str) -> int:
    """Return the HTTP status for a token with this key: 200, 401 or 403. Raise RegistryUnclear for others."""
    answer = fetch(where, {"Authorization": basic_authorization(login, password)}, registry)
    if answer.status == 200 and not read_token(answer.body):
        raise RegistryUnclear("the response contains no token: does a proxy or a login page answer for the registry?")
    if answer.status not in (200, 401, 403):
        raise RegistryUnclear("the registry answers %d" % answer.status)
    return answer.status


def fetch(address: str, headers: Dict[str, str], registry: Mapping[str, Any]) -> RegistryResponse:
    """Return the response of a server, without following redirects. registry: its ca (PEM). Raises RegistryUnclear."""
    import http.client
    import ssl
    import urllib.error
    import urllib.request

    class RedirectRefusal(urllib.request.HTTPRedirectHandler):
        """Refuses redirects, which could send the key elsewhere."""

        def redirect_request(self, *_arguments: Any, **_more: Any) -> Optional[Any]:
            return None

    context = ssl.create_default_context(cadata=registry.get("ca") or None)
    opener = urllib.request.build_opener(RedirectRefusal, urllib.request.HTTPSHandler(context=context))
    try:
        with opener.open(urllib.request.Request(address, headers=headers), timeout=SECONDS) as answer:
            return RegistryResponse(answer.status, [], answer.read(LARGEST))
    except urllib.error.HTTPError as error:
        return RegistryResponse(error.code, error.headers.get_all("WWW-Authenticate") or [], b"")
    except (OSError, ValueError, http.client.HTTPException):
        raise RegistryUnclear("the registry cannot be reached from the account") from None
