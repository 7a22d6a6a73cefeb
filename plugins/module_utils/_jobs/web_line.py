# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Connections for the download of one file, with a time limit and without redirects to private addresses.

The user trusts the host in the address that they configured. Any other host, to which a server redirects, is accepted
only over TLS and only if it is public. Otherwise a server could make this machine query its private network.
"""

import http.client
import ipaddress
import socket
import ssl
import threading
import urllib.request
from typing import Any, List, Mapping, Optional, Tuple
from urllib.parse import SplitResult, unquote, urlsplit

Address = Tuple[str, int]  # host and port


class DownloadConnections:
    """The connections for one file. A context manager: after the time limit, reading fails.

    The timeout of a socket is not enough: a server that sends a byte now and then never exceeds it.
    """

    def __init__(self, url: str, proxies: Mapping[str, str], seconds: float) -> None:
        """url: the address that the user configured. proxies: see _Proxies.

        seconds: the time limit for all connections together.
        """
        self._url = urlsplit(url)
        self.has_timed_out = False
        self._sockets: List[socket.socket] = []
        self._timer = threading.Timer(max(0.0, seconds), self._shut_down)
        self._timer.daemon = True
        self._opener = urllib.request.build_opener(_Proxies(proxies), _Connector(self), _Redirects(self))

    def __enter__(self) -> "DownloadConnections":
        self._timer.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._timer.cancel()

    def open_url(self, request: urllib.request.Request, silence: float) -> Any:
        """Return the response. silence: the seconds without a byte after which urllib raises an error."""
        return self._opener.open(request, timeout=silence)

    def is_trusted(self, host: Optional[str]) -> bool:
        """Return True if this host is in the address that the user configured."""
        return host is not None and host == self._url.hostname

    def allows_redirect(self, url: str) -> bool:
        """Return True if a redirect to this address is allowed. The host's IP address is checked when connecting."""
        target = urlsplit(url)
        if self.is_trusted(target.hostname):
            return target.scheme in ("https", self._url.scheme)  # never from https to http
        return target.scheme == "https" and _could_be_public(target)

    def connect(self, address: Address, timeout: float, allow_private: bool) -> socket.socket:
        """Return a connected socket. allow_private: the IP address may be private. Raises OSError, NotPublic."""
        connection = socket.create_connection(address if allow_private else _resolve_public(address), timeout)
        self.add_socket(connection)
        return connection

    def add_socket(self, connection: socket.socket) -> None:
        """Add a socket to those that are shut down at the time limit."""
        self._sockets.append(connection)

    def _shut_down(self) -> None:
        """Shut all sockets down at the time limit, so that a blocked read fails."""
        self.has_timed_out = True
        for connection in self._sockets:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # closed already, or replaced by its TLS socket, which is in the list, too


class _Proxies(urllib.request.ProxyHandler):
    """Sends requests to proxies, except requests to hosts that need no proxy."""

    def __init__(self, proxies: Mapping[str, str]) -> None:
        """proxies: scheme -> address, and "no" -> hosts that need no proxy; if empty, those of the environment."""
        super().__init__(dict(proxies) if proxies else None)
        self._proxies = dict(proxies)

    def proxy_open(self, req: urllib.request.Request, proxy: str, type: str) -> Any:
        """Send the request to the proxy. The base class reads only the environment's list of hosts (no_proxy)."""
        # typeshed lacks this function of urllib
        if urllib.request.proxy_bypass_environment(req.host, self._proxies):  # type: ignore[attr-defined]
            return None  # the next handler connects to the host itself
        return super().proxy_open(req, proxy, type)


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows allowed redirects. Others become an HTTPError with the status of the response."""

    max_redirections = 5

    def __init__(self, connections: DownloadConnections) -> None:
        self._connections = connections

    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        """Return the request to newurl, or None if the redirect is not allowed. The other arguments are for urllib."""
        if not self._connections.allows_redirect(newurl):
            return None
        return super().redirect_request(req, fp, code, msg, headers, newurl)


class _Connector(urllib.request.HTTPSHandler, urllib.request.HTTPHandler):
    """Connects with and without TLS, by sockets that are shut down at the time limit."""

    def __init__(self, connections: DownloadConnections) -> None:
        super().__init__()
        self._connections = connections

    def http_open(self, req: urllib.request.Request) -> Any:
        """Return the response to a request without TLS."""
        return self.do_open(_watched_class(http.client.HTTPConnection, self._connections, req), req)

    def https_open(self, req: urllib.request.Request) -> Any:
        """Return the response to a request with TLS."""
        connection_class = _watched_class(http.client.HTTPSConnection, self._connections, req)
        return self.do_open(connection_class, req, context=ssl.create_default_context())


def _watched_class(base: Any, connections: DownloadConnections, request: urllib.request.Request) -> Any:
    """Return a subclass of base, a connection class of http.client, whose sockets are shut down at the time limit.

    A private IP address is allowed for the host and the proxy that the user configured, not for a redirect's host.
    """
    url = urlsplit(request.full_url)
    uses_proxy = request.host != unquote(url.netloc)  # urllib decodes the host, and replaces it by the proxy's
    allow_private = connections.is_trusted(url.hostname) or uses_proxy  # the socket then connects to the proxy

    class WatchedConnection(base):  # type: ignore[misc]  # HTTPConnection or HTTPSConnection
        def connect(self) -> None:
            """Connect by DownloadConnections, which checks the address, and shut the socket down at the time limit."""

            def create_connection(address: Address, timeout: float, _source: object) -> socket.socket:
                return connections.connect(address, timeout, allow_private)

            self._create_connection = create_connection  # http.client calls this attribute to create its socket
            super().connect()
            connections.add_socket(self.sock)  # with TLS, another socket than the connected one

    return WatchedConnection


def _resolve_public(address: Address) -> Address:
    """Return the first public IP address of a host, with the port. Raises OSError, NotPublic.

    The caller connects to this IP address, because a second look-up of the name could return a private one.
    """
    host, port = address
    for _family, _type, _protocol, _name, socket_address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
        ip_address = str(socket_address[0])
        if _is_public(ip_address):
            return ip_address, port
    raise NotPublic("this host has no public address")


class NotPublic(Exception):
    """A server redirected to a host without a public IP address."""


def _could_be_public(url: SplitResult) -> bool:
    """Return True if the host is a public IP address or a name. Names are resolved later, perhaps by a proxy."""
    host = url.hostname or "localhost"
    try:
        return _is_public(host)
    except ValueError:  # a name
        return host != "localhost" and not host.endswith(".localhost")


def _is_public(address: str) -> bool:
    """Return True if an IP address is public. If an IPv6 address contains an IPv4 address, the IPv4 address decides.

    Raise ValueError if the text is not an IP address.
    """
    parsed = ipaddress.ip_address(address.partition("%")[0])  # without the zone: fe80::1%eth0
    ipv4 = getattr(parsed, "ipv4_mapped", None)
    return (ipv4 or parsed).is_global
