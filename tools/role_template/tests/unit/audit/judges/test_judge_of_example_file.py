# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the audit says of a file of example_files."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.hpc.onboard.plugins.module_utils._core.resource import Outcome
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.findings import of_resource
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.judges.common import Look

WANTED = {"content": "x"}


@pytest.mark.parametrize(
    ("before", "reason", "found"),
    [
        ({}, None, [("EXA-001", "missing")]),
        ({}, "a file is in the way", [("EXA-001", "broken")]),
        ({"content": "y"}, None, [("EXA-002", "changed")]),
        ({"is": "folder"}, "it is a folder and stays", [("EXA-002", "changed")]),
        (WANTED, None, []),
    ],
)
def test_each_difference_breaks_its_rule(before: dict[str, str], reason: str | None, found: Any) -> None:
    outcome = {**Outcome("the thing", before, WANTED, reason).document(), "capability": "example_files"}
    said = of_resource({"kind": "example_file", "options": {}}, "k", outcome, Look({}, "mine", {}, ()))
    assert [(one["rule"], one["class"]) for one in said] == found
