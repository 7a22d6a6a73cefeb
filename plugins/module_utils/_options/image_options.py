# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is asked of images and their caches, and what must not reach an account; apart, since few ask for them."""

import re
from typing import Any, Dict

from .._core.errors import AccountError
from .._core.values import STATE, WORD, Options, check_path, check_word
from . import image_name

OPTION = re.compile(r"^--[a-z][a-z-]*(?:=[A-Za-z0-9_.:,@%+-]+)?\Z")


class ContainerImageOptions(Options):
    """What is asked of an image in a folder of the account's."""

    KIND = "container_image"
    TITLE = "image %(image)s"
    OPTIONS: Dict[str, Dict[str, Any]] = {
        "image": {"type": "str", "required": True},
        "folder": {"type": "path", "required": True},
        "root": {"type": "path"},
        "runtime": {"type": "str", "required": True, "choices": ["enroot", "apptainer"]},
        "module": {"type": "str", "default": ""},
        "credentials": {"type": "path"},
        "by": {"type": "str", "default": "login", "choices": ["login", "job"]},
        "job_options": {"type": "list", "elements": "str", "default": []},
        "minutes": {"type": "int", "default": 120},
        "temporary": {"type": "path"},
        "site_images": {"type": "path"},
        "packages": {"type": "list", "elements": "str", "default": []},
        "old": {"type": "str", "default": "keep", "choices": ["keep", "remove"]},
        "state": STATE,
    }

    def check(self) -> None:
        if image_name.read(self.options["image"]) is None:
            raise AccountError(
                "image: %r is not the name of an image, such as nvcr.io/nvidia/pytorch:24.03-py3"
                % self.options["image"]
            )
        for name in ("folder", "root", "credentials", "temporary", "site_images"):
            if self.options.get(name):
                check_path(name, self.options[name])
        if self.options["module"]:
            for part in self.options["module"].split("/"):
                check_word("module", part)
        for option in self.options["job_options"]:
            if not OPTION.match(option):
                raise AccountError("job_options: %r is not one option of sbatch, such as --qos=cpu" % option)
        for package in self.options["packages"]:
            if not WORD.match(package):
                raise AccountError("packages: %r is not the name of a package" % package)
        if not 1 <= self.options["minutes"] <= 2880:
            raise AccountError("minutes: %d is no time limit for an import" % self.options["minutes"])


class EmptiedCacheOptions(Options):
    """What is asked of a container tool's cache that is to be emptied."""

    KIND = "emptied_cache"
    TITLE = "cache %(path)s"
    OPTIONS = {
        "path": {"type": "path", "required": True},
        "runtime": {"type": "str", "required": True, "choices": ["enroot", "apptainer"]},
        "state": STATE,
    }

    def check(self) -> None:
        check_path("path", self.options["path"])
