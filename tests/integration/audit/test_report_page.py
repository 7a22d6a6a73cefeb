# SPDX-License-Identifier: GPL-3.0-or-later
"""The audit's page in a real browser: whole in itself, usable by mouse and by keyboard, readable, and safe."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.formats.html_page import render
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests.effort import exhaustive, turns

sys.path.insert(0, str(Path(__file__).parents[2] / "unit"))
from report_example import REPORTS, account, finding, large, report

pytestmark = turns(3)
CHROMIUM = shutil.which("chromium")
SHOWN = "#list li:not([hidden])"
FIRST = "#list .event:has(#f0)"
EVENT = "#list .event:not([hidden])"
CLIPBOARD = ["clipboard-read", "clipboard-write"]
expect.set_options(timeout=60_000)  # milliseconds: other tests keep the machine busy


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Debian's Chromium, without a window."""
    if not CHROMIUM and os.environ.get("HPC_ONBOARD_NO_TESTBED") == "1":
        pytest.skip("no chromium, as HPC_ONBOARD_NO_TESTBED=1 says")
    assert CHROMIUM, "the Debian package chromium is needed (HPC_ONBOARD_NO_TESTBED=1 goes without it)"
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()


class Opened:
    """A page from a file, and all that it asked for or complained of."""

    def __init__(self, context: BrowserContext, file: Path) -> None:
        self.url = file.as_uri()
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.page = context.new_page()
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", lambda dialog: self.complaints.append(dialog.message))
        self.page.goto(self.url)

    def check(self) -> None:
        """Nothing was asked for, and nothing went wrong."""
        assert self.requests == [self.url]
        assert not self.complaints


def written(folder: Path, name: str, document: dict[str, Any] | None = None) -> Path:
    """A report as a file."""
    file = folder / f"{name}.html"
    file.write_text(render(document or REPORTS[name]), encoding="utf-8")
    return file


@pytest.fixture
def opened(browser: Browser, tmp_path: Path) -> Iterator[Opened]:
    """The page of the example, 1200 pixels wide."""
    context = browser.new_context(viewport={"width": 1200, "height": 900}, permissions=CLIPBOARD)
    found = Opened(context, written(tmp_path, "example"))
    yield found
    found.check()
    context.close()


def rules(page: Page) -> list[str]:
    """The rules of the findings that are shown."""
    return page.locator(f"{EVENT} .rule").all_text_contents()


@pytest.mark.parametrize("name", REPORTS)
def test_it_opens_from_a_file_without_any_request_or_complaint(browser: Browser, tmp_path: Path, name: str) -> None:
    context = browser.new_context()
    found = Opened(context, written(tmp_path, name))
    expect(found.page.locator("h1")).to_be_visible()
    assert found.page.locator("#list li").count() == len(REPORTS[name]["findings"])
    found.check()
    context.close()


def test_filters_work_by_mouse(opened: Opened) -> None:
    page = opened.page
    assert len(rules(page)) == 8
    page.get_by_label("include waived").check()
    expect(page.locator("#shown")).to_have_text("9 of 9 findings shown")
    assert "PKG-002" in rules(page)
    page.get_by_label("only new").check()
    expect(page.locator("#shown")).to_have_text("2 of 9 findings shown")
    assert rules(page) == ["SEC-001", "ENV-002"]
    page.locator("input[value=critical]").uncheck()
    expect(page.locator("#shown")).to_have_text("1 of 9 findings shown")
    page.get_by_role("button", name="Reset").click()
    expect(page.locator("#shown")).to_have_text("8 of 9 findings shown")
    page.locator("select[name=account]").select_option("ada@dfki")
    expect(page.locator("#shown")).to_have_text("2 of 9 findings shown")
    page.locator("select[name=cause]").select_option("time")
    expect(page.locator("#shown")).to_have_text("1 of 9 findings shown")
    assert rules(page) == ["KEY-007"]
    page.locator("select[name=class]").select_option("orphan")
    expect(page.locator("#shown")).to_have_text("0 of 9 findings shown")


def test_filters_and_findings_work_by_keyboard(opened: Opened) -> None:
    page = opened.page
    page.get_by_label("Text", exact=True).focus()
    page.keyboard.type("WCLUSTRE")
    expect(page.locator("#shown")).to_have_text("1 of 9 findings shown")
    for _key in range(5):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator(f"{EVENT}[open]")).to_contain_text("Ask the site whether /wclustre was moved, then:")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Space")  # Reset
    expect(page.locator("#shown")).to_have_text("8 of 9 findings shown")
    page.locator("input[value=critical]").focus()
    page.keyboard.press("Space")
    expect(page.locator("#shown")).to_have_text("7 of 9 findings shown")


