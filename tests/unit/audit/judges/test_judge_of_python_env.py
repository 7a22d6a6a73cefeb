# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the audit says of a Python environment."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.hpc.onboard.plugins.module_utils._core.resource import Outcome
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.findings import of_resource
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.judges.common import Look

WANTED = {"packages": "numpy", "leads to": "an environment", "installed": "as locked"}


@pytest.mark.parametrize(
    ("before", "reason", "found"),
    [
        ({}, None, [("PKG-006", "missing")]),
        ({}, "the site has no wheel for numpy==99", [("PKG-006", "broken")]),
        ({"is": "folder"}, "it was not made by us", [("PKG-006", "broken")]),
        ({**WANTED, "leads to": "a Python that is gone"}, "python/3.10 cannot be loaded", [("PKG-006", "broken")]),
        ({"leads to": "files that are gone"}, None, [("PKG-006", "broken")]),
        ({**WANTED, "installed": "+torch==2.4"}, "changed by hand", [("PKG-007", "changed")]),
        ({**WANTED, "packages": "torch"}, None, [("PKG-007", "changed")]),
        (WANTED, None, []),
    ],
)
def test_each_difference_breaks_its_rule(before: dict[str, str], reason: str | None, found: Any) -> None:
    outcome = {**Outcome("the thing", before, WANTED, reason).document(), "capability": "python_envs"}
    said = of_resource({"kind": "python_env", "options": {}}, "k", outcome, Look({}, "mine", {}, ()))
    assert [(one["rule"], one["class"]) for one in said] == found
