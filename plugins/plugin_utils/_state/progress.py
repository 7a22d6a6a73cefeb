# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is under way on which account, for whoever shows it: the workers write, the main process reads."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ansible_collections.hpc.onboard.plugins.plugin_utils._state.run_memory import Shared

HUSH = ""  # no account has this name
SETTLED = 0.15  # seconds after which whoever draws has seen that it must not


class Board:
    """Account -> progress {step, done, total, unit}, as the engine gives it; done and total are None when unknown."""

    def __init__(self) -> None:
        self._shared = Shared(64 * 1024)

    def put(self, account: str, progress: Mapping[str, Any] | None) -> None:
        """Say how far an account is; None: nothing is under way there any more."""
        with self._shared.held() as entries:
            if progress is None:
                entries.pop(account, None)
            else:
                entries[account] = dict(progress)

    def entries(self) -> dict[str, dict[str, Any]]:
        """How far each account is."""
        return {name: entry for name, entry in self._shared.seen().items() if name != HUSH}

    @contextmanager
    def hushed(self) -> Iterator[None]:
        """While a person is asked something: nobody may draw on the terminal."""
        self._hush(1)
        time.sleep(SETTLED)
        try:
            yield
        finally:
            self._hush(-1)

    def _hush(self, by: int) -> None:
        with self._shared.held() as entries:
            entries[HUSH] = {"count": entries.get(HUSH, {}).get("count", 0) + by}

    def is_hushed(self) -> bool:
        """Whether a person is being asked something."""
        return bool(self._shared.seen().get(HUSH, {}).get("count"))


BOARD = Board()