def test_all_can_be_reached_by_keyboard_and_the_focus_is_seen(opened: Opened) -> None:
    page = opened.page
    seen = []
    for _key in range(60):
        page.keyboard.press("Tab")
        seen.append(page.evaluate("(document.activeElement.name || document.activeElement.textContent).trim()"))
        if seen[-1] != page.evaluate("document.body.textContent.trim()"):
            assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none", seen[-1]
    for name in (
        "Skip to the findings",
        "Save as JSON",
        "Dark",
        "severity",
        "account",
        "class",
        "cause",
        "text",
        "Open all",
    ):
        assert name in seen, name


def test_a_cell_of_the_matrix_leads_to_its_finding(opened: Opened) -> None:
    page = opened.page
    page.get_by_label("Text", exact=True).fill("nothing has this")
    expect(page.locator("#shown")).to_have_text("0 of 9 findings shown")
    page.locator(".matrix a", has_text="critical").click()
    expect(page.locator(FIRST)).to_have_attribute("open", "")
    expect(page.locator(f"{FIRST} > summary")).to_be_focused()
    expect(page.locator(FIRST)).to_contain_text("SEC-001")


def test_a_command_can_be_copied(opened: Opened) -> None:
    page = opened.page
    page.locator(f"{FIRST} > summary").click()
    page.locator(f"{FIRST} .copy").click()
    expect(page.locator(f"{FIRST} .copy")).to_have_text("Copied")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == "ansible-playbook onboard.yml -l go42tum@lrz --tags enroot_credentials"


def test_the_document_can_be_saved(opened: Opened, tmp_path: Path) -> None:
    with opened.page.expect_download() as waiting:
        opened.page.get_by_role("button", name="Save as JSON").click()
    waiting.value.save_as(tmp_path / "saved.json")
    assert json.loads((tmp_path / "saved.json").read_text()) == REPORTS["example"]
    opened.requests[1:] = [url for url in opened.requests[1:] if not url.startswith("blob:")]


def paper(page: Page) -> str:
    """The colour of the page."""
    return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_light_or_dark_as_the_system_and_the_switch_say(opened: Opened, scheme: Any) -> None:
    page = opened.page
    colours = {"light": "rgb(253, 253, 251)", "dark": "rgb(22, 24, 26)"}
    other = {"light": "dark", "dark": "light"}[scheme]
    page.emulate_media(color_scheme=scheme)
    assert paper(page) == colours[scheme]
    page.get_by_role("button", name=other.capitalize(), exact=True).click()
    assert paper(page) == colours[other]
    page.get_by_role("button", name=scheme.capitalize(), exact=True).click()
    assert paper(page) == colours[scheme]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    "name",
    ["example", "hostile", *(pytest.param(one, marks=exhaustive) for one in ("empty", "nothing_measured", "in_order"))],
)
def test_axe_finds_no_barrier(browser: Browser, tmp_path: Path, name: str, scheme: Any) -> None:
    context = browser.new_context(color_scheme=scheme, viewport={"width": 1200, "height": 3000}, bypass_csp=True)
    found = Opened(context, written(tmp_path, name))
    if found.page.locator("#list li").count():
        found.page.get_by_role("button", name="Open all").click()
    results = Axe().run(found.page)
    assert results.violations_count == 0, results.generate_report()
    assert len(results.response["passes"]) > 15
    context.close()


@pytest.mark.parametrize("wide", [320, pytest.param(400, marks=exhaustive), pytest.param(800, marks=exhaustive)])
@pytest.mark.parametrize("name", ["example", "hostile"])
def test_no_window_is_too_narrow(browser: Browser, tmp_path: Path, name: str, wide: int) -> None:
    context = browser.new_context(viewport={"width": wide, "height": 800})
    found = Opened(context, written(tmp_path, name))
    if found.page.locator("#list li").count():
        found.page.get_by_role("button", name="Open all").click()
    assert found.page.evaluate("document.documentElement.scrollWidth") <= wide
    context.close()


