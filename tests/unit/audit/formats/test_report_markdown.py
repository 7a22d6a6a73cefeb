# SPDX-License-Identifier: GPL-3.0-or-later
"""The report in Markdown, read by a reader of Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.formats.markdown import (
    escape_prose,
    format_cell,
    format_code,
    render,
)
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.formats.shared import SOURCE
from ansible_collections.hpc.onboard.plugins.plugin_utils._text.sanitise import visible
from hypothesis import given, settings
from markdown_it import MarkdownIt
from markdown_it.token import Token
from report_example import HOSTILE, REPORTS, example
from strange_reports import reports, texts

from tests.effort import turns

pytestmark = turns(2)

READER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])


def tokens(said: str) -> Iterator[Token]:
    """All tokens, also those within lines."""
    for token in READER.parse(said):
        yield token
        yield from token.children or []


def check(said: str) -> None:
    """Nothing in it is a link to elsewhere, a picture, or HTML that is not ours."""
    for token in tokens(said):
        assert token.type not in ("image", "html_block", "fence", "code_block", "s_open", "hr"), token
        if token.type == "html_inline":
            assert token.content in ("<!-- -->", "<code>", "</code>")
        if token.type == "link_open":
            assert str(token.attrs["href"]).startswith(f"{SOURCE}/blob/main/docs/rules.md#")


@pytest.mark.parametrize("name", REPORTS)
def test_nothing_of_an_account_is_markup(name: str) -> None:
    check(render(REPORTS[name]))


@settings(max_examples=50, deadline=None)
@given(reports)
def test_nothing_strange_is_markup(document: dict[str, Any]) -> None:
    check(render(document))


@pytest.mark.parametrize("name", REPORTS)
def test_every_row_of_a_table_has_all_its_cells(name: str) -> None:
    said = render(REPORTS[name])
    rows = [re.split(r"(?<!\\)\|", line) for line in said.splitlines() if line.lstrip().startswith("| ")]
    assert all(len(row) > 2 for row in rows)
    width = 0
    for token in tokens(said):
        width = 0 if token.type == "tr_open" else width + (token.type in ("th_open", "td_open"))
        if token.type == "thead_open":
            heads = None
        if token.type == "tr_close":
            heads = heads or width
            assert width == heads


@settings(deadline=None)
@given(texts)
def test_prose_is_read_as_it_was(said: str) -> None:
    said = visible(said).strip()
    inline = READER.parseInline(f"x{escape_prose(said)}x")[0].children or []
    read = "".join(token.content for token in inline if token.type not in ("html_inline",))
    assert read == f"x{said}x"


@settings(deadline=None)
@given(texts)
def test_code_is_read_as_it_was(said: str) -> None:
    said = visible(said)
    (token,) = READER.parseInline(format_code(said))[0].children or []
    assert token.type == "code_inline"
    assert token.content.strip() == said.strip()


@settings(deadline=None)
@given(texts)
def test_a_cell_is_one_cell(said: str) -> None:
    said = visible(said)
    found = list(tokens(f"| a | b |\n| --- | --- |\n| {format_cell(said)} | end |\n"))
    assert sum(token.type == "td_open" for token in found) == 2
    inline = [token for token in found if token.type == "inline"][2]
    read = "".join(token.content for token in inline.children or [] if token.type != "html_inline")
    assert read.strip() == said.strip()


@pytest.mark.parametrize("said", HOSTILE)
def test_nobody_is_called_and_no_issue_is_named(said: str) -> None:
    assert not re.search(r"[@#]\w", escape_prose(visible(said)))


def test_it_tells_what_there_is() -> None:
    said = render(example())
    assert said.startswith("# Audit: 1 critical, 3 high, 2 medium, 1 low, on 5 of 5 accounts\n")
    assert "Fix: `ansible-playbook onboard.yml -l go42tum@lrz --tags enroot_credentials`" in said
    assert "Fix: Ask the site whether /wclustre was moved, then: `ansible-playbook onboard.yml`" in said
    assert "| `simone@wilson` | `PKG-002` |" in said.split("## Waived (1)")[1]
    assert "| `ada@narval` | `ssh: connect" in said.split("## Not measured (1)")[1]
    assert "| `mode` | `0600` | `0640` |" in said


def test_of_300_accounts_those_in_order_are_counted() -> None:
    said = render(REPORTS["large"])
    assert "✓ 270 accounts in order." in said
    assert said.count("\n| `u") == 30 + 8  # of the matrix, and waived ones
