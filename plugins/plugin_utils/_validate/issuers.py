# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Check a key with its issuer: one request per service. No personal data of the response is stored.

The result is the finding of one level of validation (ISSUER), with a verdict. NOT_ENTITLED: the service knows the key,
but refuses access. UNREACHABLE: no response about the key. NOT_MEASURED: the level cannot tell.

Sources, none of them tested with a real key. NGC: POST v3/keys/get-caller-info with the form credentials=KEY, for
personal and service keys only; 200 with requestStatus, type, orgName, products; 401 for a wrong key (github.com/NVIDIA/
infra-controller, public scanners for secrets, Red Hat's notes on NIM); the name of the expiry is that of the request
which creates a key. wandb: the GraphQL query for the viewer, null without a login (github.com/wandb/wandb). Hugging
Face: GET api/whoami-v2, sent only once because of its strict rate limit (huggingface_hub/hf_api.py).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple
from urllib.parse import urlencode, urlsplit

from ...module_utils._formats.key_forms import HUGGING_FACE, NGC, WANDB
from ...module_utils._formats.token_challenge import basic_authorization
from .._text.sanitise import harmless
from .https import HttpRequest, HttpResponse, HttpsClient, ServiceUnreachable
from .key_kinds import KEY_PAGES, CheckedKey, random_key_like
from .verdict import ISSUER, KeyVerdict, LevelFinding

NGC_ISSUER = "https://api.ngc.nvidia.com/v3/keys/get-caller-info"
WANDB_ISSUER = "https://api.wandb.ai/graphql"
HUGGING_FACE_ISSUER = "https://huggingface.co/api/whoami-v2"


class _UnexpectedResponse(Exception):
    """The response does not have the form of this issuer's responses."""


class _UnknownKey(Exception):
    """The response says that the key belongs to no user."""


class IssuerProtocol(NamedTuple):
    """The request and response of an issuer. make_request: takes the issuer's address and the key.

    read_details: takes the JSON object of the response, and returns details of the key, such as its last day; raises
    _UnknownKey or _UnexpectedResponse. attempts: None for the default of the transport.
    """

    make_request: Callable[[str, CheckedKey], HttpRequest]
    read_details: Callable[[dict[str, Any]], dict[str, str]]
    attempts: int | None = None


def check_issuer(key: CheckedKey, address: str, client: HttpsClient) -> LevelFinding:
    """Return the issuer's verdict on the key. address: of the issuer."""
    if key.is_legacy:
        sentence = "the issuer checks only personal and service keys; legacy keys are tested with the registry"
        return LevelFinding(ISSUER, KeyVerdict.NOT_MEASURED, sentence)
    issuer, host = _ISSUERS[key.service], urlsplit(address).netloc
    try:
        response = client.send(issuer.make_request(address, key), issuer.attempts)
        if response.status == 403:  # if a random key gets 403 too, the response says nothing about this key
            control_response = client.send(issuer.make_request(address, random_key_like(key)), issuer.attempts)
            return _judge_forbidden(host, is_any_key_refused=control_response.status == 403)
    except ServiceUnreachable as error:
        return LevelFinding(ISSUER, KeyVerdict.UNREACHABLE, str(error), error.status)
    return _read_finding(key, issuer, response, host)


def _judge_forbidden(host: str, is_any_key_refused: bool) -> LevelFinding:
    """Return the finding for status 403, which is a verdict on the key only if other keys get another status."""
    if is_any_key_refused:
        sentence = f"{host} refuses every key (HTTP 403): check whether a proxy or a site policy interferes"
        return LevelFinding(ISSUER, KeyVerdict.UNREACHABLE, sentence, status=403)
    sentence = f"{host} refuses this key (HTTP 403), but not other keys: check the key's permissions"
    return LevelFinding(ISSUER, KeyVerdict.NOT_ENTITLED, sentence, status=403)


def _read_finding(key: CheckedKey, issuer: IssuerProtocol, response: HttpResponse, host: str) -> LevelFinding:
    """Return the finding for any status but 403: valid, invalid, or unreachable for a response of another server."""
    status = response.status
    try:
        if status == 401:
            raise _UnknownKey
        details = issuer.read_details(_read_document(response))
    except _UnknownKey:
        page = KEY_PAGES[key.service]
        sentence = f"{host} does not accept the key: it was revoked, has expired or belongs to another user; see {page}"
        return LevelFinding(ISSUER, KeyVerdict.INVALID, sentence, status)
    except _UnexpectedResponse:
        sentence = f"{host} returned an unexpected response (HTTP {status}): check whether a proxy interferes"
        return LevelFinding(ISSUER, KeyVerdict.UNREACHABLE, sentence, status)
    return LevelFinding(ISSUER, KeyVerdict.VALID, f"{host} accepts the key", status, details)


def _read_document(response: HttpResponse) -> dict[str, Any]:
    """Return the JSON object of a response with status 200. Raise _UnexpectedResponse for anything else."""
    try:
        document = json.loads(response.body) if response.status == 200 else None
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise _UnexpectedResponse
    return document


def _plain_values(details: Mapping[str, Any]) -> dict[str, str]:
    """Return the details that are plain words, dates or product names. E-mail addresses are omitted."""
    plain_details: dict[str, str] = {}
    for name, value in details.items():
        text = ", ".join(str(item) for item in value[:20]) if isinstance(value, list) else value
        if isinstance(text, str) and re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9 ,:._+/-]{0,199}", text):  # no @
            plain_details[name] = harmless(text, max_length=200)
    return plain_details


