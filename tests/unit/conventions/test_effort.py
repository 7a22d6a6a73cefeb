"""What a run takes of the tests that take turns.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import effort

pytest_plugins = "pytester"
TESTS = """
import pytest

@pytest.mark.turns(4)
@pytest.mark.parametrize("at", [pytest.param(at, marks=pytest.mark.exhaustive if at % 3 else ()) for at in range(24)])
def test_some(at):
    pass

def test_always():
    pass
"""


def test_one_in_so_many_of_those_that_it_may_take(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """24, of which an exhaustive run alone takes 16: of the other eight, one in four are two, whatever the seed."""
    monkeypatch.setattr(effort, "EXHAUSTIVE", False)
    monkeypatch.setattr(effort, "EVERY_TEST", False)
    pytester.makeini("[pytest]\nmarkers =\n    turns\n    exhaustive\n")
    items = pytester.getitems(TESTS)
    picked = set()
    for seed in range(30):
        monkeypatch.setattr(effort, "SEED", str(seed))
        left = effort.left_out(items)
        *some, always = [item.name for item in items if item not in left]
        assert always == "test_always"
        assert len(some) == 2, seed
        picked.update(some)
    assert picked == {f"test_some[{at}]" for at in range(0, 24, 3)}


def test_runs_in_a_row_take_every_slow_module_and_each_the_main_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    tests = Path(effort.__file__).parent
    monkeypatch.setattr(effort, "EVERY_TEST", True)
    every = effort.slow_modules(tests)
    main = {str(tests / name) for name in effort.MAIN_WAYS}
    monkeypatch.setattr(effort, "EVERY_TEST", False)
    runs = []
    for seed in range(7, 7 + effort.SHARE):
        monkeypatch.setattr(effort, "SEED", str(seed))
        runs.append(set(effort.slow_modules(tests)))
    assert all(main < taken < set(every) for taken in runs)
    assert set.union(*runs) == set(every)
    assert sum(len(taken - main) for taken in runs) == len(set(every) - main), "a module is in two runs"