@pytest.mark.parametrize("wide", [390, 1280])
def test_the_table_of_accounts_fits_a_phone_and_a_laptop(browser: Browser, tmp_path: Path, wide: int) -> None:
    context = browser.new_context(viewport={"width": wide, "height": 800})
    page = Opened(context, written(tmp_path, "large")).page
    assert page.locator(".matrix th[scope=col]").count() == 10
    for element in ("document.documentElement", "document.querySelector('.wide.tall')"):
        assert page.evaluate(f"{element}.scrollWidth <= {element}.clientWidth"), element
    sizes = (
        "Array.from(document.querySelectorAll('.matrix .sign'), (one) => parseFloat(getComputedStyle(one).fontSize))"
    )
    assert min(page.evaluate(sizes)) >= 12
    context.close()


def test_one_event_on_many_accounts_can_be_filtered_to_one(browser: Browser, tmp_path: Path) -> None:
    found = [finding("LNK-003", f"u{n}@{site}", "link ~/x") for site in ("lrz", "daint") for n in range(9)]
    context = browser.new_context()
    opened = Opened(context, written(tmp_path, "event", report([account(one["account"]) for one in found], found)))
    page = opened.page
    assert page.locator(EVENT).count() == 1
    expect(page.locator(f"{EVENT} > summary")).to_contain_text("18 accounts")
    page.locator(f"{EVENT} > summary").click()
    expect(page.locator("h4:visible")).to_have_text(["daint 9", "lrz 9"])
    page.locator("select[name=account]").select_option("u3@lrz")
    expect(page.locator("h4:visible")).to_have_text(["lrz 1"])
    assert page.locator(f"{SHOWN} .who").all_text_contents() == ["u3@lrz"]
    opened.check()
    context.close()


def test_it_prints_every_detail_and_no_controls(opened: Opened, tmp_path: Path) -> None:
    opened.page.get_by_role("button", name="Dark", exact=True).click()
    opened.page.pdf(path=tmp_path / "audit.pdf", format="A4")
    command = ["pdftotext", "-layout", str(tmp_path / "audit.pdf"), "-"]
    printed = " ".join(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())
    for one in REPORTS["example"]["findings"]:
        if not one["waiver"]:
            assert one["text"] in printed
            assert one["rule"] in printed
            assert one["fingerprint"][:23] in printed
    assert "ansible-playbook onboard.yml -l go42tum@lrz --tags enroot_credentials" in printed
    assert "mode 0600 0640" in printed
    assert "2026-10-05 18:00 UTC" in printed  # of the history's table
    for control in ("Open all", "Save as JSON", "only new", "Copy", "Reset"):
        assert control not in printed


def test_without_javascript_all_of_it_can_be_read(browser: Browser, tmp_path: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    found = Opened(context, written(tmp_path, "example"))
    page = found.page
    for control in ("#filters", ".tools", ".copy"):
        assert not [one for one in page.locator(control).all() if one.is_visible()]
    assert page.locator("#list summary:visible").count() == len(REPORTS["example"]["findings"])
    page.locator(f"{FIRST} > summary").click()
    expect(page.locator(f"{FIRST} .body")).to_be_visible()
    found.check()
    context.close()


def test_its_policy_stops_what_a_mistake_would_let_through(opened: Opened) -> None:
    blocked = opened.page.evaluate(
        """() => new Promise((done) => {
            const seen = [];
            document.addEventListener("securitypolicyviolation", (event) => {
                seen.push(event.effectiveDirective);
                if (seen.length === 4) done(seen.sort());
            });
            const place = document.createElement("div");
            place.innerHTML = '<img src="http://127.0.0.1:1/x.png"><p style="color:red">x</p><b onclick="1">x</b>';
            document.body.append(place);
            const script = document.createElement("script");
            script.textContent = "window.broken = 1";
            document.body.append(script);
        })"""
    )
    assert blocked == ["img-src", "script-src-attr", "script-src-elem", "style-src-attr"]
    assert opened.page.evaluate("window.broken") is None
    opened.complaints.clear()
    opened.requests[1:] = []


def test_300_accounts_and_5000_findings_can_be_filtered(browser: Browser, tmp_path: Path) -> None:
    context = browser.new_context()
    found = Opened(context, written(tmp_path, "big", large(300, 5000)))
    page = found.page
    expect(page.locator("#shown")).to_have_text("4,900 of 5,000 findings shown")
    page.locator("input[name=text]").fill("thing 4998")
    expect(page.locator("#shown")).to_have_text("1 of 5,000 findings shown")
    assert page.locator(SHOWN).count() == 1
    found.check()
    context.close()
