# SPDX-License-Identifier: GPL-3.0-or-later
"""Files, links and folders of a user's own, put on an account of the testbed as if they were there for days."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

AGE = 11 * 24 * 3600
"""How old all is, in seconds: so that a write shows in the time, and no purge is due."""


class Thing(NamedTuple):
    """What is at a path: a file with this content, a link to this target, else a folder."""

    content: str | None = None
    target: str | None = None
    mode: int = 0o755


def file(content: str, mode: int = 0o644) -> Thing:
    """Return a file."""
    return Thing(content=content, mode=mode)


def link(target: str) -> Thing:
    """Return a link."""
    return Thing(target=target)


def folder(mode: int = 0o755) -> Thing:
    """Return a folder."""
    return Thing(mode=mode)


def lay(account: Any, things: Mapping[str, Thing]) -> None:
    """Put the things on the account, as its user's own, and make them old."""
    made = []
    for path, thing in things.items():
        place = account.path(_said(account, path), follow=False)
        missing = [one for one in place.parents if not one.exists()]
        place.parent.mkdir(parents=True, exist_ok=True)
        if thing.target is not None:
            place.symlink_to(_said(account, thing.target))
        elif thing.content is None:
            place.mkdir(exist_ok=True)
        else:
            place.write_bytes(_said(account, thing.content).encode("latin-1"))
        if thing.target is None:
            place.chmod(thing.mode)
        made += [*missing, place]
    then = time.time_ns() - AGE * 10**9
    for place in sorted(made, reverse=True):
        os.chown(place, account.login_entry.uid, account.login_entry.gid, follow_symlinks=False)
        os.utime(place, ns=(time.time_ns(), then), follow_symlinks=False)


def _said(account: Any, text: str) -> str:
    """Return the text with the account's own words."""
    for word, own in (("@user", account.user), ("@project", account.project), ("@home", account.home)):
        text = text.replace(word, own)
    return text
