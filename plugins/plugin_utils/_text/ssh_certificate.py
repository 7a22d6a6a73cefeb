# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parse the output of `ssh-keygen -L` for a certificate.

Source: ssh-keygen.c of OpenSSH 8.0 to 10.0, print_cert().
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import NamedTuple

ALWAYS = datetime.min  # the start of a certificate without a start
FOREVER = datetime.max  # the end of a certificate without an end
_DATE = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d"
_VALID = re.compile(
    rf"^[ \t]*Valid: (?:forever|after (?P<after>{_DATE})|from (?P<start>{_DATE}) to (?P<end>{_DATE})"
    rf"|before (?P<before>{_DATE}))[ \t]*$",
    re.MULTILINE,
)
_AUTHORITY = re.compile(r"^[ \t]*Signing CA: \S+ (SHA256:\S+)", re.MULTILINE)
# the lines below "Principals:" that are indented further, one user name in each
_PRINCIPALS = re.compile(r"^([ \t]*)Principals:[ \t]*\n((?:\1[ \t]+\S.*\n?)*)", re.MULTILINE)


class Certificate(NamedTuple):
    """A certificate. start, end: in the local time zone. principals: user names. authority: fingerprint of the CA."""

    start: datetime
    end: datetime
    principals: tuple[str, ...]
    authority: str


def parse_listing(listing: str) -> Certificate | None:
    """Return the certificate in a listing, the output of `ssh-keygen -L`; None if it is not about a certificate.

    Parts that the listing lacks are ALWAYS, FOREVER, or empty.
    """
    valid = _VALID.search(listing)
    if not valid:
        return None
    start, end = valid["start"] or valid["after"], valid["end"] or valid["before"]
    authority, principals = _AUTHORITY.search(listing), _PRINCIPALS.search(listing)
    return Certificate(
        datetime.fromisoformat(start) if start else ALWAYS,
        datetime.fromisoformat(end) if end else FOREVER,
        tuple(line.strip() for line in principals[2].splitlines()) if principals else (),
        authority[1] if authority else "",
    )
