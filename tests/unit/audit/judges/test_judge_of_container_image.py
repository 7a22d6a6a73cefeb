# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the audit says of a container image, and of a cache that is to be emptied."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.hpc.onboard.plugins.module_utils._core.resource import Outcome
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.findings import of_resource
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.judges.common import Look

WANTED = {"image": "a+1.sqsh", "digest": "sha256:1"}


def rules(kind: str, before: dict[str, str], after: dict[str, str], reason: str | None) -> list[tuple[str, str]]:
    """The findings as rule and class."""
    outcome: Any = {**Outcome("the thing", before, after, reason).document(), "capability": "some"}
    said = of_resource({"kind": kind, "capability": "some", "options": {}}, "k", outcome, Look({}, "mine", {}, ()))
    return [(one["rule"], one["class"]) for one in said]


@pytest.mark.parametrize(
    ("before", "reason", "found"),
    [
        ({}, None, [("IMG-001", "missing")]),
        ({}, "the file system has 3 GB left", [("IMG-001", "broken")]),
        ({"is": "file"}, "was not made by us", [("IMG-001", "broken")]),
        ({"image": "a+0.sqsh", "digest": "sha256:0"}, None, [("IMG-002", "changed")]),
        ({**WANTED, "digest": "changed by somebody"}, "a+1.sqsh was not made by us", [("IMG-002", "changed")]),
        (WANTED, None, []),
    ],
)
def test_each_difference_of_an_image_breaks_its_rule(before: dict[str, str], reason: str | None, found: Any) -> None:
    assert rules("container_image", before, WANTED, reason) == found


def test_a_cache_that_holds_something_is_no_finding() -> None:
    assert rules("emptied_cache", {"size": "5.0 MB"}, {"size": "0 bytes"}, None) == []
