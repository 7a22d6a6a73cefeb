# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""HTTPS requests that contain a key: limited in time and size, and sent only to the named host.

Redirects are disabled, so that a key is never sent to another host. Each request runs in a thread, because the timeout
of a socket limits neither a name lookup nor a server that sends single bytes.
"""

from __future__ import annotations

import http.client
import queue
import re
import socket
import ssl
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.message import Message
from typing import NamedTuple
from urllib.parse import urlsplit

from .._text.sanitise import harmless

MAX_BYTES = 256 * 1024  # of a response
BUSY_STATUSES = (429, 500, 502, 503, 504)  # of HTTP, after which another attempt may succeed


@dataclass(frozen=True)
class Transport:
    """The connection of this machine to services."""

    ca_file: str | None = None
    """File of certificate authorities to trust instead of the system's."""
    timeout: float = 8
    """Seconds for one request and its whole response."""
    total: float = 40
    """Seconds for all requests about one key."""
    attempts: int = 3
    """The number of times a request is sent while the service is busy or the connection fails."""
    pause: float = 0.5
    """Seconds before the second attempt; each further pause is twice as long."""
    proxies: Mapping[str, str] | None = None
    """Scheme -> address; None: from the environment (https_proxy, no_proxy)."""


@dataclass(frozen=True)
class HttpRequest:
    """A request. Its headers and body may contain a key, so repr() omits them."""

    url: str
    method: str = "GET"
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: bytes | None = field(default=None, repr=False)


class HttpResponse(NamedTuple):
    """A response with any status."""

    status: int
    headers: Message
    body: bytes


class ServiceUnreachable(Exception):
    """The service gave no response about the key. The text has the reason and what to do.

    status: of HTTP, if any. is_transient: another attempt may succeed.
    """

    def __init__(self, reason: str, status: int | None = None, is_transient: bool = False) -> None:
        super().__init__(reason)
        self.status = status
        self.is_transient = is_transient


class HttpsClient:
    """Sends the requests about one key; all of them share one time limit."""

    def __init__(self, transport: Transport) -> None:
        """Raise ServiceUnreachable for a CA file that cannot be used. The time limit begins now."""
        self._transport = transport
        self._end = time.monotonic() + transport.total
        try:
            self._context = ssl.create_default_context(cafile=transport.ca_file)
        except (OSError, ValueError):  # ssl.SSLError is an OSError
            raise ServiceUnreachable(
                "the CA file cannot be read or contains no certificate: set a different CA file"
            ) from None

    def send(self, request: HttpRequest, attempts: int | None = None) -> HttpResponse:
        """Return the response. Repeat the request after a transient error. Raise ServiceUnreachable.

        attempts: the maximum; None for that of the transport.
        """
        max_attempts, pause = attempts or self._transport.attempts, self._transport.pause
        for _attempt in range(max_attempts - 1):
            try:
                return self._send_once(request)
            except ServiceUnreachable as error:
                if not error.is_transient or time.monotonic() + pause >= self._end:
                    raise
            time.sleep(pause)
            pause *= 2
        return self._send_once(request)  # the last attempt

    def _send_once(self, request: HttpRequest) -> HttpResponse:
        """Return the response to one attempt, which gets the rest of the time limits. Raise ServiceUnreachable."""
        host = harmless(urlsplit(request.url).netloc, max_length=200)
        if not request.url.startswith("https://"):
            raise ServiceUnreachable(
                "the address does not begin with https://, so the key was not sent: correct the address"
            )
        limit = min(self._transport.timeout, self._end - time.monotonic())  # in seconds
        if limit <= 0:
            raise ServiceUnreachable(
                f"the time limit of {self._transport.total:g} s expired before the request to {host} was sent"
            )
        results: queue.SimpleQueue[HttpResponse | Exception] = queue.SimpleQueue()
        arguments = (request, limit, results)
        threading.Thread(target=self._exchange, args=arguments, name=f"request to {host}", daemon=True).start()
        try:
            result = results.get(timeout=limit)
        except queue.Empty:
            raise ServiceUnreachable(_describe_timeout(host, limit)) from None
        if isinstance(result, Exception):
            raise _explain_error(result, host, limit) from None
        _check_response(result, host)
        return result

    def _exchange(
        self, request: HttpRequest, limit: float, results: queue.SimpleQueue[HttpResponse | Exception]
    ) -> None:
        """Send the request and put the response, or the exception, into the queue. limit: in seconds."""
        end = time.monotonic() + limit
        proxies = self._transport.proxies
        opener = urllib.request.OpenerDirector()  # without the default handlers: no redirects, no plain HTTP
        opener.add_handler(urllib.request.ProxyHandler(None if proxies is None else dict(proxies)))
        opener.add_handler(urllib.request.HTTPSHandler(context=self._context))
        opener.addheaders = [("User-Agent", "hpc.onboard"), ("Accept", "application/json")]
        prepared = urllib.request.Request(request.url, request.body, dict(request.headers), method=request.method)
        try:
            with opener.open(prepared, timeout=limit) as response:
                results.put(HttpResponse(response.status, response.headers, _read_body(response, end)))
        except Exception as error:  # the waiting thread raises the exception
            results.put(error)


