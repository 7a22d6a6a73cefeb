# SPDX-License-Identifier: GPL-3.0-or-later
"""A web proxy as sites have them: it leads to where CONNECT says, or refuses, and keeps what it saw."""

from __future__ import annotations

import select
import socket
import socketserver
import threading
from types import TracebackType


class ConnectProxy:
    """A context manager; `requests` are the heads that it was sent, `passed` is what went through from the client."""

    def __init__(self) -> None:
        proxy = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                proxy._serve(self)

        self.status = 200
        self.requests: list[bytes] = []
        self.passed: list[bytes] = []
        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.port = int(self._server.server_address[1])

    def __enter__(self) -> ConnectProxy:
        """Begin to serve."""
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End."""
        self._server.shutdown()
        self._server.server_close()

    def _serve(self, client: socketserver.StreamRequestHandler) -> None:
        head = b"".join(iter(client.rfile.readline, b"\r\n"))
        self.requests.append(head)
        client.wfile.write(f"HTTP/1.1 {self.status} As told\r\n\r\n".encode())
        if self.status == 200:
            host, _colon, port = head.split()[1].decode().rpartition(":")
            with self.connect(host, int(port)) as far:
                self._pump(client.connection, far)

    def connect(self, host: str, port: int) -> socket.socket:
        """Open the way there."""
        return socket.create_connection((host, port), timeout=10)

    def _pump(self, near: socket.socket, far: socket.socket) -> None:
        while True:
            for one in select.select([near, far], [], [], 20)[0]:
                data = one.recv(65536)
                if not data:
                    return
                if one is near:
                    self.passed.append(data)
                (far if one is near else near).sendall(data)
