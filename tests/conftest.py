"""Fixtures that all tests share: the testbed, what is counted, and how hard the tests look.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from tests.effort import EXHAUSTIVE, SEED, left_out

if TYPE_CHECKING:
    from tests.testbed import Testbed

_WITHOUT = "HPC_ONBOARD_NO_TESTBED"


@pytest.fixture(scope="session")
def bed() -> Iterator[Testbed]:
    """Give the testbed, up; a machine that cannot have it fails the test, unless it was told to go without."""
    if os.environ.get(_WITHOUT) == "1":
        pytest.skip(f"no testbed, as {_WITHOUT}=1 says")
    from tests.testbed import Testbed, missing

    absent = missing()
    if absent:
        pytest.fail(f"the testbed needs: {', '.join(absent)} ({_WITHOUT}=1 skips its tests)", pytrace=False)
    with Testbed() as testbed:
        yield testbed


@pytest.fixture(autouse=True)
def without_slurm_afterwards(request: pytest.FixtureRequest) -> Iterator[None]:
    """Let the next test find clusters without Slurm, unless it asks for one."""
    yield
    if "bed" in request.fixturenames and os.environ.get(_WITHOUT) != "1":
        request.getfixturevalue("bed").hide_slurms()


@pytest.fixture
def count(record_property: Callable[[str, object], None]) -> Callable[[str, int, int], None]:
    """Count so many more of something, and those of them that broke a promise; the sums stand at the end."""

    def add(what: str, number: int, violations: int) -> None:
        record_property("count", (what, number, violations))

    return add


@pytest.fixture
def say(record_property: Callable[[str, object], None]) -> Callable[[str], None]:
    """Say something at the end of the output, even when all tests pass."""
    return lambda line: record_property("said", line)


def pytest_report_header() -> str:
    """Name the sample."""
    return "everything is looked at" if EXHAUSTIVE else f"a sample is looked at: HPC_ONBOARD_SEED={SEED} repeats it"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what this run does not take."""
    left = left_out(items)
    if left:
        config.hook.pytest_deselected(items=list(left))
        items[:] = [item for item in items if item not in left]


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print what was counted and said; a worker's reports bring it to where all is printed."""
    reports = [one for kind in ("passed", "failed") for one in terminalreporter.stats.get(kind, ())]
    told = [pair for report in reports for pair in getattr(report, "user_properties", ())]
    numbers, broken = Counter[str](), Counter[str]()
    for what, number, violations in (value for name, value in told if name == "count"):
        numbers[what] += number
        broken[what] += violations
    lines = [f"{what}: {numbers[what]:,}, violations: {broken[what]}" for what in numbers]
    lines += [str(value) for name, value in told if name == "said"]
    if lines:
        terminalreporter.section("counted")
        for line in lines:
            terminalreporter.line(line)
