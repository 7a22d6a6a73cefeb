# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The digest of an audit as plain text for a mail or a chat, in at most 30 lines.

An event is what several findings have in common, often on many accounts. "recent" events are new or changed since the
last audit. "some" are the names of the first accounts of an event, whose number is "accounts".
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from ..._documents.digest import AuditDigest, DigestEvent
from ..._documents.finding import AuditReport
from ..._text.amounts import count
from .digest_json import build_digest
from .shared import describe_expired_waivers, escape_invisible, format_time, join_in_two_lines

LONGEST = 160  # characters of a line
RECENT, OLDER, RESOLVED, UNKNOWN, COMMANDS = 7, 4, 2, 2, 2  # lines of each part, at most


def render(report: AuditReport) -> str:
    """Return the whole digest."""
    lines = _list_lines(build_digest(report, most=RECENT), describe_expired_waivers(escape_invisible(report)))
    return "".join(f"{_shorten(line, LONGEST)}\n" for line in lines)


def _shorten(text: str, longest: int) -> str:
    """Return the text, or its beginning and an ellipsis, in at most so many characters."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def _list_lines(digest: AuditDigest, expired: str) -> Iterator[str]:
    """Yield the lines of the digest: the result, the parts that are not empty, and the commands to run next.

    expired: describes the waivers that have expired.
    """
    yield f"Audit {format_time(digest['started'])}: {digest['verdict']}."
    if digest["failed"]:
        yield f"The audit fails: {'; '.join(digest['reasons'])}."
    yield _compare_with_last(digest)
    if expired:
        yield f"{expired}."
    recent = [_describe_event(event) for event in digest["events"] if event["recent"]]
    older = [_describe_event(event) for event in digest["events"] if not event["recent"]]
    yield from _list_part("New or changed:", recent, RECENT)
    yield from _list_part("Unchanged:", older, OLDER)
    resolved = [
        f"{_name_accounts(group['accounts'], group['some'])}: {group['resource']} ({group['rule']})"
        for group in digest["resolutions"]
    ]
    yield from _list_part("Resolved:", resolved, RESOLVED)
    unknown = [f"{_name_accounts(group['accounts'], group['some'])}: {group['reason']}" for group in digest["unknown"]]
    yield from _list_part("Unknown:", unknown, UNKNOWN)
    yield from _list_part("Next:", join_in_two_lines([shlex.join(command) for command in digest["next"]]), COMMANDS)


def _compare_with_last(digest: AuditDigest) -> str:
    """Return a sentence with the numbers of new, changed, resolved and unchanged findings since the last audit."""
    if not digest["last"]:
        return "This is the first audit of these accounts."
    new, changed, resolved, unchanged = (digest[name] for name in ("new", "changed", "resolved", "unchanged"))
    numbers = f"{new:,} new, {changed:,} changed, {resolved:,} resolved, {unchanged:,} unchanged"
    return f"Since {format_time(digest['last'])}: {numbers}."


def _list_part(title: str, entries: Sequence[str], most: int) -> Iterator[str]:
    """Yield a title and at most so many lines of entries; the last line may be the number of the other entries."""
    if not entries:
        return
    shown = entries if len(entries) <= most else entries[: most - 1]
    yield title
    yield from (f"- {entry}" for entry in shown)
    if len(shown) < len(entries):
        yield f"- and {len(entries) - len(shown):,} more"


def _describe_event(event: DigestEvent) -> str:
    """Return an event in one line, with its number of findings if an account has several.

    A long text is shortened, so that place, rule and age are in the line.
    """
    details = ", ".join(filter(None, (event["place"], event["rule"], event["age"])))
    subject = _name_accounts(event["accounts"], event["some"])
    if event["findings"] > event["accounts"]:
        subject += f", {count(event['findings'], 'finding')}"
    start, end = f"{event['severity']}: {subject}: ", f" ({details})"
    return start + _shorten(event["text"], max(LONGEST - len(f"- {start}{end}"), 1)) + end


def _name_accounts(number: int, some: Sequence[str]) -> str:
    """Return the name of a single account, else the number of accounts. some: names of the first accounts."""
    return some[0] if number == 1 else count(number, "account")
