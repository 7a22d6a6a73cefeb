# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a registry sends its callers for a token, and whether a key may go there.

A registry answers 401 and names, in WWW-Authenticate, the realm that hands out tokens. A hostile or broken registry
can name any address, so a key goes only to a realm with https on a host that is allowed for that registry, and the
token is asked for pulling one repository, whatever scope the registry would like.
Sources: distribution.github.io/distribution/spec/auth/token, RFC 9110 sections 11.2 to 11.6.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import parse_qsl, urlencode

from ansible_collections.hpc.onboard.plugins.plugin_utils._text.sanitise import harmless

LONGEST = 8192

_TOKEN = r"[A-Za-z0-9!#$%&'*+.^_`|~-]+"
_SCHEME = re.compile(rf"[\s,]*({_TOKEN})(?:[ \t]+|$|(?=,))(?![ \t]*=)")
_PARAMETER = re.compile(rf'[\s,]*({_TOKEN})[ \t]*=[ \t]*(?:"((?:[^"\\]|\\.)*)"|({_TOKEN}))[ \t]*(?=,|$)')
_PLAIN = re.compile(r"https://(?P<host>[A-Za-z0-9.:\[\]-]+)(?P<path>(?:/[!->@-~]*)?)(?:\?(?P<query>[!-~]*))?")


class Refused(Exception):
    """The key does not go where the registry sends it, with the reason and what to do."""


class Challenge(NamedTuple):
    """What a registry asks for: an address, and the name of the service there."""

    realm: str
    service: str
    scope: str


def bearer(headers: Sequence[str]) -> Challenge:
    """The one Bearer challenge of these WWW-Authenticate headers. Raises Refused."""
    found = [params for header in headers for scheme, params in _challenges(header) if scheme == "bearer"]
    if len(found) != 1 or not found[0].get("realm"):
        raise Refused("the registry does not say in one clear way where its tokens come from: is the address right?")
    return Challenge(found[0]["realm"], found[0].get("service", ""), found[0].get("scope", ""))


def _challenges(header: str) -> list[tuple[str, dict[str, str]]]:
    """Scheme (in small letters) and parameters of each challenge in one header; nothing where it cannot be read."""
    found: list[tuple[str, dict[str, str]]] = []
    at = 0
    while at < len(header) <= LONGEST:
        if parameter := _PARAMETER.match(header, at):
            if not found or parameter[1].lower() in found[-1][1]:
                return []
            quoted = parameter[2]
            value = parameter[3] if quoted is None else re.sub(r"\\(.)", r"\1", quoted)
            found[-1][1][parameter[1].lower()] = value
            at = parameter.end()
        elif scheme := _SCHEME.match(header, at):
            found.append((scheme[1].lower(), {}))
            at = scheme.end()
        else:
            return [] if header[at:].strip(" ,\t\r\n") else found
    return found


def token_address(challenge: Challenge, allowed: Sequence[str], repository: str) -> str:
    """The address that gives a token to pull the repository, put together anew. Raises Refused.

    allowed: hosts, or host:port where the port is not that of https.
    """
    host, path, query = _checked(challenge.realm, allowed)
    kept = [(name, value) for name, value in parse_qsl(query) if name not in ("scope", "service")]
    service = [("service", challenge.service)] if challenge.service else []
    scope = [("scope", f"repository:{repository}:pull")]
    return f"https://{host}{path or '/'}?{urlencode([*kept, *service, *scope])}"


def _checked(realm: str, allowed: Sequence[str]) -> tuple[str, str, str]:
    """Host (with its port), path and query of a realm that a key may go to."""
    shown = harmless(realm, 100).replace("\n", "?")
    parts = _PLAIN.fullmatch(realm)
    if not parts or re.search(r"[\\#]", realm):
        raise Refused(f"the registry sends to {shown}, which is no plain https address: the key was not sent")
    host = _with_port(parts["host"])
    if host is None or host not in [_with_port(one) for one in allowed]:
        raise Refused(
            f"the registry sends to {shown}, which is not allowed to see its keys: the key was not sent;"
            " if that host is the right one, add it to the allowed realms"
        )
    return host, parts["path"], parts["query"] or ""


def _with_port(netloc: str) -> str | None:
    """The host in small letters, with its port unless that is 443; None for what is no host."""
    found = re.fullmatch(r"([a-z0-9.-]+|\[[0-9a-f:.]+\])(?::([0-9]{1,5}))?", netloc.lower())
    if not found:
        return None
    port = int(found[2] or 443)
    name = found[1].rstrip(".")
    return name if port == 443 else f"{name}:{port}"
