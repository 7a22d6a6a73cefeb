"""Let the tests import the checkout as the collection it is.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import sys
from pathlib import Path

COLLECTIONS = str(Path(__file__).resolve().parents[3] / "collections")

if COLLECTIONS not in sys.path:
    sys.path.insert(0, COLLECTIONS)
