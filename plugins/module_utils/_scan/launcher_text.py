# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read a launcher script without running it: the options of srun, and the folders of a PATH setting."""

import re
import shlex
from typing import List, Mapping

VALUED = "pnNcJAGtqwxCoeD"  # short options of srun that are followed by a value
MOST = 40  # options
LONGEST = 200  # characters of one option


def srun_options(text: str) -> List[str]:
    """Return the options of the first srun in a script, each as one string with its value.

    Return [] if the script has no srun, or its line has a quote that is not closed.
    """
    for line in text.replace("\\\n", " ").splitlines():
        match = re.match(r"^\s*(?:exec\s+)?srun\s(.*)$", line)
        if match:
            return _leading_options(match.group(1))
    return []


def _leading_options(arguments: str) -> List[str]:
    """Return the options of srun up to the program that srun starts, each as one string with its value."""
    try:
        words = shlex.split(arguments, comments=True)
    except ValueError:
        return []  # a quote is not closed
    options: List[str] = []
    while words and words[0].startswith("-") and words[0] != "--" and len(options) < MOST:
        option = words.pop(0)
        if len(option) == 2 and option[1] in VALUED and words:  # the value is the next word
            option += " " + words.pop(0)
        options.append(option[:LONGEST])
    return options


def expand(folder: str, variables: Mapping[str, str]) -> str:
    """Return the absolute path of a folder in PATH, with a leading ~ or variable replaced; empty if that is impossible.

    variables: the values to use, including HOME for ~.
    """
    for name, value in variables.items():
        references = ["${%s}" % name, "$" + name] + (["~"] if name == "HOME" else [])
        for reference in references:
            if folder.startswith(reference + "/"):
                folder = value + folder[len(reference) :]
    return folder if folder.startswith("/") and "$" not in folder else ""
