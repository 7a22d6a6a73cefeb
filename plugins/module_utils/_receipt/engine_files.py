# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The engine files that an account keeps (_engine/kept_engine.py), so that later sessions need not send the engine.

The files are next to the receipt, the account's record of what hpc-onboard created, and are removed with the receipt.
A draft is a file under a temporary name. A Host reads and changes the files of the account.
"""

import os
import re
from typing import List

from .._core.host import Host
from .._core.values import KEPT_ENGINE

FOLDER, PREFIX = os.path.split(KEPT_ENGINE)
# an engine's file, or its draft with a dot in front and the suffix of drafts
NAME = re.compile(r"\.?%s[0-9a-f]{16}(\.hpc\.onboard-draft)?\Z" % PREFIX)


def find_engines(host: Host) -> List[str]:
    """Return the paths of the kept engines of all versions, and of their drafts, sorted by name."""
    folder = os.path.join(host.home, FOLDER)
    return [os.path.join(folder, name) for name in host.names(folder) if NAME.match(name)]
