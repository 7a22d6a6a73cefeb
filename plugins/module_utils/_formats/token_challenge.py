# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parse which address a registry names for tokens, and decide if a key may be sent there.

A registry answers 401 and names, in WWW-Authenticate, the realm that hands out tokens. A hostile or broken registry
can name any address, so a key goes only to a realm with https on a host that is allowed for that registry, and the
token is asked for pulling one repository, whatever scope the registry would like. The controller and the account read
a challenge by these functions and by no others: of two parsers, the laxer one would decide where a key goes.
Sources: distribution.github.io/distribution/spec/auth/token, RFC 9110 sections 11.2 to 11.6.
"""

import base64
import json
import re
from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

LONGEST = 8192
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
_SCHEME = re.compile(r"[\s,]*(%s)(?:[ \t]+|$|(?=,))(?![ \t]*=)" % _TOKEN)
_PARAMETER = re.compile(r'[\s,]*(%s)[ \t]*=[ \t]*(?:"((?:[^"\\]|\\.)*)"|(%s))[ \t]*(?=,|$)' % (_TOKEN, _TOKEN))
_PLAIN = re.compile(r"https://(?P<host>[A-Za-z0-9.:\[\]-]+)(?P<path>(?:/[!->@-~]*)?)(?:\?(?P<query>[!-~]*))?")
_HOST = re.compile(r"([a-z0-9.-]+|\[[0-9a-f:.]+\])(?::([0-9]{1,5}))?")


class ChallengeRefused(Exception):
    """The key must not be sent to the address that the registry names; the text has reason and advice."""


class Challenge(NamedTuple):
    """What a registry names: an address, the service there, and a scope."""

    realm: str
    service: str
    scope: str


def allowed_hosts(registry: str, named: Sequence[str] = ()) -> Tuple[str, ...]:
    """Return the hosts that may get a key of a registry: the named ones, else the known ones, else the registry.

    registry and named: hosts, or host:port for another port than 443.
    """
    return tuple(named) or REALMS.get(registry, (registry,))


def read_challenge(headers: Sequence[str]) -> Challenge:
    """Return the only Bearer challenge of these WWW-Authenticate headers. Raise ChallengeRefused."""
    found = [params for header in headers for scheme, params in _challenges(header) if scheme == "bearer"]
    if len(found) != 1 or not found[0].get("realm"):
        raise ChallengeRefused("the registry names no token address, or several: check the registry's address")
    return Challenge(found[0]["realm"], found[0].get("service", ""), found[0].get("scope", ""))


def wants_basic(headers: Sequence[str]) -> bool:
    """Return True if a registry has no token service and takes user and key itself, as a private one may."""
    schemes = {scheme for header in headers for scheme, _parameters in _challenges(header)}
    return "basic" in schemes and "bearer" not in schemes


def _challenges(header: str) -> List[Tuple[str, Dict[str, str]]]:
    """Return scheme (in lower case) and parameters of each challenge in a header; none if it is invalid."""
    found: List[Tuple[str, Dict[str, str]]] = []
    at = 0
    while at < len(header) <= LONGEST:
        parameter, scheme = _PARAMETER.match(header, at), _SCHEME.match(header, at)
        if parameter:
            name, quoted, bare = parameter.group(1).lower(), parameter.group(2), parameter.group(3)
            if not found or name in found[-1][1]:
                return []
            found[-1][1][name] = bare if quoted is None else re.sub(r"\\(.)", r"\1", quoted)
            at = parameter.end()
        elif scheme:
            found.append((scheme.group(1).lower(), {}))
            at = scheme.end()
        else:
            return [] if header[at:].strip(" ,\t\r\n") else found
    return found


def token_address(challenge: Challenge, allowed: Sequence[str], repository: str) -> str:
    """Return the URL for a token to pull the repository, built from checked parts. Raise ChallengeRefused.

    allowed: see allowed_hosts.
    """
    from urllib.parse import parse_qsl, urlencode  # an account needs it only for this check

    host, path, query = _check_realm(challenge.realm, allowed)
    kept = [(name, value) for name, value in parse_qsl(query) if name not in ("scope", "service")]
    service = [("service", challenge.service)] if challenge.service else []
    scope = [("scope", "repository:%s:pull" % repository)]
    return "https://%s%s?%s" % (host, path or "/", urlencode(kept + service + scope))


def basic_authorization(user: str, password: str) -> str:
    """Return the value of an Authorization header for user and password."""
    return "Basic " + base64.b64encode(("%s:%s" % (user, password)).encode("utf-8")).decode("ascii")


def read_token(body: bytes) -> Optional[str]:
    """Return the token in a response, which registries call by two names; None if it contains none."""
    try:
        document = json.loads(body.decode("utf-8"))
    except (ValueError, RecursionError):
        return None
    found = [document.get(name) for name in ("token", "access_token")] if isinstance(document, dict) else []
    return next((value for value in found if isinstance(value, str) and _BEARER.fullmatch(value)), None)


def _check_realm(realm: str, allowed: Sequence[str]) -> Tuple[str, str, str]:
    """Return host (with its port), path and query of a realm that may get a key. Raise ChallengeRefused."""
    shown = "".join(c if c.isprintable() else "?" for c in realm[:100])
    parts = _PLAIN.fullmatch(realm)
    if not parts or re.search(r"[\\#]", realm):
        raise ChallengeRefused(
            "the registry asks for the key at %s, which is not a plain https address. The key was not sent" % shown
        )
    host = _with_port(parts.group("host"))
    if host is None or host not in [_with_port(one) for one in allowed]:
        raise ChallengeRefused(
            "the registry asks for the key at %s, a host that is not allowed to get its keys. The key was not sent."
            " If the host is correct, add it to the allowed realms" % shown
        )
    return host, parts.group("path"), parts.group("query") or ""


def _with_port(netloc: str) -> Optional[str]:
    """Return the host in lower case, with its port unless it is 443; None if it is invalid."""
    found = _HOST.fullmatch(netloc.lower())
    if not found:
        return None
    port = int(found.group(2) or 443)
    name = found.group(1).rstrip(".")
    return name if port == 443 else "%s:%d" % (name, port)
