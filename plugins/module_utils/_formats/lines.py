# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lines and words as shells and enroot see them, in texts read as latin-1.

str.splitlines and str.split take bytes such as 0x85 and 0xa0 for ends and blanks; no reader of these
files does, so they must not be used on them.
"""

import re
from typing import List


def split_lines(text: str) -> List[str]:
    """The lines, each with its end; together they are the text."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def split_words(line: str) -> List[str]:
    """The words between white space, as C's isspace sees it."""
    return re.findall(r"[^ \t\r\n\v\f]+", line)
