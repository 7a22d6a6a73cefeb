# SPDX-License-Identifier: GPL-3.0-or-later
"""A container registry for the tests that want one, and the scene of a rotation."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.rotation.rotation_scene import Stage, staged
from tests.testbed.registry import PUBLIC, Authority, Registry


@pytest.fixture
def short_path() -> Iterator[Path]:
    """A folder whose path leaves room for the names of ssh's sockets in a home below it."""
    with tempfile.TemporaryDirectory(prefix="hob-") as folder:
        yield Path(folder)


@pytest.fixture(scope="module")
def authority() -> Authority:
    """Who signs the certificates of all servers here."""
    return Authority("authority of these tests")


@pytest.fixture(scope="module")
def shared(authority: Authority) -> Iterator[Registry]:
    """A registry on one host and its realm on another one, as NVIDIA's can be."""
    if os.environ.get("HPC_ONBOARD_NO_TESTBED") == "1" and not shutil.which("docker-registry"):
        pytest.skip("no docker-registry, as HPC_ONBOARD_NO_TESTBED=1 says")
    with Registry(("localhost", "127.0.0.1"), realm="127.0.0.1", authority=authority) as registry:
        yield registry


@pytest.fixture
def registry(shared: Registry) -> Iterator[Registry]:
    """The registry, well and with nothing asked yet."""
    shared.requests.clear()
    yield shared
    shared.mode = "well"
    shared.fail_next(0)
    shared.doorkeeper.lenient, shared.doorkeeper.refuses, shared.doorkeeper.public = False, True, {PUBLIC}


@pytest.fixture
def stage(bed: Any, tmp_path: Path) -> Iterator[Stage]:
    """Accounts that hold an old key."""
    with staged(bed, tmp_path) as made:
        yield made
