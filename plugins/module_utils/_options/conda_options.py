# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of a conda installation. The class's docstring is the module's documentation (tools/module_pages.py).

KIND is the resource type, TITLE the name of a resource, and OPTIONS the spec of its options. check() is called for each
resource before its options are sent to an account. self.options: these options, with defaults for missing ones. The
first argument of check_path() and similar functions is the name of the option in the error message.
"""

import re
from typing import Any, Dict

from .._core.errors import AccountError
from .._core.values import STATE, Options, check_path, check_proxies, check_word

MACHINE = "{machine}"  # in a prefix: the architecture of the login node
OWN = "own"  # the distribution of a conda that the user installed
ADDRESS = re.compile(r"^https?://[A-Za-z0-9._~:/?#@%+=,&;-]+\Z")
SUM = re.compile(r"^[0-9a-f]{64}\Z")
CHANNEL = re.compile(r"^[A-Za-z0-9._~:/@%+=-]+\Z")


class CondaInstallOptions(Options):
    """Keep your own conda installation and its environments.

    Installs conda from an installer whose checksum is known, writes conda's settings into the installation, and creates
    environments from files. C(conda init) is never run, and no terms of service are accepted for you.

    The work continues on its own if the connection drops, and is never started twice. An installation that
    hpc-onboard did not finish is created again. A prefix that hpc-onboard did not create is not changed.

    With O(distribution=own), your own conda installation is used. It is never run, updated, moved or removed.

    Options:
        prefix: The folder to install into. It may begin with C(~) or with a variable of the site such as C($SCRATCH);
            C({machine}) in it is the architecture of the login node.
        root: The folder that must exist already. Defaults to the folder above O(prefix).
        distribution: The distribution to install. C(own) is a conda that you installed yourself.
        version: The installer's version. A newer installed version is kept. Not needed for C(own).
        installers: The installers by architecture, each with an address C(url) and a C(sha256). Not needed for C(own).
        glibc: The oldest glibc version that the installed programs support.
        bytes: The size of an installation in bytes. If less space is free, the installation is not started.
        files: The number of files of an installation. If the quota allows fewer files, the installation is not started.
        channels: The channels that packages come from, in order of priority.
        environments: Environments, each with a C(name) and a C(content), the text of an environment.yml or of an
            explicit lock file.
        proxies: Proxies, by C(http), C(https), and C(no) for hosts that need no proxy.
        state: Whether the installation exists. C(absent) removes what hpc-onboard installed, unless the installation
            contains your own environments.

    Example: Keep Miniforge in the data area
        prefix: /data/ada/miniforge3
        distribution: miniforge
        version: 26.1.1-3
        installers:
          x86_64:
            url: https://github.com/conda-forge/miniforge/releases/download/26.1.1-3/Miniforge3-26.1.1-3-Linux-x86_64.sh
            sha256: b25b828b702df4dd2a6d24d4eb56cfa912471dd8e3342cde2c3d86fe3dc2d870
    """

    KIND = "conda_install"
    TITLE = "conda %(prefix)s"
    OPTIONS: Dict[str, Dict[str, Any]] = {
        "prefix": {"type": "path", "required": True},
        "root": {"type": "path"},
        "distribution": {"type": "str", "required": True, "choices": ["miniforge", "miniconda", OWN]},
        "version": {"type": "str", "default": ""},
        "installers": {"type": "dict", "default": {}},
        "glibc": {"type": "str", "default": "2.17"},
        "bytes": {"type": "int", "default": 0},
        "files": {"type": "int", "default": 0},
        "channels": {"type": "list", "elements": "str", "default": ["conda-forge"]},
        "environments": {"type": "list", "elements": "dict", "default": []},
        "proxies": {"type": "dict", "default": {}},
        "state": STATE,
    }

    def check(self) -> None:
        """Raise AccountError for an option that must not reach the account."""
        check_path("prefix", self.options["prefix"].replace(MACHINE, "machine"))
        if " " in self.options["prefix"]:
            raise AccountError(
                "prefix: %r contains a space, which conda's installer does not support" % self.options["prefix"]
            )
        if self.options["distribution"] == OWN and self.options["environments"]:
            raise AccountError("environments: not supported with your own conda; create the environments yourself")
        if self.options["distribution"] != OWN:
            check_word("version", self.options["version"])
            if not self.options["installers"]:
                raise AccountError("installers: missing; set url and sha256 for at least one architecture")
        for name, installer in self.options["installers"].items():
            check_installer(name, installer)
        for channel in self.options["channels"]:
            if not isinstance(channel, str) or not CHANNEL.match(channel):
                raise AccountError("channels: %r is not valid; expected a channel's name or address" % (channel,))
        for environment in self.options["environments"]:
            check_environment(environment)
        check_proxies(self.options["proxies"])


def check_installer(name: Any, installer: Any) -> None:
    """Raise AccountError for an installer without a valid address or SHA-256. name: its architecture."""
    if not isinstance(installer, dict) or not ADDRESS.match(str(installer.get("url"))):
        raise AccountError("installers: %s: url is missing or not valid; expected https://..." % name)
    if not SUM.match(str(installer.get("sha256"))):
        raise AccountError(
            "installers: %s: sha256 is missing or not valid; expected 64 hexadecimal digits in lower case" % name
        )


def check_environment(environment: Any) -> None:
    """Raise AccountError for an environment without a valid name or without content."""
    if not isinstance(environment, dict):
        raise AccountError("environments: an entry is not valid; expected the keys name and content")
    check_word("environments: name", environment.get("name"))
    if not isinstance(environment.get("content"), str) or not environment["content"].strip():
        raise AccountError(
            "environments: %s has no content; expected the text of an environment.yml or of an explicit lock file"
            % environment["name"]
        )
