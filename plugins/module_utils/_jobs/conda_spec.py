# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The desired conda, and the mark of a finished installation. Not in conda.py, which takes longer to import."""

import os
from typing import Any, List, Mapping

from .._formats import condarc


class CondaSpec:
    """The desired conda: the installer for this machine, the prefix, and its content.

    mark: the content of the file that marks the prefix as finished.
    """

    def __init__(self, prefix: str, options: Mapping[str, Any], installer: Mapping[str, str]) -> None:
        """prefix: the folder of the conda. options: see CondaInstallOptions in conda_options.py.

        installer: its address "url" and its checksum "sha256".
        """
        self.prefix = prefix
        self.title = "%s %s" % (options["distribution"].capitalize(), options["version"])
        self.mark = "%s %s for %s" % (options["distribution"], options["version"], read_architecture())
        self.url = installer["url"]
        self.sha256 = installer["sha256"]
        self.settings = condarc.render(prefix, options["channels"], options["version"])
        self.environments: List[Mapping[str, str]] = options["environments"]
        self.proxies: Mapping[str, str] = options["proxies"]


def read_architecture() -> str:
    """Return the architecture as in the names of installers: x86_64, aarch64, ppc64le."""
    return os.uname().machine
