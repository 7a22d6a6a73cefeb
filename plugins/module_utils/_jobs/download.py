# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fetches one large file over HTTP, going on where it stopped, and believes its sum only."""

import hashlib
import os
import time
from typing import Any, Callable, Mapping, Optional

from .._core.errors import errno_name
from .job import Failed

ATTEMPTS = 4
PAUSE = 1.0  # seconds before the second attempt; twice as long before each further one
SILENCE = 30  # seconds without a byte are a lost connection
PIECE = 256 * 1024
LARGEST = 1024**3  # bytes; the largest installer that is published has a tenth
LONGEST = 3600.0  # seconds for one file, with all attempts
LED = (
    "%s: the server leads elsewhere, in a ring or to a place that is not public with https: it was not followed. Name"
    " the address where the file lies in conda_installers"
)

Said = Callable[[int, Optional[int]], None]


class TooLarge(Exception):
    """More arrives than any installer has."""


class Lost(Exception):
    """The connection failed; what has arrived is kept."""


def fetch(url: str, path: str, sha256: str, proxies: Mapping[str, str], said: Said) -> None:
    """Bring the file to path, unless it lies there already. Raises Failed: with wants when there is no way out."""
    if os.path.exists(path) and sum_of(path) == sha256:
        return
    part = path + ".part"
    resumed = os.path.exists(part)
    _fetch(url, part, proxies, said)
    if sum_of(part) != sha256 and resumed:  # the parts may have been of two files
        os.unlink(part)
        _fetch(url, part, proxies, said)
    check_sum(part, sha256)
    os.rename(part, path)


def check_sum(path: str, sha256: str) -> None:
    """Raise Failed for a file that is not the one that is wanted, and remove it: it is never run."""
    found = sum_of(path)
    if found != sha256:
        os.unlink(path)
        raise Failed(
            "what was downloaded has the sum %s, but %s is pinned: it was not run. Does a proxy or a login page"
            " answer in its place? Try again, or name the installer in conda_installers" % (found[:12], sha256[:12])
        )


def sum_of(path: str) -> str:
    """The SHA-256 of a file, in hexadecimal digits."""
    digest = hashlib.sha256()
    with open(path, "rb") as stream:
        for piece in iter(lambda: stream.read(PIECE), b""):
            digest.update(piece)
    return digest.hexdigest()


def _fetch(url: str, part: str, proxies: Mapping[str, str], said: Said) -> None:
    pause, end = PAUSE, time.monotonic() + LONGEST
    for attempt in range(ATTEMPTS):
        try:
            _attempt(url, part, proxies, said, end)
            return
        except Lost as error:
            if time.monotonic() >= end:
                raise Failed(
                    "%s did not arrive within %.0f minutes: try again, or name another address in conda_installers"
                    % (url, LONGEST / 60)
                ) from None
            if attempt == ATTEMPTS - 1:
                raise Failed("%s cannot be fetched (%s)" % (url, error), wants={}) from None
            time.sleep(pause)
            pause *= 2


def _attempt(url: str, part: str, proxies: Mapping[str, str], said: Said, end: float) -> None:
    """Fetch what is not there yet. Raises Lost when the connection fails, Failed when the server refuses."""
    import http.client  # here, because only a job needs them and starting Python is what a run waits for
    import urllib.error
    import urllib.request

    from .web_line import Line, NotPublic

    begun = os.path.getsize(part) if os.path.exists(part) else 0
    asked = urllib.request.Request(url, headers={"Range": "bytes=%d-" % begun} if begun else {})
    try:
        with Line(url, proxies, end - time.monotonic()) as line, line.ask(asked, SILENCE) as answer:
            _store(answer, part, begun if answer.status == 206 else 0, said)
        if line.has_ended:  # what was cut may look whole where no length was told
            raise Lost("the time is over")
    except NotPublic:
        raise Failed(LED % url) from None
    except TooLarge:
        os.unlink(part)
        raise Failed(
            "%s: what the server sends is larger than any installer: it was not stored. Is the address right?" % url
        ) from None
    except urllib.error.HTTPError as error:
        if error.code == 416:  # nothing is left to fetch
            return
        if error.code >= 500 or error.code in (407, 408, 429):
            raise Lost("the server answered %d" % error.code) from None
        if error.code < 400:
            raise Failed(LED % url) from None
        raise Failed("%s: the server answered %d; is this version still there?" % (url, error.code)) from None
    except urllib.error.URLError as error:
        reason = error.reason
        raise Lost(errno_name(reason) if isinstance(reason, OSError) else "no connection") from None
    except (OSError, http.client.HTTPException) as error:
        if isinstance(error, OSError) and errno_name(error) in ("ENOSPC", "EDQUOT", "EIO", "EROFS", "EACCES"):
            raise
        raise Lost("the connection was lost") from None


def _store(answer: Any, part: str, begun: int, said: Said) -> None:
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
            said(done, total)
        stream.flush()
        os.fsync(stream.fileno())
    if total is not None and done < total:
        raise Lost("only %d of %d bytes arrived" % (done, total))
