# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which documents may be read: those of the version that this hpc-onboard writes.

A document names its format in 'schema', hpc.onboard/NAME/MAJOR.MINOR. Another version of it is refused by name, and
nothing is written over it.
"""

import re
from typing import Optional

UPDATE = (
    "%s was written by a newer hpc-onboard (%s %s; this one reads %s). Run: pip install -U hpc-onboard"
    " (formats from before the first release: commit 90de12b reads them)"
)


def refusal(schema: object, known: str, document: str, advice: str) -> Optional[str]:
    """Return why a document must be neither read nor replaced, with the next step; None if it may be read.

    schema: what it says, which may be anything. known: the schema that this version writes. document: its name for
    the message. advice: what to do about a damaged one.
    """
    if schema == known:
        return None
    prefix, _slash, version = known.rpartition("/")
    other = (
        re.match(re.escape(prefix) + r"/([1-9][0-9]{0,3}\.[0-9]{1,4})\Z", schema) if isinstance(schema, str) else None
    )
    if other:
        return UPDATE % (document, prefix.partition("/")[2], other.group(1), version)
    return "%s is damaged: its version is missing or invalid; %s" % (document, advice)
