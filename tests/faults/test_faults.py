# SPDX-License-Identifier: GPL-3.0-or-later
"""Every operation, killed at each of its system calls, and with each errno at each of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import pytest

from .harness import writing
from .scenes import SCENES, Scene
from .sweep import Known, errors, kills, study, sweep

EVERY = pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.name.replace(" ", "-"))


@lru_cache
def known(name: str) -> Known:
    with writing() as writer:
        return study(writer, next(scene for scene in SCENES if scene.name == name))


@EVERY
def test_a_kill_at_any_call_leaves_old_or_new(scene: Scene, count: Callable[[str, int, int], None]) -> None:
    faults = kills(scene, known(scene.name))
    broken = sweep(scene, known(scene.name), faults)
    count("kill points", len(faults), len(broken))
    assert not broken, "\n" + "\n".join(broken)


@EVERY
def test_an_error_at_any_call_is_told_and_harmless(scene: Scene, count: Callable[[str, int, int], None]) -> None:
    faults = errors(scene, known(scene.name))
    broken = sweep(scene, known(scene.name), faults)
    count("injected errors", len(faults), len(broken))
    assert not broken, "\n" + "\n".join(broken)
