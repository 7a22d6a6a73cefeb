# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The conda that is wanted, and the marks by which what is there is known; apart from the work, which loads longer."""

import os
from typing import Any, List, Mapping

from .._formats import condarc


class Wanted:
    """What is wanted: the installer for this machine, where conda goes, and what goes into it."""

    def __init__(self, prefix: str, options: Mapping[str, Any], installer: Mapping[str, str]) -> None:
        self.prefix = prefix
        self.title = "%s %s" % (options["distribution"].capitalize(), options["version"])
        self.made = "%s %s for %s" % (options["distribution"], options["version"], machine())
        self.url = installer["url"]
        self.sha256 = installer["sha256"]
        self.settings = condarc.render(prefix, options["channels"], options["version"])
        self.environments: List[Mapping[str, str]] = options["environments"]
        self.proxies: Mapping[str, str] = options["proxies"]


def machine() -> str:
    """The architecture, as the names of installers have it: x86_64, aarch64, ppc64le."""
    return os.uname().machine
