# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The desired Python environment, and the mark of a finished one. Not in python_env.py, which is slower to import."""

import json
import os
import re
from typing import Any, Dict, List, Mapping, Optional

from .._formats.hashes import digest

AS_LOCKED = "as locked"  # in a state: the installed packages are those of the lock
LOCK = "requirements.lock"  # the file with the exact versions of the packages
OWN_TOOLS = ("pip", "setuptools", "wheel", "distribute")  # part of each environment; users update them at will
PACKAGE = re.compile(r"^(?P<name>[A-Za-z0-9_.]+)-(?P<version>[^-]+)\.dist-info\Z")  # an installed package's folder


class EnvSpec:
    """The desired environment. path: of the link to its current version. versions: the folder of all versions."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        """options: see PythonEnvOptions in env_options.py."""
        self.options = options
        self.path = str(options["path"])
        self.modules: List[str] = options["modules"]
        self.packages: List[str] = options["packages"]
        self.versions = versions_folder(self.path)

    def describe_inputs(self) -> Dict[str, str]:
        """Return the packages, modules, Python and package sources of the environment, as they appear in a diff."""
        options = self.options
        return {
            "packages": "\n".join(self.packages) + "\n",
            "modules": " ".join(self.modules) or "none",
            "python": "%s, by %s" % (options["python"], options["maker"]),  # maker: venv, virtualenv, uv or any
            "from": _describe_source(options),
        }

    def index_options(self) -> List[str]:
        """Return the options of pip and uv that set the index or the folders from which packages come."""
        options = ["--no-index"] if self.options["offline"] else []
        for folder in self.options["wheels"]:
            options += ["--find-links", folder]
        index = "" if self.options["offline"] else self.options["index"]
        return options + (["--index-url", index] if index else [])

    def version_names(self) -> List[str]:
        """Return possible names for the folder of a new version; the job uses the first name that is free."""
        text = "\n".join("%s: %s" % pair for pair in sorted(self.describe_inputs().items()))
        name = digest(text.encode("utf-8")).hex()[:8]  # the hash of the inputs
        return [name] + ["%s-%d" % (name, number) for number in range(2, 100)]

    def render_folder_mark(self) -> str:
        """Return the content of the file that marks the folder of all versions as created by hpc-onboard."""
        name = os.path.basename(self.path)
        return "Versions of %s, created by hpc.onboard. The link %s points to the current version.\n" % (name, name)

    def render_mark(self, locked: List[str]) -> str:
        """Return the content of the file that marks a finished version. locked: its packages as name==version."""
        return json.dumps({"made_from": self.describe_inputs(), "locked": locked}, sort_keys=True)


def _describe_source(options: Mapping[str, Any]) -> str:
    """Return where packages come from, as it appears in a diff."""
    folders = ["folder %s" % folder for folder in options["wheels"]]
    if options["offline"]:
        return ", ".join(folders) or "the site's wheels"  # the site configures pip with a folder of its own
    return ", ".join([*folders, options["index"] or "PyPI"])


def versions_folder(path: str) -> str:
    """Return the folder, next to the link of an environment, that contains a folder for each version."""
    parent, name = os.path.split(path)
    return os.path.join(parent, ".%s.versions" % name)


def read_mark(text: Optional[str]) -> Dict[str, Any]:
    """Return the mark of a version, as render_mark() writes it; empty if the version is not finished.

    text: the content of the mark's file, or None if the file does not exist.
    """
    try:
        mark = json.loads(text or "")
        return {
            "made_from": {str(name): str(value) for name, value in mark["made_from"].items()},
            "locked": [str(package) for package in mark["locked"]],
        }
    except (ValueError, KeyError, TypeError, AttributeError):
        return {}


def read_packages(names: List[str]) -> List[str]:
    """Return the packages of a site-packages folder as name==version, without OWN_TOOLS.

    names: the names of the folder's entries.

    >>> read_packages(["numpy-1.26.4+computecanada.dist-info", "numpy", "pip-23.2.1.dist-info"])
    ['numpy==1.26.4+computecanada']
    """
    matches = [match for match in map(PACKAGE.match, names) if match]
    return sorted("%s==%s" % match.groups() for match in matches if match.group("name").lower() not in OWN_TOOLS)


def describe_difference(locked: List[str], installed: List[str]) -> str:
    """Return AS_LOCKED, or the packages that were added (+) and removed (-) since the lock was written."""
    added, removed = sorted(set(installed) - set(locked)), sorted(set(locked) - set(installed))
    return " ".join(["+" + package for package in added] + ["-" + package for package in removed]) or AS_LOCKED
