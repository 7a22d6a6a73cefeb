# SPDX-License-Identifier: GPL-3.0-or-later
"""How much of ours a run loads, and that it is kept compiled, though Ansible's own loader keeps nothing so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.integration.runs import REPOSITORY, keyring_environment

pytestmark = pytest.mark.testbed

LOADING = Path(__file__).parent / "loading"
MOST = 76  # a new one costs about 0.5 ms of a run's second: the number shall not grow unseen


def test_a_run_with_nothing_to_do_loads_few_modules(bed: Any, tmp_path: Path) -> None:
    account = bed.new_account("lrz")
    order = ("onboard.yml", "-i", str(bed.accounts_file([account])))
    environment = keyring_environment(Path(bed.folder))
    environment |= {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(tmp_path / "kept")}
    first = bed.ansible(*order, cwd=REPOSITORY, env=environment)
    assert first.returncode == 0, first.stdout + first.stderr
    file = tmp_path / "loaded"
    watched = {**environment, "PYTHONPATH": str(LOADING), "LOADED": str(file)}
    second = bed.ansible(*order, cwd=REPOSITORY, env=watched)
    assert "1 account: 1 unchanged" in second.stdout, second.stdout + second.stderr
    lines = [line.partition(" ") for line in file.read_text().splitlines()]
    loaded = {module for event, _blank, module in lines if event == "exec"}
    assert {"action/converge.py", "callback/console.py", "inventory/accounts.py"} < loaded
    assert "plugin_utils/_delivery/packing.py" not in loaded  # the engine is kept, packed
    assert len(loaded) <= MOST, "\n".join(sorted(loaded))
    compiled = {module for event, _blank, module in lines if event == "compile"}
    assert compiled <= {"plugin_utils/__init__.py"}, "\n".join(sorted(compiled))
