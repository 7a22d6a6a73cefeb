# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the collection lies that this is a part of: a checkout, a wheel or what Galaxy installed."""

from __future__ import annotations

from pathlib import Path

COLLECTION = Path(__file__).resolve().parents[3]
ROLES = Path(__file__).parents[3] / "roles"  # by the way that Ansible came, links and all: it names them so
