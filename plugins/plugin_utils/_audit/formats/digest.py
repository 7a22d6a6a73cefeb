# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The digest of an audit as plain text for a mail or a chat: at most 30 lines, whatever the number of accounts."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from ..._documents.digest import AuditDigest, DigestEvent
from ..._documents.finding import AuditReport
from ..._text.amounts import count
from .digest_json import build_digest
from .shared import in_two_lines, moment

LONGEST = 160  # characters of a line
RECENT, KNOWN, RESOLVED, UNKNOWN, COMMANDS = 7, 4, 2, 2, 2  # lines of each part


def text(report: AuditReport) -> str:
    """Return the whole digest."""
    return "".join(
        f"{line if len(line) <= LONGEST else line[: LONGEST - 1] + '…'}\n"
        for line in _lines(build_digest(report, RECENT))
    )


def _lines(digest: AuditDigest) -> Iterator[str]:
    yield f"Audit {moment(digest['started'])}: {digest['verdict']}."
    if digest["failed"]:
        yield f"The audit fails: {'; '.join(digest['reasons'])}."
    yield _since(digest)
    recent, known = ([one for one in digest["events"] if one["recent"] is wanted] for wanted in (True, False))
    yield from _part("New or changed:", [_event(one) for one in recent], RECENT)
    yield from _part("Unchanged:", [_event(one) for one in known], KNOWN)
    resolved = [
        f"{_who(one['accounts'], one['some'])}: {one['resource']} ({one['rule']})" for one in digest["resolutions"]
    ]
    yield from _part("Resolved:", resolved, RESOLVED)
    unknown = [f"{_who(one['accounts'], one['some'])}: {one['reason']}" for one in digest["unknown"]]
    yield from _part("Unknown:", unknown, UNKNOWN)
    yield from _part("Next:", in_two_lines([shlex.join(one) for one in digest["next"]]), COMMANDS)


def _since(digest: AuditDigest) -> str:
    """Return what happened since the last audit."""
    if not digest["last"]:
        return "There is no earlier audit of the same accounts."
    new, changed, resolved, unchanged = (digest[name] for name in ("new", "changed", "resolved", "unchanged"))
    said = f"{new:,} new, {changed:,} changed, {resolved:,} resolved, {unchanged:,} unchanged"
    return f"Since {moment(digest['last'])}: {said}."


def _part(title: str, entries: Sequence[str], most: int) -> Iterator[str]:
    """Yield a title with its entries; a last line counts the ones left out."""
    if not entries:
        return
    shown = entries if len(entries) <= most else entries[: most - 1]
    yield title
    yield from (f"- {entry}" for entry in shown)
    if len(shown) < len(entries):
        yield f"- and {len(entries) - len(shown):,} more"


def _event(event: DigestEvent) -> str:
    about = ", ".join(filter(None, (event["rule"], event["age"])))
    many = f", {count(event['findings'], 'finding')}" if event["findings"] > event["accounts"] else ""
    return f"{event['severity']}: {_who(event['accounts'], event['some'])}{many}: {event['text']} ({about})"


def _who(number: int, some: Sequence[str]) -> str:
    return some[0] if number == 1 else count(number, "account")
