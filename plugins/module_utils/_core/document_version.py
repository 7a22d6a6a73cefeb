# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which documents of ours may be read: the one rule for all that outlives a run or crosses the wire.

A document says what it is by its 'schema', hpc.onboard/NAME/MAJOR.MINOR. Every older version is read for ever. A
later minor only adds fields: it is read, and what is not known in it survives a rewrite. A newer major is refused by
name, and nothing is written over it. What 0.1.0 wrote without such a word, or with a bare number, is NUMBER.0.
"""

from typing import NamedTuple, Optional

PREFIX = "hpc.onboard/"
OLDER, SAME, LATER, NEWER, FOREIGN = "older", "same", "later", "newer", "foreign"
UPDATE = "%s was written by a newer hpc.onboard (%s %s; this one knows %s): update it: pip install -U hpc-onboard"


class Version(NamedTuple):
    """What a document says that it is."""

    name: str
    major: int
    minor: int

    def numbers(self) -> str:
        """The version alone, as people write it."""
        return "%d.%d" % self[1:]


def parse(schema: str) -> Optional[Version]:
    """The name and version in the word of a schema; None for any other word."""
    name, _slash, numbers = schema[len(PREFIX) :].rpartition("/")
    major, _dot, minor = numbers.partition(".")
    if not schema.startswith(PREFIX) or not name or not (_is_number(major) and _is_number(minor)):
        return None
    return Version(name, int(major), int(minor))


def _is_number(word: str) -> bool:
    return 0 < len(word) < 5 and not set(word) - set("0123456789")


def _own(schema: str) -> Version:
    """The name and version in a schema of ours."""
    version = parse(schema)
    if version is None:
        raise ValueError(schema)  # a fault of ours, and none of a document
    return version


def compare(said: object, known: str) -> str:
    """How the version that a document says compares with the one that is known: one of the five words above."""
    mine = _own(known)
    if isinstance(said, int) and not isinstance(said, bool):
        said = "%s%s/%d.0" % (PREFIX, mine.name, said)
    theirs = parse(said) if isinstance(said, str) else None
    if theirs is None or theirs.name != mine.name or theirs.major < 1:
        return FOREIGN
    if theirs.major != mine.major:
        return NEWER if theirs.major > mine.major else OLDER
    return LATER if theirs.minor > mine.minor else SAME if theirs.minor == mine.minor else OLDER


def refusal(said: object, known: str, what: str, advice: str) -> Optional[str]:
    """Why a document must be neither read nor replaced, and what to do; None when it may be read.

    known: the schema of this version; what: the document, in words; advice: what to do with one that is damaged.
    """
    standing = compare(said, known)
    if standing == NEWER:
        mine = _own(known)
        theirs = parse(said) if isinstance(said, str) else None
        return UPDATE % (what, mine.name, theirs.numbers() if theirs else "%s.0" % said, mine.numbers())
    if standing == FOREIGN:
        return "%s is damaged, for it does not say which version of it it is: %s" % (what, advice)
    return None
