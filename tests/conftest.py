"""Fixtures that all tests share. Old Pythons read this file too: what needs a new one is imported where it is used.

SPDX-License-Identifier: GPL-3.0-or-later
"""

import os

import pytest

_WITHOUT = "HPC_ONBOARD_NO_TESTBED"


@pytest.fixture(scope="session")
def bed():
    """Give the testbed, up; a machine that cannot have it fails the test, unless it was told to go without."""
    if os.environ.get(_WITHOUT) == "1":
        pytest.skip("no testbed, as {}=1 says".format(_WITHOUT))
    from tests.testbed import Testbed, missing

    absent = missing()
    if absent:
        pytest.fail("the testbed needs: {} ({}=1 skips its tests)".format(", ".join(absent), _WITHOUT), pytrace=False)
    with Testbed() as testbed:
        yield testbed
