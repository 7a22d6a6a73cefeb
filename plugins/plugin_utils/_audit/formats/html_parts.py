# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Small pieces of the audit's page: states as a symbol and a word, and tables that can be scrolled by keyboard."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.formats.shared import SYMBOLS, word


def sign(state: str) -> str:
    """The symbol of a state, which is not read aloud: a word stands beside it."""
    return f'<span class="sign" aria-hidden="true">{SYMBOLS[state][0]}</span>'


def badge(state: str) -> str:
    """Symbol and word of a state."""
    return f'<span class="state {state}">{sign(state)}{word(state)}</span>'


def heads(names: Iterable[str]) -> str:
    """The first row of a table, of names that need no escape."""
    cells = "".join(f'<th scope="col">{name}</th>' for name in names)
    return f"<thead><tr>{cells}</tr></thead>"


def wide(label: str, kind: str, names: Iterable[str], rows: Iterable[str]) -> Iterator[str]:
    """A table that may be wider than the page, of rows that are escaped."""
    yield f'<div class="wide" role="region" tabindex="0" aria-label="{label}, as a table">'
    yield f'<table class="{kind}">{heads(names)}<tbody>'
    yield from (f"<tr>{row}</tr>" for row in rows)
    yield "</tbody></table></div>"