def _make_ngc_request(address: str, key: CheckedKey) -> HttpRequest:
    return HttpRequest(address, "POST", body=urlencode({"credentials": key.value}).encode())


def _read_ngc_details(document: dict[str, Any]) -> dict[str, str]:
    """Return type, org, products and expiry of the key, as far as the response has them. Raise _UnexpectedResponse."""
    request = document.get("requestStatus")
    status = request.get("statusCode") if isinstance(request, dict) else "SUCCESS"  # the field may be missing
    if status != "SUCCESS" or document.get("type") not in ("PERSONAL_KEY", "SERVICE_KEY"):
        raise _UnexpectedResponse
    return _plain_values(
        {
            "type": document["type"],
            "org": document.get("orgName"),
            "products": document.get("products"),
            "expires": document.get("expiryDate") or document.get("expiresAt"),
        }
    )


def _make_wandb_request(address: str, key: CheckedKey) -> HttpRequest:
    """Return the query for the user of the key. wandb's user name for all keys is "api"."""
    headers = {"Authorization": basic_authorization("api", key.value), "Content-Type": "application/json"}
    return HttpRequest(address, "POST", headers, json.dumps({"query": "query Viewer { viewer { id } }"}).encode())


def _read_wandb_details(document: dict[str, Any]) -> dict[str, str]:
    """Return {}: the response contains only the user. Raise _UnknownKey if the key belongs to no user."""
    data = document.get("data")
    if not isinstance(data, dict) or "viewer" not in data:
        raise _UnexpectedResponse
    if data["viewer"] is None:
        raise _UnknownKey
    return {}


def _make_hugging_face_request(address: str, key: CheckedKey) -> HttpRequest:
    return HttpRequest(address, "GET", {"Authorization": f"Bearer {key.value}"})


def _read_hugging_face_details(document: dict[str, Any]) -> dict[str, str]:
    """Return type (user, org), role (read, write, fineGrained) and last day of the key. Raise _UnexpectedResponse."""
    if not isinstance(document.get("type"), str):
        raise _UnexpectedResponse
    auth = _as_mapping(document.get("auth"))
    token = _as_mapping(auth.get("accessToken"))
    expiry = token.get("expiration") or auth.get("expiresAt")
    return _plain_values({"type": document["type"], "role": token.get("role"), "expires": expiry})


def _as_mapping(value: Any) -> dict[str, Any]:
    """Return the value if it is a mapping, else {}."""
    return value if isinstance(value, dict) else {}


_ISSUERS = {
    NGC: IssuerProtocol(_make_ngc_request, _read_ngc_details),
    WANDB: IssuerProtocol(_make_wandb_request, _read_wandb_details, attempts=1),
    HUGGING_FACE: IssuerProtocol(_make_hugging_face_request, _read_hugging_face_details, attempts=1),
}
