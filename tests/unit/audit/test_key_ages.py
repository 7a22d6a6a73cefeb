# SPDX-License-Identifier: GPL-3.0-or-later
"""What this machine knows of keys by itself: their last day, their kind, and those that were replaced."""

from __future__ import annotations

from datetime import date

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.fixes import FixCommands
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.key_ages import (
    key_findings,
    map_old_keys,
    read_versions,
)
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.command_line import Invocation
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets.versions import KeyVersion, Secret

TODAY = date(2026, 11, 21)


def secret(*versions: KeyVersion) -> dict[str, Secret]:
    """A secret by name."""
    return {"ngc": Secret("ngc", versions)}


@pytest.mark.parametrize(
    ("version", "said"),
    [
        (KeyVersion("v1", "personal", "current"), []),
        (KeyVersion("v1", "personal", "current", expires="2026-12-22"), []),
        (KeyVersion("v1", "personal", "current", expires="2026-12-21"), [("KEY-007", "medium")]),
        (KeyVersion("v1", "personal", "current", expires="2026-11-29"), [("KEY-007", "medium")]),
        (KeyVersion("v1", "personal", "current", expires="2026-11-28"), [("KEY-007", "high")]),
        (KeyVersion("v1", "personal", "current", expires="2026-11-20"), [("KEY-007", "high")]),
        (KeyVersion("v1", "legacy", "current"), [("KEY-008", "low")]),
    ],
)
def test_the_last_day_and_the_kind_are_told(version: KeyVersion, said: list[tuple[str, str]]) -> None:
    assert [(one["rule"], one["severity"]) for one in key_findings(secret(version), TODAY)] == said


@pytest.mark.parametrize(
    ("label", "said"), [("previous", ["KEY-011"]), ("retired", ["KEY-011"]), ("dead", []), ("purged", [])]
)
def test_a_key_that_was_replaced_is_told_until_it_is_dead(label: str, said: list[str]) -> None:
    before = KeyVersion("v1", "personal", label, fingerprint="0123456789ab")
    versions = secret(before, KeyVersion("v2", "personal", "current", issued="2026-11-01"))
    assert [one["rule"] for one in key_findings(versions, TODAY)] == said
    assert map_old_keys(versions, {("ngc", "v1"): "key a", ("ngc", "v2"): "key b"}) == {"key a": "ngc"}
    assert map_old_keys(versions, {}) == {}


def test_a_secret_that_was_never_rotated_is_not_looked_for() -> None:
    assert read_versions({"never"}) == {}


@pytest.mark.parametrize(("rule", "options"), [("KEY-007", ""), ("KEY-008", ""), ("KEY-011", " --retired")])
def test_the_command_that_replaces_a_key_names_the_key(rule: str, options: str) -> None:
    current = KeyVersion("v2", "legacy", "current", expires="2026-12-01")
    wandb = Secret("wandb", (KeyVersion("v1", "personal", "previous"), current))
    findings = [one for one in key_findings({"wandb": wandb}, date(2026, 11, 25)) if one["rule"] == rule]
    commands = FixCommands(Invocation(("hpc-onboard",), True, None, ()))
    ((fix,),) = [commands.find_fix(one, "a@b") for one in findings]
    assert fix["text"].endswith(f": hpc-onboard rotate --secret wandb{options}")
