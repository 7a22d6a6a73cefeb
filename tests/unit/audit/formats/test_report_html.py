# SPDX-License-Identifier: GPL-3.0-or-later
"""The report as a page: nothing of an account is markup, nothing comes from elsewhere. A browser tells the rest."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.formats.html_page import embed_document, render
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.formats.shared import SOURCE
from ansible_collections.hpc.onboard.plugins.plugin_utils._documents import fix
from hypothesis import given, settings
from report_example import REPORTS, example, finding, large, report
from strange_reports import reports

from tests.effort import turns

pytestmark = turns(2)

PAGE = Path(__file__).parents[4] / "plugins/plugin_utils/_audit/formats/page"
STYLE = PAGE / "page.css"


class Reader(HTMLParser):
    """Elements, attributes and text of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.comments: list[str] = []
        self.words: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Remember an element."""
        self.elements.append((tag, dict(attrs)))

    def handle_comment(self, data: str) -> None:
        """Remember a comment."""
        self.comments.append(data)

    def handle_data(self, data: str) -> None:
        """Remember text."""
        self.words.append(data)


def check(document: dict[str, Any]) -> Reader:
    """Nothing runs but our script, nothing leads elsewhere but to the rules."""
    page = render(document)
    reader = Reader(page)
    tags = [tag for tag, _attributes in reader.elements]
    assert (tags.count("script"), tags.count("style"), tags.count("svg")) == (2, 1, tags.count("path") // 2)
    assert not {"img", "iframe", "link", "base", "object", "embed", "failure"} & set(tags)
    assert not reader.comments
    for _tag, attributes in reader.elements:
        assert not [name for name in attributes if name.startswith("on") or name in ("style", "src")]
        assert (attributes.get("href") or "#").startswith(("#", f"{SOURCE}/blob/main/docs/"))
    return reader


@pytest.mark.parametrize("name", REPORTS)
def test_nothing_of_an_account_is_markup(name: str) -> None:
    check(REPORTS[name])


@settings(max_examples=50, deadline=None)
@given(reports)
def test_nothing_strange_is_markup(document: dict[str, Any]) -> None:
    check(document)


def test_three_parts_of_our_own_alone_are_not_escaped() -> None:
    templates = "".join(file.read_text(encoding="utf-8") for file in PAGE.glob("*.html"))
    assert re.findall(r"(\w+) \| safe", templates) == ["style", "document", "script"]
    assert not re.findall(r"autoescape|Markup|safe(?! }})", templates)


def test_formats_without_a_template_do_not_load_jinja2() -> None:
    """Ansible has it loaded; hpc-onboard's own subcommands have not."""
    program = f"""
import sys
sys.path[:0] = {sys.path!r}
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.formats import files
from report_example import example
for name in ("json", "junit", "sarif", "csv", "openmetrics", "digest", "digest-json"):
    files.render_report(example(), name)
    assert "jinja2" not in sys.modules, name
for name in ("md", "html"):
    files.render_report(example(), name)
assert "jinja2" in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize("name", REPORTS)
def test_the_document_is_in_it_whole_and_cannot_end_its_element(name: str) -> None:
    said = embed_document(REPORTS[name])
    assert said.isascii()
    assert not set("<>&") & set(said)
    assert json.loads(gzip.decompress(base64.b64decode(said))) == REPORTS[name]
    (found,) = re.findall(r'<script type="application/gzip" id="document">(.*?)</script>', render(REPORTS[name]))
    assert found == said


def test_its_policy_allows_its_own_style_and_script_alone() -> None:
    page = render(example())
    policy = next(one["content"] for _tag, one in Reader(page).elements if one.get("http-equiv")) or ""
    rules = dict(part.split(" ", 1) for part in policy.split("; "))
    assert rules.keys() == {"default-src", "style-src", "script-src", "base-uri", "form-action"}
    for name, tag in (("style-src", "style"), ("script-src", "script")):
        (content,) = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        assert rules[name] == f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"


def test_its_policy_comes_before_anything_that_it_is_for() -> None:
    page = render(example())
    assert page.index("Content-Security-Policy") < page.index("<title") < page.index("<style") < page.index("<script")


def test_every_finding_can_be_read_without_the_script() -> None:
    said = " ".join(check(example()).words)
    for one in example()["findings"]:
        assert all(one[name] in said for name in ("text", "account", "resource", "place", "rule"))
        assert all(part.text in said for part in fix.describe_fix(one["fix"]))


def test_states_have_a_word_beside_their_colour() -> None:
    signs = [attributes for tag, attributes in check(example()).elements if attributes.get("class") == "sign"]
    assert signs
    assert all(attributes["aria-hidden"] == "true" for attributes in signs)


def test_it_says_what_its_changes_are_compared_with() -> None:
    document = example()
    document["run"]["since"] = "last"
    assert f"<p>Only changes since {document['history'][-1]['started'][:10]} " in render(document)
    assert "<p>No earlier audit was found.</p>" in render({**document, "history": []})


def luminance(colour: str) -> float:
    """Relative luminance by WCAG 2."""
    digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
    parts = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """Contrast by WCAG 2."""
    bright, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


def test_every_colour_of_text_can_be_read_on_both_papers() -> None:
    blocks = re.findall(r"color-scheme: (light|dark);([^}]*)\}", STYLE.read_text(encoding="utf-8"))
    assert [name for name, _block in blocks] == ["light", "dark", "dark", "light"]
    assert blocks[1] == blocks[2]
    for _name, block in blocks:
        colours = dict(re.findall(r"--(\w+): (#\w+)", block))
        for name in set(colours) - {"paper", "raised", "rule", "edge"}:
            assert contrast(colours[name], colours["paper"]) >= 4.5, name
            assert contrast(colours[name], colours["raised"]) >= 4.5, name
        assert contrast(colours["edge"], colours["paper"]) >= 3


def test_5290_findings_of_300_accounts_are_a_page_that_a_mail_can_carry() -> None:
    page = render(large(300, 5290))
    assert len(page.encode()) <= 3_000_000
    assert len(Reader(page).elements) <= 60_000
    assert page.count("<li id=") == 5290


def test_one_event_on_many_accounts_is_one_entry_with_what_they_share_once() -> None:
    found = [finding("LNK-003", f"u{n}@{site}", "link ~/x", place="~/x") for site in ("lrz", "daint") for n in range(9)]
    page = render(report([], found))
    assert page.count('class="event"') == 1
    assert "18 accounts" in page
    assert page.count("<code>~/x</code>") == 1
    assert re.findall(r"<h4>(\w+) <span class=\"many\">(\d+)<", page) == [("daint", "9"), ("lrz", "9")]
