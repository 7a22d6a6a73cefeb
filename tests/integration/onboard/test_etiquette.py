# SPDX-License-Identifier: GPL-3.0-or-later
"""Forty accounts on one login host, and as many forks: no more than four at once, and nobody is turned away."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.integration.runs import onboard

pytestmark = pytest.mark.testbed

FORTY = 40
STRICT_PORT = 2223
USUAL = "10:30:100"  # OpenSSH's own MaxStartups


def strict_door(bed: Any, startups: str) -> Path:
    """A second sshd of a cluster that drops connections early; its log."""
    world = bed.cluster("pegasus").world
    changed = {"ListenAddress": f"0.0.0.0:{STRICT_PORT}", "MaxStartups": startups}
    lines = (world.root / "etc/ssh/testbed_config").read_text(encoding="ascii").splitlines()
    kept = [line for line in lines if line.partition(" ")[0] not in changed]
    text = "\n".join([*kept, *(f"{name} {value}" for name, value in changed.items()), ""])
    (world.root / "etc/ssh/strict_config").write_text(text, encoding="ascii")
    world.run("/usr/sbin/sshd", "-f", "/etc/ssh/strict_config", "-E", "/var/log/strict.log")
    return Path(world.root / "var/log/strict.log")


def test_forty_accounts_at_fifty_forks_are_all_let_in_and_none_is_dropped(bed: Any) -> None:
    log = strict_door(bed, USUAL)
    accounts = [bed.new_account("pegasus") for _ in range(FORTY)]
    port = {account.name: {"vars": {"ansible_port": STRICT_PORT}} for account in accounts}
    ran = onboard(bed, *accounts, settings=port, more=("-f", "50", "--tags", "container_caches"))
    assert ran.code == 0, ran.text
    said = log.read_text(encoding="utf-8", errors="replace")
    assert "drop connection" not in said
    assert "MaxStartups throttling" not in said
    begun, most = 0, 0
    for line in said.splitlines():
        begun += ("Connection from " in line) - ("Accepted publickey" in line)
        most = max(most, begun)
    assert said.count("Accepted publickey") == FORTY
    assert most <= 4, "so many were authenticating at once"
