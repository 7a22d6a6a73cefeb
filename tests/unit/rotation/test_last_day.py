# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The last day of a new key, where no person is there to say it."""

from __future__ import annotations

from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.new_key import ask_last_day


def test_without_a_terminal_nobody_is_asked_and_the_day_stays_open() -> None:
    assert ask_last_day("ngc", "https://org.ngc.nvidia.com/setup/api-keys") == ""
