"""A container registry of the test's own: Debian's docker-registry behind a front that gives tokens and fails to order.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from tests.testbed.registry.front import Seen, fingerprint
from tests.testbed.registry.registry import PRIVATE, PUBLIC, Registry, new_key, new_legacy_key

__all__ = ["PRIVATE", "PUBLIC", "Registry", "Seen", "fingerprint", "new_key", "new_legacy_key"]
