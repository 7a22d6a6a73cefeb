# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The measures of the house, taken of a small one that is known to the last line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.effort import turns
from tools import measures, rooms
from tools.calls import Calls

pytestmark = turns(3)

IMPORT = "from ansible_collections.hpc.onboard.plugins."
FILES = {
    "action/door.py": f"{IMPORT}plugin_utils._upper.above import start\n\n\ndef run():\n    return start(1)\n",
    "plugin_utils/_upper/above.py": f"""
from typing import TYPE_CHECKING
{IMPORT}plugin_utils._upper import words
if TYPE_CHECKING:
    {IMPORT}action.door import run


def start(number: int) -> str:
    \"\"\"Two statements, and a comment.\"\"\"
    {IMPORT}module_utils._lower.below import Thing  # here, for no reason

    return words.say(Thing(number).doubled())
""",
    "plugin_utils/_upper/words.py": "def say(number: int) -> str:\n    return str(number)\n",
    "module_utils/_lower/below.py": """
class Thing:
    def __init__(self, number: int) -> None:
        self.number = number

    def doubled(self) -> int:
        return self._twice()

    def _twice(self) -> int:
        return 2 * self.number
""",
}


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """A checkout with three rooms."""
    for name, text in FILES.items():
        file = tmp_path / "plugins" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return tmp_path


def test_the_rooms_and_their_arrows_are_found(house: Path) -> None:
    """Imports within functions are arrows, those for type checkers are none."""
    found = rooms.room_graph(rooms.read_sources(house))
    assert found == {"action": {"_upper": 1}, "_upper": {"_lower": 1}, "_lower": {}}


def test_the_graph_is_drawn_from_the_top(house: Path) -> None:
    lines = [line.split() for line in measures.drawn(rooms.read_sources(house)) if "─" not in line]
    assert lines == [["action", "→", "_upper"], ["_upper", "→", "_lower"], ["_lower"]]


def test_what_is_reached_by_another_room_is_not_drawn_twice_and_a_circle_hides_nothing() -> None:
    graph = {"top": {"left", "right", "ground"}, "left": {"right", "ground"}, "right": {"left"}, "ground": set()}
    together = {"left": ["left", "right"], "right": ["left", "right"]}
    assert measures.direct(graph, "top", together) == {"left", "right"}
    assert measures.direct(graph, "left", together) == {"right", "ground"}
    assert measures.heights(graph, together) == {"top": 2, "left": 1, "right": 1, "ground": 0}


def test_a_circle_is_said(house: Path) -> None:
    below = house / "plugins/module_utils/_lower/below.py"
    below.write_text(f"def late():\n    {IMPORT}plugin_utils._upper import words\n", encoding="utf-8")
    sources = rooms.read_sources(house)
    assert dict(measures.measures(sources))["circular imports between packages"] == "1 (_lower, _upper)"
    assert dict(measures.measures(sources))["circular imports between files"] == "none"


def test_calls_are_followed_through_imports_classes_and_self(house: Path) -> None:
    calls = Calls(rooms.read_sources(house))
    assert calls.depths["action.door.run"] == 4  # run, start, doubled, _twice
    assert calls.callers["module_utils._lower.below.Thing.__init__"] == 1


def test_what_is_measured(house: Path) -> None:
    found = dict(measures.measures(rooms.read_sources(house)))
    assert found["functions"] == "6"
    assert found["functions of one statement"] == "5 (83.3%)"
    assert found["functions with all type hints"] == "5 (83.3%)"
    assert found["private names"] == "1 (14.3%)"
    assert found["lines with a comment"].startswith("1 ")


def test_a_flat_house_is_measured_too(tmp_path: Path) -> None:
    file = tmp_path / "plugins" / "plugin_utils" / "_one.py"
    file.parent.mkdir(parents=True)
    file.write_text("ONE = 1\n", encoding="utf-8")
    assert dict(measures.measures(rooms.read_sources(tmp_path)))["most files in one package"] == "1 (plugin_utils)"


@pytest.mark.parametrize("option", [[], ["--graph"]])
def test_it_needs_python_alone(option: list[str]) -> None:
    run = subprocess.run(
        [sys.executable, "-I", "-S", str(rooms.ROOT / "tools/measures.py"), *option],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "_formats" in run.stdout
