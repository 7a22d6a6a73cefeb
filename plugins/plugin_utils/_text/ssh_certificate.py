# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What ssh-keygen -L prints of a certificate."""

from __future__ import annotations

import re
from datetime import datetime

FOREVER = datetime.max
_DATE = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d"
_VALID = re.compile(rf"^[ \t]*Valid: (?:forever|after {_DATE}|(?:from {_DATE} to|before) ({_DATE}))[ \t]*$", re.M)


def read_end(listing: str) -> datetime | None:
    """When the certificate ends, in the time zone that ssh-keygen ran in; FOREVER; None where it says nothing of it."""
    found = _VALID.search(listing)
    if not found:
        return None
    return datetime.fromisoformat(found[1]) if found[1] else FOREVER
