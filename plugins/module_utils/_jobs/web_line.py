# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Connections for the download of one file, with a time limit and without redirects to private addresses.

The user has named the host of the address. The host of a redirect is accepted only over TLS and only if it is public:
otherwise a server could make this machine query hosts that only this machine can reach.
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


class DownloadLine:
    """The connections for one file. A context manager: after the time limit, reading fails.

    A socket's own timeout does not end the download from a server that sends a byte now and then.
    """

    def __init__(self, url: str, proxies: Mapping[str, str], seconds: float) -> None:
        """proxies: by scheme; if empty, those of the environment."""
        self._named = urlsplit(url)
        self.has_ended = False
        self._sockets: List[socket.socket] = []
        self._end = threading.Timer(max(0.0, seconds), self._hang_up)
        self._end.daemon = True
        given = urllib.request.ProxyHandler(dict(proxies) if proxies else None)
        self._opener = urllib.request.build_opener(given, _Https(self), _Http(self), _Redirects(self))

    def __enter__(self) -> "DownloadLine":
        self._end.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._end.cancel()

    def ask(self, request: urllib.request.Request, silence: float) -> Any:
        """Return the response. silence: the seconds without a byte after which urllib raises an error."""
        return self._opener.open(request, timeout=silence)

    def is_named(self, host: Optional[str]) -> bool:
        """Return True if the user's address names this host."""
        return host is not None and host == self._named.hostname

    def may_lead_to(self, url: str) -> bool:
        """Return True if a redirect to this address is allowed. The IP of its host is checked when it is connected."""
        led = urlsplit(url)
        if self.is_named(led.hostname):
            return led.scheme in ("https", self._named.scheme)
        return led.scheme == "https" and _could_be_public(led)

    def open_socket(self, to: Place, timeout: float, is_free: bool) -> socket.socket:
        """Return a connected socket. is_free: also to private addresses. Raises OSError."""
        made = socket.create_connection(to if is_free else _resolve_public(to), timeout)
        self.keep(made)
        return made

    def keep(self, made: socket.socket) -> None:
        """Close this socket at the time limit, too."""
        self._sockets.append(made)

    def _hang_up(self) -> None:
        """Shut all sockets down at the time limit, so that a blocked read fails."""
        self.has_ended = True
        for one in self._sockets:
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # closed already, or TLS has wrapped it


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows allowed redirects. Others become an HTTPError with the status of the response."""

    max_redirections = REDIRECTS

    def __init__(self, line: DownloadLine) -> None:
        self._line = line

    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        """Return the next request, or None if the redirect is not allowed."""
        if not self._line.may_lead_to(newurl):
            return None
        return super().redirect_request(req, fp, code, msg, headers, newurl)


class _Http(urllib.request.HTTPHandler):
    """Connects without TLS."""

    def __init__(self, line: DownloadLine) -> None:
        super().__init__()
        self._line = line

    def http_open(self, req: urllib.request.Request) -> Any:
        """Return the response over a watched socket."""

        def connection(host: str, **arguments: Any) -> Any:
            return _watched_connection(http.client.HTTPConnection, self._line, req)(host, **arguments)

        return self.do_open(connection, req)


class _Https(urllib.request.HTTPSHandler):
    """Connects with TLS."""

    def __init__(self, line: DownloadLine) -> None:
        super().__init__()
        self._line = line

    def https_open(self, req: urllib.request.Request) -> Any:
        """Return the response over a watched socket."""

        def connection(host: str, **arguments: Any) -> Any:
            watched = _watched_connection(http.client.HTTPSConnection, self._line, req)
            return watched(host, context=ssl.create_default_context(), **arguments)

        return self.do_open(connection, req)


def _watched_connection(base: Any, line: DownloadLine, request: urllib.request.Request) -> Any:
    """Return a connection class whose sockets end with the line. A proxy may be private: the user has named it."""
    asked = urlsplit(request.full_url)
    is_free = line.is_named(asked.hostname) or request.host != asked.netloc

    class WatchedConnection(base):  # type: ignore[misc]  # one of two of http.client's
        def connect(self) -> None:
            self._create_connection = lambda to, timeout, _source: line.open_socket(to, timeout, is_free)
            super().connect()
            line.keep(self.sock)

    return WatchedConnection


def _resolve_public(place: Place) -> Place:
    """Return the first public address of a host, so that no second look-up can differ. Raises OSError, NotPublic."""
    for _family, _kind, _number, _name, found in socket.getaddrinfo(place[0], place[1], type=socket.SOCK_STREAM):
        address = str(found[0])
        if _is_public(address):
            return address, place[1]
    raise NotPublic("this host has no public address")


class NotPublic(Exception):
    """A server redirected to a private host."""


def _could_be_public(url: SplitResult) -> bool:
    """Return True if a host is a name or a public address. Names are resolved later, maybe by a proxy."""
    host = url.hostname or "localhost"
    try:
        return _is_public(host)
    except ValueError:
        return host != "localhost" and not host.endswith(".localhost")


def _is_public(address: str) -> bool:
    """Return True if an address is public. Some IPv6 addresses contain an IPv4 one, which counts."""
    found = ipaddress.ip_address(address.partition("%")[0])
    within = getattr(found, "ipv4_mapped", None)
    return (within or found).is_global
