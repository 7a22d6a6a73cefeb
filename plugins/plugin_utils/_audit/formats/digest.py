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
from .shared import format_time, join_in_two_lines

LONGEST = 160  # characters of a line
RECENT, OLDER, RESOLVED, UNKNOWN, COMMANDS = 7, 4, 2, 2, 2  # lines of each part, at most


def render(report: AuditReport) -> str:
    """Return the whole digest."""
    lines = _list_lines(build_digest(report, most=RECENT))
    shortened_lines = [line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…" for line in lines]
    return "".join(f"{line}\n" for line in shortened_lines)


def _list_lines(digest: AuditDigest) -> Iterator[str]:
    """Yield the lines of the digest: the result, the parts that are not empty, and the commands to run next."""
    yield f"Audit {format_time(digest['started'])}: {digest['verdict']}."
    if digest["failed"]:
        yield f"The audit fails: {'; '.join(digest['reasons'])}."
    yield _compare_with_last(digest)
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
    """Return an event in one line, with its number of findings if an account has several."""
    details = ", ".join(filter(None, (event["rule"], event["age"])))
    subject = _name_accounts(event["accounts"], event["some"])
    if event["findings"] > event["accounts"]:
        subject += f", {count(event['findings'], 'finding')}"
    return f"{event['severity']}: {subject}: {event['text']} ({details})"


def _name_accounts(number: int, some: Sequence[str]) -> str:
    """Return the name of a single account, else the number of accounts. some: names of the first accounts."""
    return some[0] if number == 1 else count(number, "account")
