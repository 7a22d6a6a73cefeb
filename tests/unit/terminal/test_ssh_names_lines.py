# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a person sees of names for ssh: what would be written, what was, and what is in the way."""

from __future__ import annotations

from typing import Any

from ansible_collections.hpc.onboard.plugins.plugin_utils._terminal.account import View
from ansible_collections.hpc.onboard.plugins.plugin_utils._terminal.layout import plain_text
from ansible_collections.hpc.onboard.plugins.plugin_utils._terminal.logins import SshConfigRenderer

AFTER = {
    "~/.ssh/hpc.onboard.conf": "Host wilson\n    User ada\n",
    "~/.ssh/config": "Include hpc.onboard.conf, at the end",
}


def result(status: str, preview: bool, **more: Any) -> dict[str, Any]:
    names = [
        {"account": "ada@wilson", "name": "wilson", "text": ""},
        {"account": "ada@lrz", "name": "", "text": "has no entry: its settings of ssh say -F"},
    ]
    outcome = {"identity": "names for ssh", "status": status, "before": {}, "after": AFTER}
    changed = status in ("missing", "different", "extra")
    return {"outcome": outcome, "names": names, "previewed": preview, "changed": changed, **more}


def lines(found: dict[str, Any]) -> list[str]:
    return [plain_text(line).rstrip() for line in SshConfigRenderer().lines("a", found, View())]


def test_what_would_be_written_is_shown_with_the_names() -> None:
    assert lines(result("missing", True)) == [
        "~ names for ssh  to write",
        "                 + ~/.ssh/hpc.onboard.conf:",
        "                 +   Host wilson",
        "                 +       User ada",
        "                 + ~/.ssh/config: Include hpc.onboard.conf, at the end",
        "  = ssh wilson  ada@wilson",
        "  !             ada@lrz has no entry: its settings of ssh say -F",
    ]


def test_what_was_written_is_not_shown_again() -> None:
    assert lines(result("missing", False))[:2] == ["✓ names for ssh  written", "  = ssh wilson  ada@wilson"]
    assert "+   Host wilson" in "\n".join(lines(result("missing", False, diff=[])))
    assert lines(result("extra", False))[0] == "✓ names for ssh  removed"


def test_where_nothing_would_change_the_question_has_nothing_before_it() -> None:
    assert SshConfigRenderer().is_hidden(result("ok", True), View())
    assert not SshConfigRenderer().is_hidden(result("ok", True), View(check=True))
    assert not SshConfigRenderer().is_hidden(result("ok", False), View())


def test_what_is_in_the_way_is_an_error() -> None:
    found = result("blocked", False, failed=True, msg="others may write ~/.ssh/config")
    assert SshConfigRenderer().find_error(found) == "others may write ~/.ssh/config"
    assert lines(found)[0] == "✗ names for ssh  blocked"
