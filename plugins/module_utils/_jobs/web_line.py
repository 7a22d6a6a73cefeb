# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The line to the server of a file, from this machine or an account: it ends in time, and leads to no place inside.

Who wrote the address of a file has named its host. What a server leads to was named by nobody: it is asked over TLS
alone, and only where it lies in public, or it could have this machine ask what others cannot reach.
"""

import http.client
import ipaddress
import socket
import ssl
import threading
import urllib.request
from typing import Any, List, Mapping, Optional, Tuple
from urllib.parse import SplitResult, urlsplit

REDIRECTS = 5

Place = Tuple[str, int]


class Line:
    """What one file is fetched over. A context manager: where it ends after so many seconds, what reads gets an error.

    A timeout of a socket does not end a server that drips.
    """

    def __init__(self, url: str, proxies: Mapping[str, str], seconds: float) -> None:
        """proxies: by scheme, in place of what the environment says."""
        self._named = urlsplit(url)
        self.has_ended = False
        self._sockets: List[socket.socket] = []
        self._end = threading.Timer(max(0.0, seconds), self._hang_up)
        self._end.daemon = True
        given = urllib.request.ProxyHandler(dict(proxies) if proxies else None)
        self._opener = urllib.request.build_opener(given, _Https(self), _Http(self), _Redirects(self))

    def __enter__(self) -> "Line":
        self._end.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._end.cancel()

    def ask(self, request: urllib.request.Request, silence: float) -> Any:
        """The answer. silence: so many seconds without a byte are an error, as urllib raises it."""
        return self._opener.open(request, timeout=silence)

    def is_named(self, host: Optional[str]) -> bool:
        """Whether who wrote the address has named this host."""
        return host is not None and host == self._named.hostname

    def may_lead_to(self, url: str) -> bool:
        """Whether the server may send there, as far as the address tells; where its name leads is seen later."""
        led = urlsplit(url)
        if self.is_named(led.hostname):
            return led.scheme in ("https", self._named.scheme)
        return led.scheme == "https" and _could_be_public(led)

    def open_socket(self, to: Place, timeout: float, is_free: bool) -> socket.socket:
        """A connection. is_free: also to a place that is not public. Raises OSError."""
        made = socket.create_connection(to if is_free else _public(to), timeout)
        self.keep(made)
        return made

    def keep(self, made: socket.socket) -> None:
        """Let this socket end with the line."""
        self._sockets.append(made)

    def _hang_up(self) -> None:
        self.has_ended = True
        for one in self._sockets:
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # closed by now, or another object has it since TLS began


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows a server where the line may lead; what it does not follow is an HTTPError of the answer's number."""

    max_redirections = REDIRECTS

    def __init__(self, line: Line) -> None:
        self._line = line

    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        """The next question, or None where the line may not lead."""
        if not self._line.may_lead_to(newurl):
            return None
        return super().redirect_request(req, fp, code, msg, headers, newurl)


class _Http(urllib.request.HTTPHandler):
    """Connects without TLS."""

    def __init__(self, line: Line) -> None:
        super().__init__()
        self._line = line

    def http_open(self, req: urllib.request.Request) -> Any:
        """The answer over a socket of the line's."""

        def connection(host: str, **arguments: Any) -> Any:
            return _watched(http.client.HTTPConnection, self._line, req)(host, **arguments)

        return self.do_open(connection, req)


class _Https(urllib.request.HTTPSHandler):
    """Connects with TLS."""

    def __init__(self, line: Line) -> None:
        super().__init__()
        self._line = line

    def https_open(self, req: urllib.request.Request) -> Any:
        """The answer over a socket of the line's."""

        def connection(host: str, **arguments: Any) -> Any:
            watched = _watched(http.client.HTTPSConnection, self._line, req)
            return watched(host, context=ssl.create_default_context(), **arguments)

        return self.do_open(connection, req)


def _watched(base: Any, line: Line, request: urllib.request.Request) -> Any:
    """A kind of connection whose sockets belong to the line. A proxy may lie inside: who uses it has named it."""
    asked = urlsplit(request.full_url)
    is_free = line.is_named(asked.hostname) or request.host != asked.netloc

    class Connection(base):  # type: ignore[misc]  # one of two of http.client's
        def connect(self) -> None:
            self._create_connection = lambda to, timeout, _source: line.open_socket(to, timeout, is_free)
            super().connect()
            line.keep(self.sock)

    return Connection


def _public(place: Place) -> Place:
    """The first address of a host that lies in public, so that no second look-up leads elsewhere. Raises OSError."""
    for _family, _kind, _number, _name, found in socket.getaddrinfo(place[0], place[1], type=socket.SOCK_STREAM):
        address = str(found[0])
        if _is_public(address):
            return address, place[1]
    raise NotPublic("this host does not lie in public")


class NotPublic(Exception):
    """A server has led to a host inside."""


def _could_be_public(url: SplitResult) -> bool:
    """Whether a host is a name, or an address in public: a proxy looks names up itself."""
    host = url.hostname or "localhost"
    try:
        return _is_public(host)
    except ValueError:
        return host != "localhost" and not host.endswith(".localhost")


def _is_public(address: str) -> bool:
    """Whether everybody can reach this address. IPv6 has forms that stand for an IPv4 one."""
    found = ipaddress.ip_address(address.partition("%")[0])
    within = getattr(found, "ipv4_mapped", None)
    return (within or found).is_global
