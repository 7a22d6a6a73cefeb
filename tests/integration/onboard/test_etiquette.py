# SPDX-License-Identifier: GPL-3.0-or-later
"""Forty accounts on one login host, and as many forks: no more than four at once, and nobody is turned away."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.runs import onboard
from tests.testbed.further_sshd import FurtherSshd

pytestmark = pytest.mark.testbed

FORTY = 40
STRICT_PORT = 2223
USUAL = "10:30:100"  # OpenSSH's own MaxStartups


def test_forty_accounts_at_fifty_forks_are_all_let_in_and_none_is_dropped(bed: Any) -> None:
    strict = FurtherSshd(bed.cluster("pegasus"), "strict", STRICT_PORT, {"MaxStartups": USUAL})
    accounts = [bed.new_account("pegasus") for _ in range(FORTY)]
    port = {account.name: {"vars": {"ansible_port": STRICT_PORT}} for account in accounts}
    ran = onboard(bed, *accounts, settings=port, more=("-f", "50", "--tags", "container_caches"))
    assert ran.code == 0, ran.text
    said = strict.said
    assert "drop connection" not in said
    assert "MaxStartups throttling" not in said
    begun, most = 0, 0
    for line in said.splitlines():
        begun += ("Connection from " in line) - ("Accepted publickey" in line)
        most = max(most, begun)
    assert said.count("Accepted publickey") == FORTY
    assert most <= 4, "so many were authenticating at once"
