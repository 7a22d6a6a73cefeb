# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lines and words as shells and enroot split them, in texts decoded as latin-1.

str.splitlines and str.split also split at bytes such as 0x85 and 0xa0. No reader of these files does, so do not use
them here.
"""

import re
from typing import List


def split_lines(text: str) -> List[str]:
    """Return the lines with their ends; joined, they are the text."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def split_words(line: str) -> List[str]:
    """Return the words between white space as C's isspace defines it."""
    return re.findall(r"[^ \t\r\n\v\f]+", line)
