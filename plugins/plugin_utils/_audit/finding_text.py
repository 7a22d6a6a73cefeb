# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a finding says, put together last: the thing has its name where the sentence leaves room for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .._documents.outcome import ResourceOutcome


class Text(NamedTuple):
    """A sentence about a thing.

    subject: the words before it, with {} where the thing's name goes; empty where the sentence does not name it.
    is_reason: whether it is the account's own reason, which then need not follow.
    """

    subject: str
    rest: str
    is_reason: bool = False

    def of(self, thing: str, reason: str | None) -> str:
        """The sentence about that thing, and why onboarding would not put it right."""
        said = f"{self.subject.format(thing)} {self.rest}" if self.subject else self.rest
        return said if self.is_reason or not reason else f"{said} {ended(reason)}"


def it(rest: str) -> Text:
    """'link ~/work is not there.'"""
    return Text("{}", rest)


def its(noun: str, rest: str) -> Text:
    """'The mode of file ~/.netrc is 0644.'"""
    return Text(f"The {noun} of {{}}", rest)


def bare(text: str) -> Text:
    """A sentence that names what it is about itself, or need not."""
    return Text("", text)


def reason_of(outcome: ResourceOutcome) -> Text | None:
    """The account's reason as a sentence; None where it gives none."""
    return Text("", ended(str(outcome["reason"])), True) if outcome["reason"] else None


def ended(text: str) -> str:
    """The text with a full stop, unless it has an end."""
    return text if text[-1:] in (".", "?", "!") else text + "."
