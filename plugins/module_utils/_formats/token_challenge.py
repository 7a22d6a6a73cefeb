# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a registry sends its callers for a token, and whether a key may go there.

A registry answers 401 and names, in WWW-Authenticate, the realm that hands out tokens. A hostile or broken registry
can name any address, so a key goes only to a realm with https on a host that is allowed for that registry, and the
token is asked for pulling one repository, whatever scope the registry would like. The controller and the account read
a challenge by these functions and by no others: of two readers, the laxer one decides where a key goes.
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
    """The key does not go where the registry sends it, with the reason and what to do."""


class Challenge(NamedTuple):
    """What a registry asks for: an address, and the name of the service there."""

    realm: str
    service: str
    scope: str


def allowed_hosts(registry: str, named: Sequence[str] = ()) -> Tuple[str, ...]:
    """The hosts that may see a key of this registry: the named ones, else the registry's known ones, else itself.

    registry and named: hosts, or host:port where the port is not that of https.
    """
    return tuple(named) or REALMS.get(registry, (registry,))


def read_challenge(headers: Sequence[str]) -> Challenge:
    """The one Bearer challenge of these WWW-Authenticate headers. Raises Refused."""
    found = [params for header in headers for scheme, params in _challenges(header) if scheme == "bearer"]
    if len(found) != 1 or not found[0].get("realm"):
        raise ChallengeRefused(
            "the registry does not say in one clear way where its tokens come from: is the address right?"
        )
    return Challenge(found[0]["realm"], found[0].get("service", ""), found[0].get("scope", ""))


def _challenges(header: str) -> List[Tuple[str, Dict[str, str]]]:
    """Scheme (in small letters) and parameters of each challenge in one header; nothing where it cannot be read."""
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
    """The address that gives a token to pull the repository, put together anew. Raises Refused.

    allowed: see allowed_hosts.
    """
    from urllib.parse import parse_qsl, urlencode  # here, because an account needs it for a check alone

    host, path, query = _checked(challenge.realm, allowed)
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


def _checked(realm: str, allowed: Sequence[str]) -> Tuple[str, str, str]:
    """Host (with its port), path and query of a realm that a key may go to."""
    shown = "".join(c if c.isprintable() else "?" for c in realm[:100])
    parts = _PLAIN.fullmatch(realm)
    if not parts or re.search(r"[\\#]", realm):
        raise ChallengeRefused(
            "the registry sends to %s, which is no plain https address: the key was not sent" % shown
        )
    host = _with_port(parts.group("host"))
    if host is None or host not in [_with_port(one) for one in allowed]:
        raise ChallengeRefused(
            "the registry sends to %s, which is not allowed to see its keys: the key was not sent;"
            " if that host is the right one, add it to the allowed realms" % shown
        )
    return host, parts.group("path"), parts.group("query") or ""


def _with_port(netloc: str) -> Optional[str]:
    """The host in small letters, with its port unless that is 443; None for what is no host."""
    found = _HOST.fullmatch(netloc.lower())
    if not found:
        return None
    port = int(found.group(2) or 443)
    name = found.group(1).rstrip(".")
    return name if port == 443 else "%s:%d" % (name, port)
