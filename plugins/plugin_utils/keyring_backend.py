# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The encrypted file under the one name that people write into keyringrc: it stays, wherever the code goes.

[backend]
default-keyring=ansible_collections.hpc.onboard.plugins.plugin_utils.keyring_backend.Keyring
"""

from __future__ import annotations

from ._secrets.keyring_backend import Keyring

__all__ = ["Keyring"]
