# SPDX-License-Identifier: GPL-3.0-or-later
"""The subcommand done for a user id without a name, as in a container that runs as any user."""

from __future__ import annotations

import os

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._status import done

from tests.unit.forked import child


@pytest.mark.skipif(os.getuid() != 0, reason="needs root, to become a user without a name")
def test_a_user_without_a_name_is_named_by_the_id(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(variable, raising=False)

    def look() -> None:
        os.setuid(54321)
        assert done._find_user() == "54321"

    assert os.waitpid(child(look), 0)[1] == 0
