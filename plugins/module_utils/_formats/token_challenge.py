# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parse the address to which a registry sends its clients for tokens, and decide if a key may be sent there.

A registry answers 401 and names, in WWW-Authenticate, the realm that issues tokens. A hostile or broken registry can
name any address. So a key is sent only to a realm with https on a host that is allowed for that registry, and the token
is requested for pulling one repository, whatever scope the registry names. The controller and the account both use
these functions: with two parsers, the laxer one would decide where a key goes.
Sources: distribution.github.io/distribution/spec/auth/token, RFC 9110 sections 11.2 to 11.6.
"""

import base64
import json
import re
from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

LONGEST = 8192  # bytes of a header
# registry -> hosts that may get a key of this registry
REALMS = {"nvcr.io": ("nvcr.io", "authn.nvidia.com"), "registry-1.docker.io": ("auth.docker.io",)}
MANIFEST_TYPES = ", ".join(
    "application/vnd.%s+json" % kind
    for kind in (
        "docker.distribution.manifest.list.v2",
        "oci.image.index.v1",
        "docker.distribution.manifest.v2",
        "oci.image.manifest.v1",
    )
)

_BEARER = re.compile(r"[A-Za-z0-9._~+/=-]{1,65536}")
_TOKEN = r"[A-Za-z0-9!#$%&'*+.^_`|~-]+"
# a scheme is a word without =; a parameter is NAME=VALUE or NAME="VALUE"
_SCHEME = re.compile(r"[\s,]*(%s)(?:[ \t]+|$|(?=,))(?![ \t]*=)" % _TOKEN)
_PARAMETER = re.compile(r'[\s,]*(%s)[ \t]*=[ \t]*(?:"((?:[^"\\]|\\.)*)"|(%s))[ \t]*(?=,|$)' % (_TOKEN, _TOKEN))
_PLAIN = re.compile(r"https://(?P<host>[A-Za-z0-9.:\[\]-]+)(?P<path>(?:/[!->@-~]*)?)(?:\?(?P<query>[!-~]*))?")
_HOST = re.compile(r"([a-z0-9.-]+|\[[0-9a-f:.]+\])(?::([0-9]{1,5}))?")


class ChallengeRefused(Exception):
    """The key must not be sent to the address that the registry names; the text has reason and advice."""


class Challenge(NamedTuple):
    """A registry's request to get a token before the client tries again."""

    realm: str  # the address that issues tokens
    service: str  # the registry's name at that address, or ""
    scope: str  # the permission that the token should give, or ""


def allowed_hosts(registry: str, configured: Sequence[str] = ()) -> Tuple[str, ...]:
    """Return the hosts that may get a key of a registry: the configured ones, else those in REALMS, else the registry.

    All are given as HOST, or as HOST:PORT for a port other than 443.
    """
    return tuple(configured) or REALMS.get(registry, (registry,))


def read_challenge(headers: Sequence[str]) -> Challenge:
    """Return the Bearer challenge of these WWW-Authenticate headers.

    Raise ChallengeRefused if the headers contain no Bearer challenge with a realm, or several Bearer challenges.
    """
    challenges = [challenge for header in headers for challenge in _parse_challenges(header)]
    bearers = [parameters for scheme, parameters in challenges if scheme == "bearer"]
    if len(bearers) != 1 or not bearers[0].get("realm"):
        raise ChallengeRefused("the registry sent no token address, or more than one: check the registry's address")
    return Challenge(bearers[0]["realm"], bearers[0].get("service", ""), bearers[0].get("scope", ""))


def needs_basic_login(headers: Sequence[str]) -> bool:
    """Return True if a registry has no token service and expects user and key itself, as some private ones do."""
    schemes = {scheme for header in headers for scheme, _parameters in _parse_challenges(header)}
    return "basic" in schemes and "bearer" not in schemes


def _parse_challenges(header: str) -> List[Tuple[str, Dict[str, str]]]:
    """Return (scheme in lower case, parameters) of each challenge in a header; [] for an invalid or too long header."""
    challenges: List[Tuple[str, Dict[str, str]]] = []
    offset = 0
    while offset < len(header) <= LONGEST:
        parameter, scheme = _PARAMETER.match(header, offset), _SCHEME.match(header, offset)
        if parameter:
            name, quoted, bare = parameter.group(1).lower(), parameter.group(2), parameter.group(3)
            parameters = challenges[-1][1] if challenges else None  # of the challenge that was read last
            if parameters is None or name in parameters:  # without a scheme, or twice in a challenge
                return []
            parameters[name] = bare if quoted is None else re.sub(r"\\(.)", r"\1", quoted)
            offset = parameter.end()
        elif scheme:
            challenges.append((scheme.group(1).lower(), {}))
            offset = scheme.end()
        else:  # only separators may be left
            return [] if header[offset:].strip(" ,\t\r\n") else challenges
    return challenges


def token_address(challenge: Challenge, allowed: Sequence[str], repository: str) -> str:
    """Return the URL that issues a token for pulling a repository. Raise ChallengeRefused if the host is not allowed.

    allowed: the hosts, as allowed_hosts() returns them. A scope in the realm's query is ignored.
    """
    from urllib.parse import parse_qsl, urlencode  # imported late: few runs check a key

    host, path, query = _check_realm(challenge.realm, allowed)
    parameters = [(name, value) for name, value in parse_qsl(query) if name not in ("scope", "service")]
    if challenge.service:
        parameters.append(("service", challenge.service))
    parameters.append(("scope", "repository:%s:pull" % repository))
    return "https://%s%s?%s" % (host, path or "/", urlencode(parameters))


def basic_authorization(user: str, password: str) -> str:
    """Return the value of an Authorization header for user and password."""
    return "Basic " + base64.b64encode(("%s:%s" % (user, password)).encode("utf-8")).decode("ascii")


def read_token(body: bytes) -> Optional[str]:
    """Return the token in the body of a response, or None. Registries use two names for the field."""
    try:
        document = json.loads(body.decode("utf-8"))
    except (ValueError, RecursionError):
        return None
    values = [document.get(name) for name in ("token", "access_token")] if isinstance(document, dict) else []
    return next((value for value in values if isinstance(value, str) and _BEARER.fullmatch(value)), None)


def _check_realm(realm: str, allowed: Sequence[str]) -> Tuple[str, str, str]:
    """Return host (with port), path and query of a realm. Raise ChallengeRefused if a key must not be sent there."""
    shown = "".join(char if char.isprintable() else "?" for char in realm[:100])
    parts = _PLAIN.fullmatch(realm)
    if not parts or re.search(r"[\\#]", realm):  # programs differ on which host an address with \ or # names
        raise ChallengeRefused(
            "the registry's token address %s is not a plain https address. The key was not sent" % shown
        )
    host = _normalise_host(parts.group("host"))
    if host is None or host not in [_normalise_host(name) for name in allowed]:
        raise ChallengeRefused(
            "the registry's token address %s is on a host that may not receive the key. The key was not sent."
            " If the host is correct and you are rotating a key, add --realms HOST to the command" % shown
        )
    return host, parts.group("path"), parts.group("query") or ""


def _normalise_host(address: str) -> Optional[str]:
    """Return the HOST or HOST:PORT in lower case, without port 443, for comparison; None if the address is invalid."""
    found = _HOST.fullmatch(address.lower())
    if not found:
        return None
    port = int(found.group(2) or 443)
    name = found.group(1).rstrip(".")
    return name if port == 443 else "%s:%d" % (name, port)
