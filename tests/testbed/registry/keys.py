"""Who may pull what, and what the services say to a key: NGC's registry and issuer, wandb and Hugging Face.

SPDX-License-Identifier: GPL-3.0-or-later
"""

import base64
import json
import time
import uuid
from collections.abc import Iterable, Mapping
from typing import NamedTuple
from urllib.parse import parse_qs

from tests.testbed.registry.certificates import Signer

LOGIN = "$oauthtoken"
ISSUER, TOKEN = "issuer", "token"
EMAIL = "simone@example.org"


class Said(NamedTuple):
    """A service's answer, and the key that it was asked about."""

    status: int
    body: bytes
    key: str | None = None
    headers: tuple[tuple[str, str], ...] = (("Content-Type", "application/json"),)


class Doorkeeper:
    """Knows the keys and gives tokens."""

    def __init__(self, service: str, public: Iterable[str]) -> None:
        """public: the repositories that anybody may pull."""
        self.service = service
        self.signer = Signer()
        self.public = set(public)
        self.expires = "2031-01-01T00:00:00Z"
        """The last day of every key, as the issuer tells it."""
        self.products: dict[str, list[str]] = {}
        """What keys open, of those that do not open all."""
        self.lenient = False
        """Wrong credentials are taken for none, where a token is given (the specification forbids it) and at wandb."""
        self.refuses = True
        """403 where a key is not entitled; otherwise a token that allows nothing, as the specification has it."""
        self._allowed: dict[str, frozenset[str]] = {}
        self._unknown: dict[str, set[str]] = {ISSUER: set(), TOKEN: set()}

    def allow(self, key: str, repositories: Iterable[str] = ()) -> None:
        """Make the key valid, and let it pull these repositories."""
        self._allowed[key] = frozenset(repositories)
        for unknown in self._unknown.values():
            unknown.discard(key)

    def revoke(self, key: str, only: str | None = None) -> None:
        """Make the key invalid; only: at that service alone ("issuer" or "token"), as if the other one lagged."""
        for service, unknown in self._unknown.items():
            if only in (None, service):
                unknown.add(key)

    def knows(self, key: str | None, service: str) -> bool:
        """Whether the key is valid there."""
        return key in self._allowed and key not in self._unknown[service]

    def token(self, query: str, authorization: str) -> Said:
        """Answer as the realm of a registry: 200 and a token, 401 for wrong credentials, 403 for no entitlement."""
        user, key = _basic(authorization)
        wrong = key is not None and not (user == LOGIN and self.knows(key, TOKEN))
        if wrong and not self.lenient:
            return _error(401, key)
        holder = None if wrong else key
        access = [self._access(scope, holder) for scope in parse_qs(query).get("scope", [])]
        if self.refuses and access and not any(one["actions"] for one in access):
            return _error(401 if holder is None else 403, key)
        return _json({"token": self.issue(access), "expires_in": 300}, key)

    def issue(self, access: list[dict[str, object]]) -> str:
        """Give a signed token with these rights."""
        now = int(time.time())
        bounds = {"iat": now, "nbf": now - 60, "exp": now + 300}
        names = {"iss": "test", "sub": "", "aud": self.service, "jti": str(uuid.uuid4())}
        return self.signer.token({**names, **bounds, "access": access})

    def caller_info(self, body: bytes) -> Said:
        """Answer as NGC's get-caller-info."""
        key = parse_qs(body.decode("latin-1")).get("credentials", [None])[0]
        if not self.knows(key, ISSUER):
            return _error(401, key)
        person = {"name": "Simone Muster", "email": EMAIL, "roles": []}
        return _json(
            {
                "requestStatus": {"statusCode": "SUCCESS"},
                "type": "PERSONAL_KEY",
                "orgName": "uni-muster",
                "products": self.products.get(str(key), ["artifact-catalog", "private-registry"]),
                "expiryDate": self.expires,
                "user": person,
            },
            key,
        )

    def wandb(self, authorization: str) -> Said:
        """Answer as wandb's GraphQL; the viewer is null for nobody."""
        _user, key = _basic(authorization)
        known = self.knows(key, ISSUER)
        if key is not None and not known and not self.lenient:
            return _error(401, key)
        return _json({"data": {"viewer": {"id": "VXNlcjox", "email": EMAIL} if known else None}}, key)

    def hugging_face(self, authorization: str) -> Said:
        """Answer as Hugging Face's whoami-v2."""
        key = authorization.removeprefix("Bearer ") or None
        if not self.knows(key, ISSUER):
            return _error(401, key)
        token = {"displayName": "laptop of Simone", "role": "read"}
        return _json({"type": "user", "name": "simone", "email": EMAIL, "auth": {"accessToken": token}}, key)

    def _access(self, scope: str, key: str | None) -> dict[str, object]:
        kind, _colon, rest = scope.partition(":")
        name, _colon, wanted = rest.rpartition(":")
        may = name in self.public or name in self._allowed.get(key or "", ())
        return {"type": kind, "name": name, "actions": ["pull"] if may and "pull" in wanted.split(",") else []}


def _basic(authorization: str) -> tuple[str, str | None]:
    scheme, _blank, coded = authorization.partition(" ")
    if scheme.lower() != "basic":
        return "", None
    user, _colon, password = base64.b64decode(coded).decode().partition(":")
    return user, password


def _json(document: Mapping[str, object], key: str | None) -> Said:
    return Said(200, json.dumps(document).encode(), key)


def _error(status: int, key: str | None) -> Said:
    """A refusal that holds the key, as some services do: nobody may show it."""
    return Said(status, json.dumps({"error": f"refused: {key}"}).encode(), key)
