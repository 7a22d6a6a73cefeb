"""Fixtures that all tests share. Old Pythons read this file too: what needs a new one is imported where it is used.

SPDX-License-Identifier: GPL-3.0-or-later
"""

import os

import pytest

_WITHOUT = "HPC_ONBOARD_NO_TESTBED"


@pytest.fixture(scope="session")
def bed():  # type: ignore[no-untyped-def]  # the type needs a new Python
    """Give the testbed, up; a machine that cannot have it fails the test, unless it was told to go without."""
    if os.environ.get(_WITHOUT) == "1":
        pytest.skip(f"no testbed, as {_WITHOUT}=1 says")
    from tests.testbed import Testbed, missing

    absent = missing()
    if absent:
        pytest.fail("the testbed needs: {} ({}=1 skips its tests)".format(", ".join(absent), _WITHOUT), pytrace=False)
    with Testbed() as testbed:
        yield testbed
