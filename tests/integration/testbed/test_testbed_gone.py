"""The testbed leaves nothing behind: not after tests, not after a fault, not when the tests are killed.

SPDX-License-Identifier: GPL-3.0-or-later
"""

import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.effort import exhaustive
from tests.testbed import Testbed

pytestmark = pytest.mark.testbed


def test_two_testbeds_live_side_by_side_and_leave_nothing(bed: Testbed) -> None:
    with Testbed() as other:
        marks = _marks(other)
        account = other.new_account("wilson", user="twin")
        account.hang(account.folders[0])
        account.small_home()
        account.ssh("nohup sleep 1000 >/dev/null 2>&1 &")
        assert _left(marks)
    assert _left(marks) == []
    assert bed.new_account("wilson").ssh("true").returncode == 0


@exhaustive
@pytest.mark.parametrize("blow", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_of_killed_tests(bed: Testbed, blow: signal.Signals) -> None:
    lines = (
        "import time\nfrom tests.testbed import Testbed\n"
        "from tests.integration.testbed.test_testbed_gone import _marks\n"
        "bed = Testbed(); bed.up(); print(bed.folder, *_marks(bed), flush=True); time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", lines], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True, cwd=Path(__file__).parents[3]) as tests:  # fmt: skip
        assert tests.stdout is not None
        folder, *marks = tests.stdout.readline().split()
        assert _left(marks)
        tests.send_signal(blow)
    deadline = time.monotonic() + 5
    while _left(marks) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert _left(marks) == []
    assert Path(folder).exists() == (blow != signal.SIGINT)
    shutil.rmtree(folder, ignore_errors=True)


def _marks(bed: Testbed) -> list[str]:
    """What would be left of a testbed: its namespaces, its folder in a list of mounts, its interfaces."""
    interface = subprocess.run(["ip", "-o", "route", "get", bed.cluster("lrz").host], capture_output=True, text=True,
                               check=True).stdout.split()[2]  # fmt: skip
    namespaces = [name for each in bed.clusters for name in bed.cluster(each).world.namespaces().values()]
    return [str(bed.folder), interface, *namespaces]


def _left(marks: list[str]) -> list[str]:
    folder, interface, *namespaces = marks
    alive = set()
    for process in Path("/proc").glob("[0-9]*/ns/*"):
        try:
            alive.add(str(process.readlink()))
        except OSError:
            continue
    links = subprocess.run(["ip", "link"], capture_output=True, text=True, check=True).stdout
    found = [name for name in namespaces if name in alive]
    found += [interface] if f" {interface}@" in links else []
    return found + ([folder] if folder in Path("/proc/mounts").read_text(encoding="utf-8") else [])
