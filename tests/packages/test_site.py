"""The documentation site, built whole: every link of it holds, it is searched offline, and it fits a phone.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import expect, sync_playwright

from tools.sanity_cores import ROOT

CHROMIUM = shutil.which("chromium")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the site. A link or heading that is missing is a warning, and each warning fails the build."""
    folder = tmp_path_factory.mktemp("site")
    order = [sys.executable, "-m", "tools.build_site", str(folder)]
    done = subprocess.run(order, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 0, done.stdout
    return folder


def test_every_page_of_the_checkout_is_there(site: Path) -> None:
    names = {path.stem for path in ROOT.glob("docs/*.md")} | {"contributing", "security", "reference/directory_module"}
    assert {name for name in names if not (site / f"{name}.html").is_file()} == set()


def test_it_is_searched_offline_and_fits_a_phone(site: Path) -> None:
    if not CHROMIUM and os.environ.get("HPC_ONBOARD_NO_TESTBED") == "1":
        pytest.skip("no chromium, as HPC_ONBOARD_NO_TESTBED=1 says")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_context(viewport={"width": 390, "height": 844}).new_page()
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto(f"{(site / 'search.html').as_uri()}?q=offboard")
        expect(page.locator("#search-results")).to_contain_text("Undo everything", timeout=30_000)
        for name in ("index", "start", "options", "rules"):
            page.goto((site / f"{name}.html").as_uri())
            assert page.evaluate("document.documentElement.scrollWidth") <= 390, name
        browser.close()
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
