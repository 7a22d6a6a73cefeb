# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The download of one large file over HTTP, which can be resumed and is accepted only with the right checksum."""

import hashlib
import os
import time
from typing import Any, Callable, Mapping, Optional

from .._core.errors import errno_name
from .job import JobFailed

ATTEMPTS = 4
PAUSE = 1.0  # seconds before the second attempt; twice as long before each further one
SILENCE = 30  # seconds without a byte are a lost connection
PIECE = 256 * 1024
LARGEST = 1024**3  # bytes; the largest installer that is published has a tenth
LONGEST = 3600.0  # seconds for one file, with all attempts
REDIRECTED = (
    "%s: the server redirects in a loop, or to an address that is private or without https. Nothing was downloaded. Set"
    " the final address of the file in conda_installers"
)

ReportBytes = Callable[[int, Optional[int]], None]


class TooLarge(Exception):
    """The server sends more than the largest installer."""


class ConnectionLost(Exception):
    """The connection failed. The part that arrived is kept."""


def fetch(url: str, path: str, sha256: str, proxies: Mapping[str, str], report: ReportBytes) -> None:
    """Download the file to path, unless it exists. Raises JobFailed; with wants if the account has no network."""
    if os.path.exists(path) and sha256_of(path) == sha256:
        return
    part = path + ".part"
    resumed = os.path.exists(part)
    _fetch(url, part, proxies, report)
    if sha256_of(part) != sha256 and resumed:  # the parts may be of two files
        os.unlink(part)
        _fetch(url, part, proxies, report)
    check_sha256(part, sha256)
    os.rename(part, path)


def check_sha256(path: str, sha256: str) -> None:
    """Raise JobFailed and remove the file if its checksum is wrong: it is never run."""
    found = sha256_of(path)
    if found != sha256:
        os.unlink(path)
        raise JobFailed(
            "the downloaded file has the SHA-256 %s, but %s was expected. The file was not run. Does a proxy or a login"
            " page answer for the server? Run again, or set the installer in conda_installers"
            % (found[:12], sha256[:12])
        )


def sha256_of(path: str) -> str:
    """Return the SHA-256 of a file, in hexadecimal digits."""
    digest = hashlib.sha256()
    with open(path, "rb") as stream:
        for piece in iter(lambda: stream.read(PIECE), b""):
            digest.update(piece)
    return digest.hexdigest()


def _fetch(url: str, part: str, proxies: Mapping[str, str], report: ReportBytes) -> None:
    """Download with several attempts, each of which continues the part that arrived. Raise JobFailed."""
    pause, end = PAUSE, time.monotonic() + LONGEST
    for attempt in range(ATTEMPTS):
        try:
            _download_once(url, part, proxies, report, end)
            return
        except ConnectionLost as error:
            if time.monotonic() >= end:
                raise JobFailed(
                    "%s: the download took more than %.0f minutes. Run again, or change the address in conda_installers"
                    % (url, LONGEST / 60)
                ) from None
            if attempt == ATTEMPTS - 1:
                raise JobFailed("%s cannot be downloaded (%s)" % (url, error), wants={}) from None
            time.sleep(pause)
            pause *= 2


def _download_once(url: str, part: str, proxies: Mapping[str, str], report: ReportBytes, end: float) -> None:
    """Fetch the missing part. Raises ConnectionLost, or JobFailed if the server refuses."""
    import http.client  # here, because only a job needs them and starting Python is what a run waits for
    import urllib.error
    import urllib.request

    from .web_line import DownloadLine, NotPublic

    begun = os.path.getsize(part) if os.path.exists(part) else 0
    asked = urllib.request.Request(url, headers={"Range": "bytes=%d-" % begun} if begun else {})
    try:
        with DownloadLine(url, proxies, end - time.monotonic()) as line, line.ask(asked, SILENCE) as answer:
            _append_body(answer, part, begun if answer.status == 206 else 0, report)
        if line.has_ended:  # without a length, a cut-off file looks complete
            raise ConnectionLost("timed out")
    except NotPublic:
        raise JobFailed(REDIRECTED % url) from None
    except TooLarge:
        os.unlink(part)
        raise JobFailed(
            "%s: the response is too large for an installer and was discarded. Check the address" % url
        ) from None
    except urllib.error.HTTPError as error:
        if error.code == 416:  # nothing is left to fetch
            return
        if error.code >= 500 or error.code in (407, 408, 429):
            raise ConnectionLost("the server answered %d" % error.code) from None
        if error.code < 400:
            raise JobFailed(REDIRECTED % url) from None
        raise JobFailed("%s: the server answered %d. Is this version still available?" % (url, error.code)) from None
    except urllib.error.URLError as error:
        reason = error.reason
        raise ConnectionLost(errno_name(reason) if isinstance(reason, OSError) else "no connection") from None
    except (OSError, http.client.HTTPException) as error:
        if isinstance(error, OSError) and errno_name(error) in ("ENOSPC", "EDQUOT", "EIO", "EROFS", "EACCES"):
            raise
        raise ConnectionLost("the connection was lost") from None


def _append_body(answer: Any, part: str, begun: int, report: ReportBytes) -> None:
    """Write the response into the partial file from an offset. Raise ConnectionLost or TooLarge."""
    length = answer.headers.get("Content-Length")
    total = begun + int(length) if length and length.isdigit() else None
    done = begun
    with open(part, "r+b" if begun else "wb") as stream:
        stream.seek(begun)
        for piece in iter(lambda: answer.read1(PIECE), b""):
            done += len(piece)
            if max(done, total or 0) > LARGEST:
                raise TooLarge
            stream.write(piece)
            report(done, total)
        stream.flush()
        os.fsync(stream.fileno())
    if total is not None and done < total:
        raise ConnectionLost("only %d of %d bytes arrived" % (done, total))
