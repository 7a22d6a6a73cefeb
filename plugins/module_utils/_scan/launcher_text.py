# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read a launcher script without running it: the options of srun, and the folders of a PATH setting."""

import re
import shlex
from typing import List, Mapping

SHORT_VALUED = "ABbCcDdeFGiJLMmNnopqrSTtWwx"  # short options of srun that are followed by a value
LONG_VALUED = (  # long options whose value may be the next word
    *("partition", "account", "qos", "time", "nodes", "ntasks", "ntasks-per-node", "cpus-per-task", "clusters"),
    *("gres", "gpus", "gpus-per-node", "gpus-per-task", "mem", "mem-per-cpu", "mem-per-gpu", "constraint", "mpi"),
    *("job-name", "output", "error", "chdir", "export", "reservation", "nodelist", "exclude", "cpu-bind", "gpu-bind"),
    *("container-image", "container-mounts", "container-workdir", "container-name"),
)
MOST = 40  # options
LONGEST = 200  # characters of one option


def find_srun_options(text: str) -> List[str]:
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
        if words and len(option) == 2 and option[1] in SHORT_VALUED:  # the value is the next word
            option += " " + words.pop(0)
        elif words and option.startswith("--") and option[2:] in LONG_VALUED:
            option += "=" + words.pop(0)
        options.append(option[:LONGEST])
    return options


def expand_folder(folder: str, variables: Mapping[str, str]) -> str:
    """Return the absolute path of a folder in PATH, without a leading ~ or variable; empty if its value is unknown.

    variables: the values to use, including HOME for ~.
    """
    for name, value in variables.items():
        references = ["${%s}" % name, "$" + name] + (["~"] if name == "HOME" else [])
        for reference in references:
            if folder.startswith(reference + "/"):
                folder = value + folder[len(reference) :]
    return folder if folder.startswith("/") and "$" not in folder else ""
