# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the issuer of a key says about it: one question per service, and of the answer only what is no person's data.

Sources, none of them tried with a real key: NGC: POST v3/keys/get-caller-info with the form credentials=KEY, personal
and service keys only; 200 with requestStatus, type, orgName, products; 401 for a wrong key (github.com/NVIDIA/
infra-controller, public scanners for secrets, Red Hat's notes on NIM); the name of the expiry is that of the request
which makes a key. wandb: the GraphQL query for the viewer, who is null for nobody (github.com/wandb/wandb). Hugging
Face: GET api/whoami-v2, which is heavily rate-limited (huggingface_hub/hf_api.py), so that it is asked once.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from ...module_utils._formats.key_forms import HUGGING_FACE, NGC, WANDB
from .._text.sanitise import harmless
from .https import Answer, Line, Question, Unreached
from .key_kinds import Key, stranger
from .key_pages import KEY_PAGES
from .verdict import ISSUER, Finding, Verdict

NGC_ISSUER = "https://api.ngc.nvidia.com/v3/keys/get-caller-info"
WANDB_ISSUER = "https://api.wandb.ai/graphql"
HUGGING_FACE_ISSUER = "https://huggingface.co/api/whoami-v2"

_NGC_TYPES = ("PERSONAL_KEY", "SERVICE_KEY")


class _Unlike(Exception):
    """The answer is not one that this issuer gives."""


class _Nobody(Exception):
    """The answer says that the key is nobody's, whatever its status."""


@dataclass(frozen=True)
class _Issuer:
    """How a service is asked, and how its answer is read."""

    question: Callable[[str, Key], Question]
    details: Callable[[dict[str, Any]], dict[str, str]]
    attempts: int | None = None


def issuer_level(key: Key, address: str, line: Line) -> Finding:
    """What the issuer of this key says about it."""
    if key.legacy:
        sentence = "the issuer's question is for personal and service keys; a legacy key is tried at the registry"
        return Finding(ISSUER, Verdict.NOT_MEASURED, sentence)
    issuer, host = _ISSUERS[key.service], urlsplit(address).netloc
    try:
        answer = line.ask(issuer.question(address, key), issuer.attempts)
        if answer.status == 403:
            control = line.ask(issuer.question(address, stranger(key)), issuer.attempts)
            return _forbidden(host, same=control.status == 403)
        return _read(key, issuer, answer, host)
    except Unreached as error:
        return Finding(ISSUER, Verdict.UNREACHABLE, str(error), error.status)


def _forbidden(host: str, same: bool) -> Finding:
    """same: a wrong key is refused in the same way, so it is not this key that is refused."""
    if same:
        sentence = f"{host} refuses every key (HTTP 403): does a proxy or a policy of the site stand between?"
        return Finding(ISSUER, Verdict.UNREACHABLE, sentence, 403)
    sentence = f"{host} tells this key from a wrong one and refuses it (HTTP 403): does it have the rights it needs?"
    return Finding(ISSUER, Verdict.NOT_ENTITLED, sentence, 403)


def _read(key: Key, issuer: _Issuer, answer: Answer, host: str) -> Finding:
    status = answer.status
    if status == 401:
        return _invalid(key, host, status)
    try:
        details = issuer.details(_document(answer))
    except _Nobody:
        return _invalid(key, host, status)
    except _Unlike:
        sentence = f"{host} answers HTTP {status} in a way that its service does not: does a proxy stand between?"
        return Finding(ISSUER, Verdict.UNREACHABLE, sentence, status)
    return Finding(ISSUER, Verdict.VALID, f"{host} knows the key", status, details)


def _invalid(key: Key, host: str, status: int) -> Finding:
    sentence = f"{host} does not know the key: it was revoked, has expired or is another one's; see "
    return Finding(ISSUER, Verdict.INVALID, sentence + KEY_PAGES[key.service], status)


def _document(answer: Answer) -> dict[str, Any]:
    try:
        document = json.loads(answer.body) if answer.status == 200 else None
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise _Unlike
    return document


def _words(found: Mapping[str, Any]) -> dict[str, str]:
    """Only plain words, dates and names of products; an address of mail is none of them."""
    kept: dict[str, str] = {}
    for name, value in found.items():
        text = ", ".join(str(one) for one in value[:20]) if isinstance(value, list) else value
        if isinstance(text, str) and re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9 ,:._+/-]{0,199}", text):
            kept[name] = harmless(text, 200)
    return kept


def _ask_ngc(address: str, key: Key) -> Question:
    return Question(address, "POST", form={"credentials": key.value})


def _ngc_details(document: dict[str, Any]) -> dict[str, str]:
    request = document.get("requestStatus")
    outcome = request.get("statusCode") if isinstance(request, dict) else "SUCCESS"
    if outcome != "SUCCESS" or document.get("type") not in _NGC_TYPES:
        raise _Unlike
    expiry = document.get("expiryDate") or document.get("expiresAt")
    return _words(
        {
            "type": document["type"],
            "org": document.get("orgName"),
            "products": document.get("products"),
            "expires": expiry,
        }
    )


def _ask_wandb(address: str, key: Key) -> Question:
    login = base64.b64encode(f"api:{key.value}".encode()).decode()
    headers = {"Authorization": f"Basic {login}", "Content-Type": "application/json"}
    return Question(address, "POST", headers, body=json.dumps({"query": "query Viewer { viewer { id } }"}).encode())


def _wandb_details(document: dict[str, Any]) -> dict[str, str]:
    data = document.get("data")
    if not isinstance(data, dict) or "viewer" not in data:
        raise _Unlike
    if data["viewer"] is None:
        raise _Nobody
    return {}


def _ask_hugging_face(address: str, key: Key) -> Question:
    return Question(address, "GET", {"Authorization": f"Bearer {key.value}"})


def _hugging_face_details(document: dict[str, Any]) -> dict[str, str]:
    """Its kind (user, org) and what it may do (read, write, fineGrained)."""
    if not isinstance(document.get("type"), str):
        raise _Unlike
    auth = _mapping(document.get("auth"))
    token = _mapping(auth.get("accessToken"))
    expiry = token.get("expiration") or auth.get("expiresAt")
    return _words({"type": document["type"], "role": token.get("role"), "expires": expiry})


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


_ISSUERS = {
    NGC: _Issuer(_ask_ngc, _ngc_details),
    WANDB: _Issuer(_ask_wandb, _wandb_details, attempts=1),
    HUGGING_FACE: _Issuer(_ask_hugging_face, _hugging_face_details, attempts=1),
}
