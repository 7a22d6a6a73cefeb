# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of images and their caches. Their docstrings are the modules' documentation (tools/module_pages.py)."""

import re
from typing import Any, Dict

from .._core.errors import AccountError
from .._core.values import STATE, WORD, Options, check_path, check_word
from . import image_name

OPTION = re.compile(r"^--[a-z][a-z-]*(?:=[A-Za-z0-9_.:,@%+-]+)?\Z")


class ContainerImageOptions(Options):
    """Keep a container image in a folder of the account.

    Imports an image from a registry with enroot or Apptainer, into a file that is named for its digest, and keeps a
    link to it under a name without the digest.

    The work continues on its own, on the login node or as a Slurm job, which is submitted once. If the tag now has
    another digest, the new image is imported next to the old one and the link is changed.

    The container tool reads the key from its own file. The key is in no argument and in no variable.

    Options:
        image: The image, such as C(nvcr.io/nvidia/pytorch:24.03-py3). C(@sha256:...) pins its digest.
        folder: The folder for the image. It may begin with C(~) or with a variable of the site such as C($SCRATCH).
        root: The folder that must exist already. Defaults to the one above O(folder).
        runtime: The program that imports it.
        module: The environment module that provides this program.
        credentials: The file with its keys, for queries to the registry.
        by: Whether it is imported on the login node, or on a compute node by a job.
        job_options: Options of sbatch for the job. C(@slurm_cpu_account@) becomes the Slurm account that
            M(hpc.onboard.scheduler) finds on the account.
        minutes: The time limit of the job.
        temporary: The folder for temporary files. Defaults to one next to the image.
        site_images: A folder with images of the site. If it has one of the same name, nothing is imported.
        packages: Packages that the list next to such an image must name.
        old: Whether older images of the tag are kept or removed.
        state: Whether the image exists. C(absent) cancels the job and removes what was imported, unless it was changed.

    Example: Keep PyTorch where jobs can read it
        image: nvcr.io/nvidia/pytorch:24.03-py3
        folder: /data/ada/images
        runtime: enroot
        credentials: ~/enroot/.credentials
        by: job
        job_options: [--partition=cpu]
    """

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
        """Raise AccountError for an option that must not reach a shell command or a job."""
        if image_name.read(self.options["image"]) is None:
            raise AccountError(
                "image: %r is not valid; expected the name of an image, such as nvcr.io/nvidia/pytorch:24.03-py3"
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
                raise AccountError(
                    "job_options: %r is not valid; expected one option of sbatch, such as --qos=cpu" % option
                )
        for package in self.options["packages"]:
            if not WORD.match(package):
                raise AccountError("packages: %r is not a valid name of a package" % package)
        if not 1 <= self.options["minutes"] <= 2880:
            raise AccountError("minutes: %d is out of range; expected 1 to 2880" % self.options["minutes"])


class EmptiedCacheOptions(Options):
    """Empty the cache of a container tool.

    Removes from a cache of enroot or Apptainer what these can fetch again, which are the layers of images that enroot
    keeps under their digests, and the folders that C(apptainer cache clean) empties. All else in the folder stays.

    The size is reported, in check mode too. A pull that is running has to be repeated.

    Options:
        path: The cache, which is what E(ENROOT_CACHE_PATH) names, or C(cache) in what E(APPTAINER_CACHEDIR) names.
        runtime: The program whose cache it is.
        state: With C(absent) the cache is not examined and not changed.

    Example: Empty the cache of Apptainer
        path: $SCRATCH/apptainer/cache
        runtime: apptainer
    """

    KIND = "emptied_cache"
    TITLE = "cache %(path)s"
    OPTIONS = {
        "path": {"type": "path", "required": True},
        "runtime": {"type": "str", "required": True, "choices": ["enroot", "apptainer"]},
        "state": STATE,
    }

    def check(self) -> None:
        check_path("path", self.options["path"])
