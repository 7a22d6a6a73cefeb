# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""One question to a web service and its answer, bounded in time and size, which sends a key nowhere else.

urllib without its redirects: what was meant for one host never follows an answer to another one. Each question runs
in a thread of its own, because neither the look-up of a name nor a server that drips bytes ends by a socket's timeout.
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
from contextlib import suppress
from dataclasses import dataclass, field
from email.message import Message
from typing import Any, NamedTuple
from urllib.parse import urlencode, urlsplit

from .._text.sanitise import harmless

LARGEST = 256 * 1024
BUSY = (429, 500, 502, 503, 504)


@dataclass(frozen=True)
class Transport:
    """How services are reached from here."""

    ca_file: str | None = None
    """Who may sign their certificates, in place of the system's authorities."""
    timeout: float = 8
    """Seconds for one question and its whole answer."""
    total: float = 40
    """Seconds for everything that is asked about one key."""
    attempts: int = 3
    pause: float = 0.5
    """Seconds before the second attempt; each further pause is twice as long."""
    proxies: Mapping[str, str] | None = None
    """Scheme -> address; None: what the environment says (https_proxy, no_proxy)."""


@dataclass(frozen=True)
class Question:
    """What is asked. Its headers and its form may hold a key, so it does not show them."""

    url: str
    method: str = "GET"
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    form: Mapping[str, str] | None = field(default=None, repr=False)
    body: bytes | None = field(default=None, repr=False)


class Answer(NamedTuple):
    """What came back, whatever its status."""

    status: int
    headers: Message
    body: bytes


class Unreached(Exception):
    """No answer that says anything about a key, with the reason and what to do; status if there was one."""

    def __init__(self, reason: str, status: int | None = None) -> None:
        super().__init__(reason)
        self.status = status


