# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The srun options in the text of a launcher script, and the folders of a PATH setting. Nothing is run."""

import re
import shlex
from typing import List, Mapping

VALUED = "pnNcJAGtqwxCoeD"  # short options of srun that take a value
MOST = 40  # options
LONGEST = 200  # characters of one option


def srun_options(text: str) -> List[str]:
    """Return the options of the first srun in a script, each with its value; empty if a quote is not closed."""
    for line in text.replace("\\\n", " ").splitlines():
        found = re.match(r"^\s*(?:exec\s+)?srun\s(.*)$", line)
        if found:
            return _options(found.group(1))
    return []


def _options(text: str) -> List[str]:
    """Return the leading options of srun's arguments, up to its program; each as one string with its value."""
    try:
        words = shlex.split(text, comments=True)
    except ValueError:
        return []  # a quote is not closed
    found: List[str] = []
    while words and words[0].startswith("-") and words[0] != "--" and len(found) < MOST:
        word = words.pop(0)
        if len(word) == 2 and word[1] in VALUED and words:
            word += " " + words.pop(0)
        found.append(word[:LONGEST])
    return found


def expand(part: str, variables: Mapping[str, str]) -> str:
    """Return a folder of PATH with a leading ~ or variable replaced; empty if it contains any other variable."""
    for name in variables:
        for word in ("${%s}" % name, "$" + name) + (("~",) if name == "HOME" else ()):
            if part.startswith(word + "/"):
                part = variables[name] + part[len(word) :]
    return part if part.startswith("/") and "$" not in part else ""
