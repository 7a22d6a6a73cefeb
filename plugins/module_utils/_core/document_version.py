# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Refuse documents whose format version is not the one that this hpc-onboard writes.

A document names its format in 'schema', hpc.onboard/NAME/MAJOR.MINOR. A document of another version is neither read nor
overwritten.
"""

import re
from typing import Optional

UPDATE = (  # a message, in which document, format, the document's version and the supported version are inserted
    "%s was written by a newer hpc-onboard (%s %s; this version reads %s). Upgrade this one: run 'git pull' and"
    " 'pip install .' in its clone (or, for a file from before the first release, use commit 90de12b)"
)


def refusal(schema: object, supported: str, document: str, advice: str) -> Optional[str]:
    """Return why a document must be neither read nor replaced, with the next step; None if it may be read.

    schema: the value in the document, of any type. supported: the schema that this version reads and writes. document:
    the document's name for the message. advice: what to do about a damaged document. For a document of
    another format, the message is that the document is damaged.
    """
    if schema == supported:
        return None
    prefix, _slash, version = supported.rpartition("/")
    same_format = re.escape(prefix) + r"/([1-9][0-9]{0,3}\.[0-9]{1,4})\Z"  # with any MAJOR.MINOR
    other_version = re.match(same_format, schema) if isinstance(schema, str) else None
    if other_version:  # newer, or from before the first release
        format_name = prefix.partition("/")[2]
        return UPDATE % (document, format_name, other_version.group(1), version)
    return "%s is damaged: its version is missing or invalid; %s" % (document, advice)
