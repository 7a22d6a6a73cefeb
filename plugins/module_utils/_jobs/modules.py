# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs with the site's modules loaded, and whether the site has the packages that are wanted.

The site's own profile brings the command "module"; start-up files of the account are not read.
"""

import os
import re
import time
from typing import List, Mapping, Optional, Tuple

from .._core.program import run_program
from .env_spec import Wanted

NOT_LOADED = 91
WITHIN = """exec 2>&1
count=$1; shift
[ "$count" -eq 0 ] || command -v module >/dev/null || . /etc/profile >/dev/null 2>&1
while [ "$count" -gt 0 ]; do
    command -v module >/dev/null || { echo "the command module is not there"; exit 91; }
    module load "$1" || exit 91
    shift; count=$((count - 1))
done
"""
SECONDS = 20.0  # for a look; a slow file system is left to the work itself
END = re.compile(r"^hpc\.onboard exit (\d+)\n?\Z", re.MULTILINE)
THERE = re.compile(r"from versions: ([^)]*)\)")
SHOWN = 3  # versions that are named


def within(modules: List[str], line: List[str], last: str = 'exec "$@"') -> List[str]:
    """The line that runs a program with the modules loaded, in their order. It exits with 91 where one cannot be."""
    return [
        "/bin/bash",
        "--noprofile",
        "--norc",
        "-c",
        WITHIN + last,
        "python_envs",
        str(len(modules)),
        *modules,
        *line,
    ]


def missing(wanted: Wanted, environment: Mapping[str, str]) -> Optional[str]:
    """What the site does not have: a module, or packages, and which versions there are instead.

    pip itself says so, which installs them later. None where nothing is missing, or nobody can say by now.
    """
    deadline = time.time() + SECONDS
    code, text = _asked(wanted, wanted.packages if wanted.options["offline"] else [], environment, deadline, [])
    if code == NOT_LOADED:
        return "the modules %s cannot be loaded: %s" % (" ".join(wanted.modules), _line(text))
    if not code or "no such option" in text:  # pip before 22.2 cannot be asked
        return None
    lacking = []
    for package in wanted.packages:
        code, said_of_it = _asked(wanted, [package], environment, deadline, ["--no-deps"])
        if code:
            lacking.append(_instead(package, said_of_it))
    search = wanted.options["search"]
    advice = "change packages" + (" (%s NAME shows what there is)" % search if search else "")
    if not lacking:  # something that they need, or two that do not go together
        return "the site's wheels do not do: %s; %s, then run again" % (_line(text), advice)
    return "the site has no wheel for %s; %s, then run again" % (", ".join(lacking), advice)


def _asked(
    wanted: Wanted, packages: List[str], environment: Mapping[str, str], deadline: float, more: List[str]
) -> Tuple[Optional[int], str]:
    """What pip would do about packages: its exit code (None: it did not end in time), and what it said."""
    pip = [wanted.options["python"], "-m", "pip", "install", "--dry-run", "--no-input", "--quiet", "--no-cache-dir"]
    nowhere = os.path.join(wanted.versions, "none")  # nothing is written to it
    whole = [*pip, "--disable-pip-version-check", "--target", nowhere, *more, *wanted.index_words(), *packages]
    line = whole if packages else ["true"]
    last = '"$@"; echo "hpc.onboard exit $?"'
    answer = run_program(within(wanted.modules, line, last), environment, max(0.1, deadline - time.time()))
    found = END.search(answer.text)
    if found:
        return int(found.group(1)), answer.text[: found.start()]
    return (None if answer.why else NOT_LOADED), answer.text


def _instead(package: str, text: str) -> str:
    """A package that is missing, with the versions that there are."""
    found = THERE.search(text)
    versions = [one.strip() for one in found.group(1).split(",") if one.strip() != "none"] if found else []
    if not versions:
        return package
    return "%s (there is %s)" % (package, ", ".join(versions[: -SHOWN - 1 : -1]))


def _line(text: str) -> str:
    """The words of a program in one line."""
    return " ".join(text.replace("ERROR: ", "").split())[:300]