def _read_body(response: http.client.HTTPResponse, end: float) -> bytes:
    """Return the body, which may exceed MAX_BYTES by one chunk. end: monotonic time limit. Raise TimeoutError."""
    body = b""
    while len(body) <= MAX_BYTES and (chunk := response.read1(MAX_BYTES)):
        body += chunk
        if time.monotonic() > end:
            raise TimeoutError
    if response.length and len(body) <= MAX_BYTES:  # read1 does not report a connection that closed early
        raise http.client.IncompleteRead(body)
    return body


def _check_response(response: HttpResponse, host: str) -> None:
    """Raise ServiceUnreachable for a response that says nothing about a key."""
    status = response.status
    if status in BUSY_STATUSES:
        raise ServiceUnreachable(
            f"{host} is temporarily unavailable (HTTP {status}): try again later", status, is_transient=True
        )
    if 300 <= status < 400:
        raise ServiceUnreachable(
            f"{host} redirects the request (HTTP {status}), but a key is sent only to the given address:"
            " correct the address",
            status,
        )
    if status in (407, 511):
        raise ServiceUnreachable(
            f"a proxy or portal in front of {host} requires a login (HTTP {status}): log in to the proxy or portal",
            status,
        )
    if len(response.body) > MAX_BYTES:
        raise ServiceUnreachable(
            f"the response from {host} is too large (limit: {MAX_BYTES // 1024} KiB): check the address", status
        )


def _describe_timeout(host: str, limit: float) -> str:
    return f"the request to {host} timed out after {limit:.3g} s: try again later"


def _explain_error(error: Exception, host: str, limit: float) -> Exception:
    """Return ServiceUnreachable with a fixed text, because the text of the exception may contain the key.

    An exception that does not come from the connection is returned unchanged. limit: the time limit in seconds.
    """
    cause = error.reason if isinstance(error, urllib.error.URLError) else error
    if isinstance(cause, ssl.SSLCertVerificationError):
        reason = harmless(cause.verify_message, max_length=200)
        return ServiceUnreachable(
            f"the certificate of {host} is not trusted ({reason}): correct the CA file or the address"
        )
    if isinstance(cause, ssl.SSLError):
        return ServiceUnreachable(
            f"the TLS handshake with {host} failed: check the address, and check whether a proxy interferes"
        )
    if isinstance(cause, socket.gaierror):
        return ServiceUnreachable(f"the host name {host} was not found: check the address and the network")
    if isinstance(cause, TimeoutError):
        return ServiceUnreachable(_describe_timeout(host, limit))
    refusal = re.match(r"Tunnel connection failed: (\d{3})\b", str(cause)) if isinstance(cause, OSError) else None
    if refusal:
        return ServiceUnreachable(
            f"the proxy refused a connection to {host} (HTTP {refusal[1]}): check https_proxy", int(refusal[1])
        )
    if isinstance(cause, OSError) and cause.errno:
        return ServiceUnreachable(
            f"cannot connect to {host} ({cause.strerror}): check whether a firewall blocks the connection",
            is_transient=True,
        )
    if isinstance(cause, OSError | http.client.HTTPException):
        return ServiceUnreachable(f"{host} closed the connection early: try again later", is_transient=True)
    if isinstance(cause, ValueError):
        return ServiceUnreachable(f"the address of {host} is invalid: correct the address")
    return error
