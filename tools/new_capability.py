"""The former name of tools/new_role.py, kept while programs outside of this tree still name it.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

from tools.new_role import main

if __name__ == "__main__":
    raise SystemExit(main())
