"""A web server of the test's own that hands out one file: in parts, slowly, cut short, or another one.

SPDX-License-Identifier: GPL-3.0-or-later
"""

import contextlib
import re
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any


class Web:
    """Serves content at every path, on every address of this machine. A context manager."""

    def __init__(
        self,
        content: bytes,
        seconds: float = 0,
        cut: int | None = None,
        code: int = 200,
        elsewhere: str = "",
        says_length: bool = True,
        drips: bool = False,
    ) -> None:
        """seconds: how long one whole transfer takes. cut: every answer ends after so many bytes. code: its status.

        elsewhere: the address that it sends to instead. says_length: whether the answer says how long it is. drips:
        whether it says nothing but a head that never ends.
        """
        self.content = content
        self.seconds = seconds
        self.cut = cut
        self.code = code
        self.elsewhere = elsewhere
        self.says_length = says_length
        self.drips = drips
        self.requests: list[str] = []
        self.sent = 0

    def __enter__(self) -> "Web":
        """Begin to serve."""
        web = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                web._answer(self)

            def log_message(self, *_arguments: Any) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("0.0.0.0", 0), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End."""
        self._server.shutdown()
        self._server.server_close()

    def _answer(self, request: BaseHTTPRequestHandler) -> None:
        self.requests.append(request.headers.get("Range", "whole"))
        if self.drips:
            self._drip(request)
            return
        if self.elsewhere:
            request.send_response(302)
            request.send_header("Location", self.elsewhere)
            request.end_headers()
            return
        if self.code != 200:
            request.send_error(self.code)
            return
        begun = re.fullmatch(r"bytes=(\d+)-", request.headers.get("Range", ""))
        start = int(begun[1]) if begun else 0
        if start >= len(self.content) and begun:
            request.send_error(416)
            return
        rest = self.content[start:]
        request.send_response(206 if begun else 200)
        if self.says_length:
            request.send_header("Content-Length", str(len(rest)))
        if begun:
            request.send_header("Content-Range", f"bytes {start}-{len(self.content) - 1}/{len(self.content)}")
        request.end_headers()
        self._send(request, rest[: self.cut])

    def _drip(self, request: BaseHTTPRequestHandler) -> None:
        with contextlib.suppress(OSError):
            request.wfile.write(b"HTTP/1.0 200 OK\r\nX: ")
            for _second in range(600):
                request.wfile.write(b"x")
                time.sleep(0.1)

    def _send(self, request: BaseHTTPRequestHandler, data: bytes) -> None:
        piece = max(1, len(self.content) // 50)
        for at in range(0, len(data), piece):
            try:
                request.wfile.write(data[at : at + piece])
            except OSError:
                return
            self.sent += len(data[at : at + piece])
            time.sleep(self.seconds / 50)
