# SPDX-License-Identifier: GPL-3.0-or-later
"""The report's files: whole, private, the same for the same report, and each without the code of the others."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.formats.files import (
    FORMATS,
    ReportError,
    render_report,
    write_files,
)
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.formats.shared import escape_invisible
from report_example import REPORTS, copy, example


@pytest.mark.parametrize("name", REPORTS)
@pytest.mark.parametrize("kind", FORMATS)
def test_the_same_report_gives_the_same_bytes(name: str, kind: str) -> None:
    before = json.dumps(REPORTS[name])
    assert render_report(REPORTS[name], kind).encode() == render_report(copy(REPORTS[name]), kind).encode()
    assert json.dumps(REPORTS[name]) == before


def test_each_format_is_a_private_file_in_a_private_folder(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "reports"
    paths = write_files(example(), str(folder), list(FORMATS))
    assert sorted(os.listdir(folder)) == sorted(FORMATS.values()) == sorted(Path(path).name for path in paths)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}
    assert json.loads((folder / "audit.json").read_text()) == example()


def test_a_former_report_is_replaced_and_what_a_link_leads_to_is_not(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    (tmp_path / "audit.json").symlink_to("mine")
    (tmp_path / "audit.md").write_text("old")
    write_files(example(), str(tmp_path), ["json", "md"])
    assert (tmp_path / "mine").read_text() == "mine"
    assert not (tmp_path / "audit.json").is_symlink()
    assert (tmp_path / "audit.md").read_text().startswith("# Audit")


def test_an_unknown_format_is_told_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(ReportError, match="'pdf' is not a report format; available: json, md, junit, sarif, html, csv"):
        write_files(example(), str(tmp_path / "new"), ["json", "pdf"])
    assert not (tmp_path / "new").exists()


def test_what_cannot_be_written_is_told_and_leaves_no_draft(tmp_path: Path) -> None:
    (tmp_path / "audit.json").mkdir()
    with pytest.raises(ReportError, match=r"could not write the report to .*audit\.json \(EISDIR\)"):
        write_files(example(), str(tmp_path), ["json"])
    assert os.listdir(tmp_path) == ["audit.json"]
    (tmp_path / "file").write_text("")
    with pytest.raises(ReportError, match=r"could not write the report to .*file/x \(.*/file is not a folder"):
        write_files(example(), str(tmp_path / "file" / "x"), ["json"])


def test_a_format_loads_no_other_one() -> None:
    program = (
        "import sys, json\n"
        "from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.formats import files\n"
        "files.render_report(json.load(sys.stdin), 'md')\n"
        "print(*sorted(name.rpartition('.')[2] for name in sys.modules if '._audit.formats.' in name))"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], input=json.dumps(example()), capture_output=True, text=True, check=True
    )
    assert run.stdout.split() == ["files", "groups", "markdown", "shared", "templates"], run.stderr


def test_every_text_of_a_document_is_made_visible() -> None:
    assert escape_invisible({"a\u202e": ["\u200b", 1, None, {"b": "\u3164"}]}) == {
        "a\\u202e": ["\\u200b", 1, None, {"b": "\\u3164"}]
    }
