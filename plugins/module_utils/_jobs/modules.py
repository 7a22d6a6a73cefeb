# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The command that runs a program with the site's environment modules, and the check that the site has the packages.

The site's /etc/profile provides the command "module". The account's start-up files are not read.
"""

import os
import re
import time
from typing import List, Mapping, Optional, Tuple

from .._core.program import run_program
from .env_spec import EnvSpec

NOT_LOADED = 91  # the exit code of LOAD_MODULES if a module cannot be loaded
# shell commands; their arguments are the number of modules, the modules, and the command to run, which is left as "$@"
LOAD_MODULES = """exec 2>&1
count=$1; shift
[ "$count" -eq 0 ] || command -v module >/dev/null || . /etc/profile >/dev/null 2>&1
while [ "$count" -gt 0 ]; do
    command -v module >/dev/null || { echo "the command 'module' was not found"; exit 91; }
    module load "$1" || exit 91
    shift; count=$((count - 1))
done
"""
SECONDS = 20.0  # the time limit of the check; if it is exceeded, the job itself finds what is missing
END = re.compile(r"^hpc\.onboard exit (\d+)\n?\Z", re.MULTILINE)  # the last line of the output, with pip's exit code
AVAILABLE = re.compile(r"from versions: ([^)]*)\)")  # the versions in pip's error message
SHOWN = 3  # versions in a message, the newest


def wrap_with_modules(modules: List[str], command: List[str], last: str = 'exec "$@"') -> List[str]:
    """Return a shell command that loads the modules in order, then runs a command.

    The exit code is NOT_LOADED if a module cannot be loaded. last: the shell's last line, which runs the command as
    "$@".
    """
    return [
        "/bin/bash",
        "--noprofile",
        "--norc",
        "-c",
        LOAD_MODULES + last,
        "python_envs",  # $0, the name in the shell's error messages
        str(len(modules)),
        *modules,
        *command,
    ]


def explain_missing(spec: EnvSpec, environment: Mapping[str, str]) -> Optional[str]:
    """Return why the site's modules or wheels are not sufficient, and what to change; else None, also if unknown.

    spec: the desired environment. environment: the variables for bash and pip. The check runs pip, because the job also
    installs the packages with pip.
    """
    deadline = time.time() + SECONDS
    checked_packages = spec.packages if spec.options["offline"] else []  # packages from an index are not checked
    code, text = _dry_run_pip(spec, checked_packages, environment, deadline)
    if code == NOT_LOADED:
        problem = "'module load %s' failed: %s. Change the option modules, then run hpc-onboard again"
        return problem % (" ".join(spec.modules), _join_lines(text))
    if not code or "no such option" in text:  # 0: all found; None: timed out; pip before 22.2 has no --dry-run
        return None
    missing = []  # a description of each package that pip does not find
    for package in spec.packages:
        code, output = _dry_run_pip(spec, [package], environment, deadline, "--no-deps")
        if code:
            missing.append(_describe_missing(package, output))
    search = spec.options["search"]
    advice = "Change the option packages, then run hpc-onboard again"
    if search:
        advice = (
            "Run '%s NAME' to list the available versions, change the option packages, then run hpc-onboard again"
            % search
        )
    if not missing:  # a dependency is missing, or two packages exclude each other
        return "the site's wheels are not sufficient: %s. %s" % (_join_lines(text), advice)
    return "the site has no wheel for %s. %s" % (", ".join(missing), advice)


def _dry_run_pip(
    spec: EnvSpec, packages: List[str], environment: Mapping[str, str], deadline: float, *options: str
) -> Tuple[Optional[int], str]:
    """Return the exit code and the output of pip install --dry-run. Without packages, only load the modules.

    The code is NOT_LOADED if a module cannot be loaded, and None if pip exceeds the deadline (in the seconds of
    time.time()). environment: the variables for bash and pip. options: further options of pip.
    """
    pip = [spec.options["python"], "-m", "pip", "install", "--dry-run", "--no-input", "--quiet", "--no-cache-dir"]
    target = os.path.join(spec.versions, "none")  # never created; with a target, pip ignores installed packages
    command = [*pip, "--disable-pip-version-check", "--target", target, *options, *spec.index_options(), *packages]
    if not packages:
        command = ["true"]
    last = '"$@"; echo "hpc.onboard exit $?"'  # tells pip's exit code from that of LOAD_MODULES
    result = run_program(wrap_with_modules(spec.modules, command, last), environment, max(0.1, deadline - time.time()))
    end = END.search(result.text)
    if end:
        return int(end.group(1)), result.text[: end.start()]
    code = None if result.why else NOT_LOADED  # LOAD_MODULES ended the shell before its last line
    return code, result.text


def _describe_missing(package: str, text: str) -> str:
    """Return the name of a missing package, with the newest available versions. text: pip's output."""
    match = AVAILABLE.search(text)
    listed = match.group(1).split(",") if match else []
    versions = [version.strip() for version in listed if version.strip() != "none"]
    if not versions:
        return package
    newest = versions[::-1][:SHOWN]  # pip lists the oldest version first
    return "%s (available: %s)" % (package, ", ".join(newest))


def _join_lines(text: str) -> str:
    """Return the beginning of a program's output in one line."""
    return " ".join(text.replace("ERROR: ", "").split())[:300]
