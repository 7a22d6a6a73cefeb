"""Real OpenSSH servers for the tests, one per cluster, in namespaces of this machine.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from tests.testbed.account import Account
from tests.testbed.bed import Testbed
from tests.testbed.cluster import Cluster
from tests.testbed.needs import missing
from tests.testbed.proxy import Proxy
from tests.testbed.pythons import python, pythons
from tests.testbed.tree import Entry
from tests.testbed.world import WorldError

__all__ = ["Account", "Cluster", "Entry", "Proxy", "Testbed", "WorldError", "missing", "python", "pythons"]
