# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The keyring that is an encrypted file, under the name that users write into keyringrc.cfg.

This name must not change, even if the code moves to another module.

[backend]
default-keyring=ansible_collections.hpc.onboard.plugins.plugin_utils.keyring_backend.Keyring
"""

from __future__ import annotations

from ._secrets.keyring_backend import Keyring

__all__ = ["Keyring"]
