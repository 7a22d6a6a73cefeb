# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Split lines and words as shells and enroot do, in texts decoded as latin-1.

Do not use str.splitlines and str.split for such texts: they also split at bytes such as 0x85 and 0xa0.
"""

import re
from typing import List

# of the user's text files, in messages
NUL_PROBLEM = "the file contains a NUL byte, so it is not a text file: inspect the file, then rename it"


def split_lines(text: str) -> List[str]:
    """Return the lines with their line ends: joined, they are the text again."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def split_words(line: str) -> List[str]:
    """Return the words that are separated by white space as C's isspace defines it."""
    return re.findall(r"[^ \t\r\n\v\f]+", line)
