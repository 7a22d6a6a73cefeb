"""The server before the registry: it speaks TLS, gives tokens, plays the issuers, keeps a log, and fails to order.

The log holds fingerprints in place of keys.
SPDX-License-Identifier: GPL-3.0-or-later
"""

import contextlib
import hashlib
import http.client
import json
import ssl
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

from tests.testbed.registry.keys import Doorkeeper, Said

REGISTRY, TOKEN, ISSUER = "registry", "token", "issuer"
PARTS = (REGISTRY, TOKEN, ISSUER)
MODES = ("well", "slow", "drip", "broken", "busy", "garbage", "huge", "cut", "elsewhere", "forbidden")
PASSED_ON = ("authorization", "accept", "user-agent")
PASSED_BACK = ("www-authenticate", "content-type", "content-length", "docker-content-digest")


def fingerprint(key: str) -> str:
    """Give what the log shows in place of a key."""
    return hashlib.sha256(key.encode()).hexdigest()[:12]


class Seen(NamedTuple):
    """A request as the server saw it."""

    part: str
    method: str
    path: str
    status: int
    authorized: bool
    """Whether it held any login or form at all."""
    fingerprint: str | None
    """Of the key that it held."""


class Front:
    """Answers at one address for a registry, its realm and the issuers. Ends with the process."""

    def __init__(self, doorkeeper: Doorkeeper, certificate: Path, address: str, port: int) -> None:
        """Listen; answers are given after `serve`."""
        self.doorkeeper = doorkeeper
        self.backend = 0
        self.modes = dict.fromkeys(PARTS, "well")
        self.failures = 0
        self.basic = False
        """Whether the registry takes user and key itself, and has no tokens."""
        self.seconds = 60.0
        self.elsewhere = "https://localhost:1/"
        self.requests: list[Seen] = []
        self._end = threading.Event()
        self._server = _Server((address, port), _handler(self))
        self._server.context.load_cert_chain(certificate)
        self.port = int(self._server.server_address[1])

    def serve(self, backend: int) -> None:
        """Answer, with the registry on that port of this machine."""
        self.backend = backend
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        """Answer no more; what is still slow ends."""
        self._end.set()
        if self.backend:
            self._server.shutdown()
        self._server.server_close()

    def answer(self, request: BaseHTTPRequestHandler, method: str) -> None:
        """Answer one request, as the mode of its part says."""
        path, _mark, query = request.path.partition("?")
        body = request.rfile.read(int(request.headers.get("Content-Length") or 0))
        part, said = self._said(request, method, path, query, body)
        mode = self.modes[part]
        if self.failures and mode == "well":
            self.failures -= 1
            mode = "busy"
        said = self._changed(said, mode)
        authorized = "Authorization" in request.headers or bool(body)
        shown = fingerprint(said.key) if said.key else None
        self.requests.append(Seen(part, method, path, said.status, authorized, shown))
        if mode == "slow":
            self._end.wait(self.seconds)
        self._send(request, said, method, mode)

    def _said(
        self, request: BaseHTTPRequestHandler, method: str, path: str, query: str, body: bytes
    ) -> tuple[str, Said]:
        login = request.headers.get("Authorization", "")
        ours: dict[tuple[str, str], tuple[str, Callable[[], Said]]] = {
            ("GET", "/proxy_auth"): (TOKEN, lambda: self.doorkeeper.token(query, login)),
            ("GET", "/token"): (TOKEN, lambda: self.doorkeeper.token(query, login)),
            ("POST", "/v3/keys/get-caller-info"): (ISSUER, lambda: self.doorkeeper.caller_info(body)),
            ("POST", "/graphql"): (ISSUER, lambda: self.doorkeeper.wandb(login)),
            ("GET", "/api/whoami-v2"): (ISSUER, lambda: self.doorkeeper.hugging_face(login)),
        }
        if (method, path) in ours:
            part, speak = ours[method, path]
            return part, speak()
        return REGISTRY, self._registry(request, method)

    def _registry(self, request: BaseHTTPRequestHandler, method: str) -> Said:
        """Ask the registry behind."""
        headers = {name: value for name, value in request.headers.items() if name.lower() in PASSED_ON}
        if self.basic:
            repository = request.path.removeprefix("/v2/").rpartition("/")[0].rpartition("/")[0]
            token = self.doorkeeper.token(f"scope=repository:{repository}:pull", headers.pop("Authorization", ""))
            if token.status != 200:
                return Said(401, b"", token.key, (("WWW-Authenticate", 'Basic realm="registry of a test"'),))
            headers["Authorization"] = f"Bearer {json.loads(token.body)['token']}"
        connection = http.client.HTTPConnection("127.0.0.1", self.backend, timeout=10)
        with contextlib.closing(connection):
            connection.request(method, request.path, headers=headers)
            answer = connection.getresponse()
            back = tuple((name, value) for name, value in answer.getheaders() if name.lower() in PASSED_BACK)
            return Said(answer.status, answer.read(), None, back)

    def _changed(self, said: Said, mode: str) -> Said:
        html = (("Content-Type", "text/html"),)
        key = said.key
        return {
            "broken": Said(500, f"broken by {key}".encode(), key, html),
            "busy": Said(429, b"later", key, (*html, ("Retry-After", "1"))),
            "garbage": Said(200, f"<html>Welcome to the hotel, {key}</html>".encode(), key, html),
            "forbidden": Said(403, b"<html>The site's policy forbids this</html>", key, html),
            "huge": Said(200, b'{"token": "' + b"x" * 3_000_000 + b'"}', key),
            "elsewhere": Said(302, b"", key, (("Location", self.elsewhere),)),
        }.get(mode, said)

    def _send(self, request: BaseHTTPRequestHandler, said: Said, method: str, mode: str) -> None:
        names = {name.lower() for name, _value in said.headers}
        with contextlib.suppress(OSError):  # who asked may be gone
            request.send_response(said.status)
            for name, value in said.headers:
                request.send_header(name, value)
            if "content-length" not in names:
                request.send_header("Content-Length", str(len(said.body)))
            if mode == "cut":
                request.close_connection = True
                return
            request.end_headers()
            if mode == "drip":
                self._drip(request, said.body or b"\0" * 1000)
            elif method != "HEAD":
                request.wfile.write(said.body)

    def _drip(self, request: BaseHTTPRequestHandler, body: bytes) -> None:
        """Send byte after byte; no socket's timeout ends that."""
        for byte in body:
            if self._end.wait(0.2):
                return
            request.wfile.write(bytes([byte]))


class _Server(ThreadingHTTPServer):
    """With TLS, whose handshake each thread makes for itself; what goes wrong in one is its client's affair."""

    daemon_threads = True
    request_queue_size = 50

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        super().__init__(address, handler)

    def get_request(self) -> tuple[Any, Any]:
        connection, address = self.socket.accept()
        connection.settimeout(30)
        wrapped = self.context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
        return wrapped, address

    def handle_error(self, *_arguments: Any) -> None:
        """Say nothing."""


def _handler(front: Front) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            front.answer(self, self.command)

        do_HEAD = do_POST = do_GET

        def log_message(self, *_arguments: Any) -> None:
            """Say nothing."""

    return Handler


def until(test: Callable[[], bool], seconds: float, what: str) -> None:
    """Return when the test holds."""
    end = time.monotonic() + seconds
    while not test():
        if time.monotonic() > end:
            raise TimeoutError(what)
        time.sleep(0.05)
