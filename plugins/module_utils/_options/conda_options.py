# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is asked of a conda, and what must not reach an account; apart from the others, since few plans hold one."""

import re
from typing import Any, Dict

from .._core.errors import AccountError
from .._core.values import STATE, Options, check_path, check_word

MACHINE = "{machine}"
ADDRESS = re.compile(r"^https?://[A-Za-z0-9._~:/?#@%+=,&;-]+\Z")
SUM = re.compile(r"^[0-9a-f]{64}\Z")
CHANNEL = re.compile(r"^[A-Za-z0-9._~:/@%+=-]+\Z")


class CondaInstallOptions(Options):
    """What is asked of a conda and its environments."""

    KIND = "conda_install"
    TITLE = "conda %(prefix)s"
    OPTIONS: Dict[str, Dict[str, Any]] = {
        "prefix": {"type": "path", "required": True},
        "root": {"type": "path"},
        "distribution": {"type": "str", "required": True, "choices": ["miniforge", "miniconda"]},
        "version": {"type": "str", "required": True},
        "installers": {"type": "dict", "required": True},
        "glibc": {"type": "str", "default": "2.17"},
        "bytes": {"type": "int", "default": 0},
        "files": {"type": "int", "default": 0},
        "channels": {"type": "list", "elements": "str", "default": ["conda-forge"]},
        "environments": {"type": "list", "elements": "dict", "default": []},
        "proxies": {"type": "dict", "default": {}},
        "state": STATE,
    }

    def check(self) -> None:
        check_path("prefix", self.options["prefix"].replace(MACHINE, "machine"))
        if " " in self.options["prefix"]:
            raise AccountError("prefix: %r holds a blank, which conda's installer refuses" % self.options["prefix"])
        check_word("version", self.options["version"])
        for name, installer in self.options["installers"].items():
            check_installer(name, installer)
        for channel in self.options["channels"]:
            if not isinstance(channel, str) or not CHANNEL.match(channel):
                raise AccountError("channels: %r is neither the name nor the address of a channel" % (channel,))
        for environment in self.options["environments"]:
            check_environment(environment)
        for name, proxy in self.options["proxies"].items():
            if name not in ("http", "https", "no") or not isinstance(proxy, str) or re.search(r"[\s'\"]", proxy):
                raise AccountError(
                    "proxies: %s: %r is no proxy (http, https, or no for what needs none)" % (name, proxy)
                )


def check_installer(name: Any, installer: Any) -> None:
    """Refuse an installer that is not an address and a sum."""
    if not isinstance(installer, dict) or not ADDRESS.match(str(installer.get("url"))):
        raise AccountError("installers: the one for %s has no url that can be used (https://...)" % name)
    if not SUM.match(str(installer.get("sha256"))):
        raise AccountError("installers: the one for %s has no sha256 (64 hexadecimal digits)" % name)


def check_environment(environment: Any) -> None:
    """Refuse an environment without a plain name or without content."""
    if not isinstance(environment, dict):
        raise AccountError("environments: each is a name and a content")
    check_word("the name of an environment", environment.get("name"))
    if not isinstance(environment.get("content"), str) or not environment["content"].strip():
        raise AccountError("environments: %s has no content" % environment["name"])
