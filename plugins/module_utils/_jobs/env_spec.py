# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The desired Python environment, and the mark of a finished one. Apart from the job, which takes longer to load."""

import json
import os
import re
from typing import Any, Dict, List, Mapping, Optional

from .._formats.hashes import digest

AS_LOCKED = "as locked"
LOCK = "requirements.lock"
OWN_TOOLS = ("pip", "setuptools", "wheel", "distribute")  # of the environment itself, which anybody brings up to date
PACKAGE = re.compile(r"^(?P<name>[A-Za-z0-9_.]+)-(?P<version>[^-]+)\.dist-info\Z")


class EnvSpec:
    """The desired environment, and the paths that follow from its place."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        self.options = options
        self.path = str(options["path"])
        self.modules: List[str] = options["modules"]
        self.packages: List[str] = options["packages"]
        self.versions = versions_folder(self.path)

    def made_from(self) -> Dict[str, str]:
        """Return what it is made from, as it appears in a diff."""
        options = self.options
        return {
            "packages": "\n".join(self.packages) + "\n",
            "modules": " ".join(self.modules) or "none",
            "python": "%s, by %s" % (options["python"], options["maker"]),
            "from": _source(options),
        }

    def index_options(self) -> List[str]:
        """Return the options of pip and uv that say where packages come from."""
        words = ["--no-index"] if self.options["offline"] else []
        for folder in self.options["wheels"]:
            words += ["--find-links", folder]
        index = "" if self.options["offline"] else self.options["index"]
        return words + (["--index-url", index] if index else [])

    def names(self) -> List[str]:
        """Return names for the folder of a new version; the first free one is used."""
        text = "\n".join("%s: %s" % one for one in sorted(self.made_from().items()))
        name = digest(text.encode("utf-8")).hex()[:8]
        return [name] + ["%s-%d" % (name, number) for number in range(2, 100)]

    def about(self) -> str:
        """Return the content of the file that marks the folder of all versions as ours."""
        return "Environments of %s, made by hpc.onboard. The link points to one.\n" % os.path.basename(self.path)

    def mark(self, locked: List[str]) -> str:
        """Return the content of the file that marks a finished environment."""
        return json.dumps({"made_from": self.made_from(), "locked": locked}, sort_keys=True)


def _source(options: Mapping[str, Any]) -> str:
    """Return in words where packages come from, for a diff."""
    named = ["folder %s" % folder for folder in options["wheels"]]
    if options["offline"]:
        return ", ".join(named) or "the site's wheels"
    return ", ".join([*named, options["index"] or "PyPI"])


def versions_folder(path: str) -> str:
    """Return the folder next to an environment's link that has a folder for each version."""
    above, name = os.path.split(path)
    return os.path.join(above, ".%s.versions" % name)


def read_mark(text: Optional[str]) -> Dict[str, Any]:
    """Return what an environment was made from and its locked packages; empty if it is not finished."""
    try:
        found = json.loads(text or "")
        return {
            "made_from": {str(name): str(value) for name, value in found["made_from"].items()},
            "locked": [str(one) for one in found["locked"]],
        }
    except (ValueError, KeyError, TypeError, AttributeError):
        return {}


def installed(names: List[str]) -> List[str]:
    """Return the packages of a site-packages folder as name==version, without pip and the like. names: its entries.

    >>> installed(["numpy-1.26.4+computecanada.dist-info", "numpy", "pip-23.2.1.dist-info"])
    ['numpy==1.26.4+computecanada']
    """
    found = [PACKAGE.match(name) for name in names]
    return sorted(
        "%s==%s" % (one.group("name"), one.group("version")) for one in found if one and _is_user_package(one)
    )


def _is_user_package(found: Any) -> bool:
    return found.group("name").lower() not in OWN_TOOLS


def compared(locked: List[str], there: List[str]) -> str:
    """Return what is installed, by what was locked: as locked, or what came and what went."""
    more, less = sorted(set(there) - set(locked)), sorted(set(locked) - set(there))
    words = ["+" + one for one in more] + ["-" + one for one in less]
    return " ".join(words) or AS_LOCKED
