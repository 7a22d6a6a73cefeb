# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Test a key at a container registry, from the account: request a token with the key, as a container tool does.

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

SECONDS = 10  # for one request
LARGEST = 1024 * 1024  # bytes of a response that are read

VALID, REFUSED, NOT_ENTITLED, UNKNOWN = "valid", "invalid", "not_entitled", "unknown"
"""Verdicts on a key. NOT_ENTITLED: the registry does not refuse the key, but denies access."""

WRONG_KEY = "nvapi-" + "0" * 64  # in the form of an NGC key

NO_TOKEN_ADDRESS = "the registry sent no token address, or the address of a host that may not receive the key"
NO_TOKEN = "the registry's response contains no token: check whether a proxy or a login page answers instead"


class RegistryVerdict(NamedTuple):
    """A registry's verdict on a key."""

    word: str  # VALID, REFUSED, NOT_ENTITLED or UNKNOWN
    why: str  # the reason, which quotes nothing of the response


class RegistryResponse(NamedTuple):
    """The response of a server."""

    status: int
    challenges: List[str]  # WWW-Authenticate headers, which name the token address
    body: bytes


def check_key(registry: Mapping[str, Any], login: str, password: str) -> RegistryVerdict:
    """Return the registry's verdict on a key. Also send a wrong key, to see whether the registry checks keys at all.

    registry: its "address" with https://, a "repository" to request a token for, "realms" (hosts that may receive the
    key), and "ca" (certificates in PEM, if the system's are not enough). login: the user name. password: the key.
    """
    try:
        address = _find_token_address(registry)
        status = _fetch_token_status(address, registry, login, password)
        status_of_wrong_key = _fetch_token_status(address, registry, login, WRONG_KEY)
    except RegistryUnclear as error:
        return RegistryVerdict(UNKNOWN, str(error))
    if status == 200 and status_of_wrong_key == 200:
        return RegistryVerdict(UNKNOWN, "the registry accepts a wrong key as well, so this test proves nothing")
    word_of_status = {200: VALID, 401: REFUSED, 403: NOT_ENTITLED}
    return RegistryVerdict(
        word_of_status[status], "the registry returned HTTP status %d for the key in the file" % status
    )


class RegistryUnclear(Exception):
    """The registry gave no usable response; the text says why."""


def _find_token_address(registry: Mapping[str, Any]) -> str:
    """Return the token address that the registry names in response to a request without a key.

    Raise RegistryUnclear if the response names no address, or an address on a host that may not receive the key.
    """
    manifest_address = "%s/v2/%s/manifests/latest" % (registry["address"], registry["repository"])
    response = fetch(manifest_address, headers={}, registry=registry)
    host = registry["address"].partition("://")[2]
    try:
        if response.status == 401:  # else the registry requires no token
            hosts = allowed_hosts(host, registry.get("realms") or ())
            return token_address(read_challenge(response.challenges), hosts, registry["repository"])
    except ChallengeRefused:
        pass  # the text of this error quotes the registry, which may be hostile
    raise RegistryUnclear(NO_TOKEN_ADDRESS)


def _fetch_token_status(address: str, registry: Mapping[str, Any], login: str, password: str) -> int:
    """Request a token with this key, and return the HTTP status: 200, 401 or 403.

    Raise RegistryUnclear for any other status, and for 200 without a token.
    """
    response = fetch(address, {"Authorization": basic_authorization(login, password)}, registry)
    if response.status == 200 and not read_token(response.body):
        raise RegistryUnclear(NO_TOKEN)
    if response.status not in (200, 401, 403):
        raise RegistryUnclear("the registry returned HTTP status %d" % response.status)
    return response.status


def fetch(address: str, headers: Dict[str, str], registry: Mapping[str, Any]) -> RegistryResponse:
    """Send a GET request, and return the response; redirects are not followed. Raise RegistryUnclear without response.

    registry: its "ca" contains the certificates (PEM) to trust; without "ca", those of the system are trusted.
    """
    import http.client  # imported late: slow, and few runs ask a registry
    import ssl
    import urllib.error
    import urllib.request

    class RedirectRefusal(urllib.request.HTTPRedirectHandler):
        """Refuses redirects, which could send the key elsewhere."""

        def redirect_request(self, *_arguments: Any, **_options: Any) -> Optional[Any]:
            """Return None: the opener then raises HTTPError with the status of the redirect."""
            return None

    context = ssl.create_default_context(cadata=registry.get("ca") or None)
    opener = urllib.request.build_opener(RedirectRefusal, urllib.request.HTTPSHandler(context=context))
    try:
        with opener.open(urllib.request.Request(address, headers=headers), timeout=SECONDS) as response:
            return RegistryResponse(response.status, [], response.read(LARGEST))
    except urllib.error.HTTPError as error:
        return RegistryResponse(error.code, error.headers.get_all("WWW-Authenticate") or [], b"")
    except (OSError, ValueError, http.client.HTTPException):
        raise RegistryUnclear("the registry cannot be reached from this account") from None
