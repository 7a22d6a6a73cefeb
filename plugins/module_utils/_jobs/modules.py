# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs with the site's environment modules loaded, and a check whether the site has the packages.

The site's profile provides the command "module". The account's start-up files are not read.
"""

import os
import re
import time
from typing import List, Mapping, Optional, Tuple

from .._core.program import run_program
from .env_spec import EnvSpec

NOT_LOADED = 91
LOAD_MODULES = """exec 2>&1
count=$1; shift
[ "$count" -eq 0 ] || command -v module >/dev/null || . /etc/profile >/dev/null 2>&1
while [ "$count" -gt 0 ]; do
    command -v module >/dev/null || { echo "the command 'module' was not found"; exit 91; }
    module load "$1" || exit 91
    shift; count=$((count - 1))
done
"""
SECONDS = 20.0  # the time limit of the check; on a slower file system the job itself finds out
END = re.compile(r"^hpc\.onboard exit (\d+)\n?\Z", re.MULTILINE)
THERE = re.compile(r"from versions: ([^)]*)\)")
SHOWN = 3  # versions in a message


def with_modules(modules: List[str], line: List[str], last: str = 'exec "$@"') -> List[str]:
    """Return the command that loads the modules in order and runs a program. It exits with 91 if one is missing."""
    return [
        "/bin/bash",
        "--noprofile",
        "--norc",
        "-c",
        LOAD_MODULES + last,
        "python_envs",
        str(len(modules)),
        *modules,
        *line,
    ]


def find_missing(spec: EnvSpec, environment: Mapping[str, str]) -> Optional[str]:
    """Return which modules or packages the site lacks, and the versions that exist instead; None if none or unknown.

    pip, which installs them later, is asked.
    """
    deadline = time.time() + SECONDS
    code, text = _dry_run_pip(spec, spec.packages if spec.options["offline"] else [], environment, deadline, [])
    if code == NOT_LOADED:
        return "the modules %s cannot be loaded: %s" % (" ".join(spec.modules), _join_lines(text))
    if not code or "no such option" in text:  # pip before 22.2 has no --dry-run
        return None
    lacking = []
    for package in spec.packages:
        code, said_of_it = _dry_run_pip(spec, [package], environment, deadline, ["--no-deps"])
        if code:
            lacking.append(_describe_missing(package, said_of_it))
    search = spec.options["search"]
    advice = "change packages" + (" (%s NAME lists the available versions)" % search if search else "")
    if not lacking:  # something that they need, or two that do not go together
        return "the site's wheels are not sufficient: %s; %s, then run again" % (_join_lines(text), advice)
    return "the site has no wheel for %s; %s, then run again" % (", ".join(lacking), advice)


def _dry_run_pip(
    spec: EnvSpec, packages: List[str], environment: Mapping[str, str], deadline: float, more: List[str]
) -> Tuple[Optional[int], str]:
    """Return the exit code (None: timed out) and output of pip install --dry-run."""
    pip = [spec.options["python"], "-m", "pip", "install", "--dry-run", "--no-input", "--quiet", "--no-cache-dir"]
    target = os.path.join(spec.versions, "none")  # never created
    whole = [*pip, "--disable-pip-version-check", "--target", target, *more, *spec.index_options(), *packages]
    line = whole if packages else ["true"]
    last = '"$@"; echo "hpc.onboard exit $?"'
    answer = run_program(with_modules(spec.modules, line, last), environment, max(0.1, deadline - time.time()))
    found = END.search(answer.text)
    if found:
        return int(found.group(1)), answer.text[: found.start()]
    return (None if answer.why else NOT_LOADED), answer.text


def _describe_missing(package: str, text: str) -> str:
    """Return a missing package, with the versions that exist."""
    found = THERE.search(text)
    versions = [one.strip() for one in found.group(1).split(",") if one.strip() != "none"] if found else []
    if not versions:
        return package
    return "%s (available: %s)" % (package, ", ".join(versions[: -SHOWN - 1 : -1]))


def _join_lines(text: str) -> str:
    """Return the output of a program in one line."""
    return " ".join(text.replace("ERROR: ", "").split())[:300]
