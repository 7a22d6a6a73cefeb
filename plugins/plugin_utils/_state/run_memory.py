# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A small mapping that the processes of one run share, whatever the number of accounts.

Ansible runs every account in a forked process. What one of them learns reaches the others, and the
main process, through anonymous memory: it has no name, is kept out of core dumps, and is gone with the
run. A Shared must be made before the forks, at import.
"""

from __future__ import annotations

import fcntl
import json
import mmap
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Shared:
    """A mapping of names to JSON values, of at most size bytes as text."""

    def __init__(self, size: int) -> None:
        self._memory = mmap.mmap(-1, size)
        if hasattr(mmap, "MADV_DONTDUMP"):
            self._memory.madvise(mmap.MADV_DONTDUMP)
        self._lock, path = tempfile.mkstemp()  # a bare number: a module loaded anew leaves it without a warning
        os.unlink(path)

    @contextmanager
    def held(self) -> Iterator[dict[str, Any]]:
        """The mapping, for this process alone; what is changed in it is kept. What does not fit is not."""
        fcntl.lockf(self._lock, fcntl.LOCK_EX)
        try:
            known = self._known()
            yield known
            text = json.dumps(known).encode()
            if len(text) <= len(self._memory):
                self._memory[:] = text.ljust(len(self._memory), b"\0")
        finally:
            fcntl.lockf(self._lock, fcntl.LOCK_UN)

    def seen(self) -> dict[str, Any]:
        """The mapping as it is now, without waiting for one who holds it; empty in the moment of a change."""
        return self._known()

    def _known(self) -> dict[str, Any]:
        try:
            known: dict[str, Any] = json.loads(self._memory[:].rstrip(b"\0") or b"{}")
        except ValueError:
            return {}
        return known
