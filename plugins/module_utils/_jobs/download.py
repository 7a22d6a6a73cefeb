# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The download of one large file over HTTP. It can be resumed, and the file must have the expected checksum."""

import hashlib
import os
import time
from typing import Any, Callable, Mapping, Optional

from .._core.errors import errno_name
from .job import JobFailed

ATTEMPTS = 4
PAUSE = 1.0  # seconds before the second attempt; twice as long before each further one
SILENCE = 30  # seconds without a byte after which a connection counts as lost
PIECE = 256 * 1024  # bytes
LARGEST = 1024**3  # bytes; ten times the largest published installer
LONGEST = 3600.0  # seconds for one file, with all attempts
REDIRECTED_TEXT = (
    "%s: the server redirects in a loop, to a private address, or to an address without https. Nothing was downloaded."
    " In conda_installers, set a public https address that does not redirect"
)

ReportBytes = Callable[[int, Optional[int]], None]  # is called with the bytes done, and with all bytes if known


class ConnectionLost(Exception):
    """The connection failed, or the server has a temporary failure. The part that arrived is kept."""


def download_file(url: str, path: str, sha256: str, proxies: Mapping[str, str], report: ReportBytes) -> None:
    """Download the file to the path, unless the path already has a file with this SHA-256.

    proxies: scheme -> address. report: called after each piece.

    Raise JobFailed if the file cannot be downloaded. The error's wants is {} if every attempt raised ConnectionLost, so
    that the file could be sent from the user's machine. Otherwise, wants is None.
    """
    if os.path.exists(path) and compute_sha256(path) == sha256:
        return
    part = path + ".part"
    is_resumed = os.path.exists(part)
    _download_with_retries(url, part, proxies, report)
    if compute_sha256(part) != sha256 and is_resumed:  # the server may have another file since the first part
        os.unlink(part)
        _download_with_retries(url, part, proxies, report)
    check_sha256(part, sha256)
    os.rename(part, path)


def check_sha256(path: str, sha256: str) -> None:
    """Raise JobFailed if the checksum of a file is wrong, and remove the file, so that a wrong file is never run."""
    actual = compute_sha256(path)
    if actual != sha256:
        os.unlink(path)
        raise JobFailed(
            "the downloaded file has the SHA-256 %s, but %s was expected. The file was not run. A proxy or a login"
            " page may have answered instead of the server. Run hpc-onboard again, or set another installer in"
            " conda_installers" % (actual[:12], sha256[:12])
        )


def compute_sha256(path: str) -> str:
    """Return the SHA-256 of a file, in hexadecimal digits."""
    digest = hashlib.sha256()
    with open(path, "rb") as stream:
        for piece in iter(lambda: stream.read(PIECE), b""):
            digest.update(piece)
    return digest.hexdigest()


def _download_with_retries(url: str, part: str, proxies: Mapping[str, str], report: ReportBytes) -> None:
    """Download the file into the partial file (part), in several attempts. Each attempt continues the previous one.

    Raise JobFailed if the last attempt fails, or after LONGEST.
    """
    pause, end = PAUSE, time.monotonic() + LONGEST
    for attempt in range(ATTEMPTS):
        try:
            _download_once(url, part, proxies, report, end)
            return
        except ConnectionLost as error:
            if time.monotonic() >= end:
                raise JobFailed(
                    "%s: the download took more than %.0f minutes. Run hpc-onboard again, or change the address in"
                    " conda_installers" % (url, LONGEST / 60)
                ) from None
            if attempt == ATTEMPTS - 1:
                raise JobFailed("%s could not be downloaded (%s)" % (url, error), wants={}) from None
            time.sleep(pause)
            pause *= 2


def _download_once(url: str, part: str, proxies: Mapping[str, str], report: ReportBytes, end: float) -> None:
    """Append the missing bytes to the partial file (part). end: the time limit, by time.monotonic().

    Raise ConnectionLost if another attempt may help, JobFailed, or OSError if the file cannot be written.
    """
    import http.client  # imported here, because only jobs need these modules, and importing them is slow
    import urllib.error
    import urllib.request

    from .web_line import DownloadConnections, NotPublic

    offset = os.path.getsize(part) if os.path.exists(part) else 0
    request = urllib.request.Request(url, headers={"Range": "bytes=%d-" % offset} if offset else {})
    connections = DownloadConnections(url, proxies, end - time.monotonic())
    try:
        with connections, connections.open_url(request, SILENCE) as response:
            start = offset if response.status == 206 else 0  # 206: only the missing bytes; else the whole file
            _write_body(url, response, part, start, report)
        if connections.has_timed_out:  # without a length, a cut-off file looks complete
            raise ConnectionLost("timed out")
    except NotPublic:
        raise JobFailed(REDIRECTED_TEXT % url) from None
    except urllib.error.HTTPError as error:
        if error.code != 416:  # 416: the requested range begins at the end of the file, so no byte is missing
            raise _make_http_error(url, error.code) from None
    except urllib.error.URLError as error:
        raise ConnectionLost(_describe_failure(error.reason)) from None
    except (OSError, http.client.HTTPException, UnicodeError) as error:  # UnicodeError: an invalid name, such as a..b
        if isinstance(error, OSError) and errno_name(error) in ("ENOSPC", "EDQUOT", "EIO", "EROFS", "EACCES"):
            raise  # the file could not be written
        raise ConnectionLost("the connection was lost") from None


def _describe_failure(reason: object) -> str:
    """Return why no connection was possible, for a message. reason: the reason of urllib's error."""
    import socket
    import ssl

    if isinstance(reason, socket.gaierror):
        return "the host name was not found"
    if isinstance(reason, socket.timeout):
        return "timed out"
    if isinstance(reason, ssl.SSLError):  # whose number is not an errno
        return "the server's certificate was not accepted, or the server refused TLS"
    return errno_name(reason) if isinstance(reason, OSError) and reason.errno else "no connection"


def _make_http_error(url: str, status: int) -> Exception:
    """Return ConnectionLost for an HTTP status that may be temporary, or JobFailed for any other status."""
    if status >= 500 or status in (407, 408, 429):  # a failure of the server or of a proxy, a time-out, or a limit
        return ConnectionLost("the server returned HTTP %d" % status)
    if status < 400:  # a redirect that DownloadConnections does not follow
        return JobFailed(REDIRECTED_TEXT % url)
    return JobFailed("%s: the server returned HTTP %d. Check whether this version is still available" % (url, status))


def _write_body(url: str, response: Any, part: str, offset: int, report: ReportBytes) -> None:
    """Write the body of a response into the partial file (part), from an offset on.

    Raise JobFailed if the file is larger than LARGEST, or ConnectionLost if bytes are missing at the end.
    """
    length = response.headers.get("Content-Length")
    total = offset + int(length) if length and length.isdigit() else None
    done = offset
    with open(part, "r+b" if offset else "wb") as stream:
        stream.seek(offset)
        for piece in iter(lambda: response.read1(PIECE), b""):
            done += len(piece)
            if max(done, total or 0) > LARGEST:
                os.unlink(part)
                raise JobFailed(
                    "%s: the response is too large for an installer and was discarded. Check the address in"
                    " conda_installers" % url
                )
            stream.write(piece)
            report(done, total)
        stream.flush()
        os.fsync(stream.fileno())
    if total is not None and done < total:
        raise ConnectionLost("only %d of %d bytes arrived" % (done, total))
