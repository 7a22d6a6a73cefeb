"""A container registry of the test's own: Debian's docker-registry behind a front that gives tokens and fails to order.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from tests.testbed.registry.certificates import Authority
from tests.testbed.registry.front import Seen, fingerprint
from tests.testbed.registry.keys import EMAIL
from tests.testbed.registry.registry import PRIVATE, PUBLIC, TAG, Registry, new_key, new_legacy_key

__all__ = [
    "EMAIL",
    "PRIVATE",
    "PUBLIC",
    "TAG",
    "Authority",
    "Registry",
    "Seen",
    "fingerprint",
    "new_key",
    "new_legacy_key",
]
