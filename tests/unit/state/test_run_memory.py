# SPDX-License-Identifier: GPL-3.0-or-later
"""The memory that holds keys during a run reaches neither a core dump nor the swap."""

from __future__ import annotations

import os
import resource
import signal
from itertools import pairwise
from pathlib import Path

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._state.run_memory import Shared

SIZE = 12_345 * 1024 // 4096 * 4096 // 16  # like nothing else's
PAGES = -(-SIZE // 4096) * 4


def flags() -> set[str]:
    """What the kernel says of the mapping of that size (proc_pid_smaps(5)): lo is locked, dd is not dumped."""
    said = [part.splitlines() for part in Path("/proc/self/smaps").read_text().split("VmFlags:")]
    for before, after in pairwise(said):
        if f"Size:{PAGES:>19} kB" in before:
            return set(after[0].split())
    raise AssertionError("no such mapping")


@pytest.mark.skipif(resource.getrlimit(resource.RLIMIT_MEMLOCK)[0] < SIZE, reason="the limit allows no such lock")
def test_memory_that_holds_keys_is_neither_dumped_nor_swapped_out() -> None:
    shared = Shared(SIZE)
    with shared.lock() as known:
        known["answers"] = "a key"
    assert {"lo", "dd"} <= flags()


def test_where_no_memory_may_be_locked_it_is_shared_all_the_same() -> None:
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        resource.setrlimit(resource.RLIMIT_MEMLOCK, (0, 0))
        if os.getuid() == 0:
            os.setuid(65534)  # root is held to no limit
        shared = Shared(SIZE)
        with shared.lock() as known:
            known["one"] = 1
        os._exit(0 if shared.peek() == {"one": 1} and "lo" not in flags() else 1)
    assert os.waitpid(child, 0)[1] == 0