class Line:
    """The way to the services for one key: made once, so that all its questions share one bound of time."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._end = time.monotonic() + transport.total
        try:
            self._context = ssl.create_default_context(cafile=transport.ca_file)
        except (OSError, ValueError):  # ssl.SSLError is an OSError
            raise Unreached("the CA file cannot be read or holds no certificate: name another one") from None

    def ask(self, question: Question, attempts: int | None = None) -> Answer:
        """The answer; asks again, a few times, where a service is busy or breaks off. Raises Unreached."""
        most = attempts or self._transport.attempts
        for attempt in range(1, most + 1):
            try:
                return self._settled(question)
            except _Passing as error:
                pause = self._transport.pause * 2 ** (attempt - 1)
                if attempt == most or time.monotonic() + pause >= self._end:
                    raise Unreached(str(error), error.status) from None
                time.sleep(pause)
        raise AssertionError("at least one attempt is made")

    def _settled(self, question: Question) -> Answer:
        """One attempt."""
        where = _host(question.url)
        if not question.url.startswith("https://"):
            raise Unreached("the address does not begin with https://, and a key goes nowhere else: correct it")
        answer = self._bounded(question, where)
        if answer.status in BUSY:
            raise _Passing(f"{where} is busy or broken (HTTP {answer.status}): try again later", answer.status)
        if 300 <= answer.status < 400:
            raise Unreached(
                f"{where} sends elsewhere (HTTP {answer.status}), and a key does not follow: correct the address",
                answer.status,
            )
        if answer.status in (407, 511):
            raise Unreached(f"a proxy or portal before {where} wants a login of its own", answer.status)
        if len(answer.body) > LARGEST:
            raise Unreached(f"{where} sends far more than it should: is the address right?", answer.status)
        return answer

    def _bounded(self, question: Question, where: str) -> Answer:
        limit = min(self._transport.timeout, self._end - time.monotonic())
        if limit <= 0:
            raise Unreached(f"no time was left to ask {where} (bound: {self._transport.total:g} s)")
        done: queue.SimpleQueue[Answer | Exception] = queue.SimpleQueue()
        handler = _Handler(self._context)
        work = (question, limit, handler, done)
        threading.Thread(target=self._work, args=work, name=f"question to {where}", daemon=True).start()
        try:
            result = done.get(timeout=limit)
        except queue.Empty:
            handler.hang_up()
            raise Unreached(_late(where, limit)) from None
        if isinstance(result, Exception):
            raise _reason(result, where, limit) from None
        return result

    def _work(
        self, question: Question, limit: float, handler: _Handler, done: queue.SimpleQueue[Answer | Exception]
    ) -> None:
        try:
            done.put(self._exchange(question, limit, handler))
        except Exception as error:  # it belongs to who waits
            done.put(error)

    def _exchange(self, question: Question, limit: float, handler: _Handler) -> Answer:
        opener = urllib.request.OpenerDirector()
        proxies = self._transport.proxies
        opener.add_handler(urllib.request.ProxyHandler(None if proxies is None else dict(proxies)))
        opener.add_handler(handler)
        opener.addheaders = [("User-Agent", "hpc.onboard"), ("Accept", "application/json")]
        body = question.body if question.form is None else urlencode(question.form).encode()
        request = urllib.request.Request(question.url, body, dict(question.headers), method=question.method)
        with opener.open(request, timeout=limit) as response:
            return Answer(response.status, response.headers, response.read(LARGEST + 1))


class _Passing(Unreached):
    """Trouble that another attempt may not meet."""


class _Handler(urllib.request.HTTPSHandler):
    """Opens connections with TLS only, and can cut the one it opened."""

    def __init__(self, context: ssl.SSLContext) -> None:
        super().__init__(context=context)
        self._ours = context
        self._socket: socket.socket | None = None

    def https_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(self._connection, req)

    def hang_up(self) -> None:
        """End what is under way; whoever reads from it gets an error."""
        if self._socket is not None:
            with suppress(OSError, ValueError):
                self._socket.shutdown(socket.SHUT_RDWR)

    def _connection(self, host: str, **arguments: Any) -> http.client.HTTPSConnection:
        handler = self

        class Connection(http.client.HTTPSConnection):
            def connect(self) -> None:
                super().connect()
                handler._socket = self.sock

        return Connection(host, context=self._ours, **arguments)


def _host(url: str) -> str:
    return harmless(urlsplit(url).netloc, 200)


def _late(where: str, limit: float) -> str:
    return f"{where} gave no whole answer within {limit:.3g} s: try again, or allow more time"


def _reason(error: Exception, where: str, limit: float) -> Exception:
    """What went wrong, in our words: those of an exception may hold what was sent."""
    cause = error.reason if isinstance(error, urllib.error.URLError) else error
    if isinstance(cause, ssl.SSLCertVerificationError):
        told = harmless(cause.verify_message, 200)
        return Unreached(f"the certificate of {where} proves nothing ({told}): name the right CA file or address")
    if isinstance(cause, ssl.SSLError):
        return Unreached(f"no TLS with {where}: is the address right, or does a proxy stand between?")
    if isinstance(cause, socket.gaierror):
        return Unreached(f"the name of {where} is not known here: check the address and this machine's network")
    if isinstance(cause, TimeoutError):
        return Unreached(_late(where, limit))
    tunnel = re.match(r"Tunnel connection failed: (\d{3})\b", str(cause)) if isinstance(cause, OSError) else None
    if tunnel:
        return Unreached(f"the proxy does not lead to {where} (HTTP {tunnel[1]}): check https_proxy", int(tunnel[1]))
    if isinstance(cause, OSError) and cause.errno:
        return _Passing(f"no connection to {where} ({cause.strerror}): is it up, and may this machine reach it?")
    if isinstance(cause, OSError | http.client.HTTPException):
        return _Passing(f"{where} broke off its answer: try again later")
    if isinstance(cause, ValueError):
        return Unreached(f"the address of {where} cannot be used: correct it")
    return error
