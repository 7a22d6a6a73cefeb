# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of images and their caches. The docstrings are the modules' documentation (tools/module_pages.py).

KIND is the resource type, TITLE the name of a resource, and OPTIONS the spec of its options. check() is called for each
resource before its options are sent to an account. self.options: these options, with defaults for missing ones. The
first argument of check_path() and similar functions is the name of the option in the error message.
"""

import re
from typing import Any, Dict

from .._core.errors import AccountError
from .._core.values import STATE, WORD, Options, check_path, check_word
from . import image_name

OPTION = re.compile(r"^--[a-z][a-z-]*(?:=[A-Za-z0-9_.:,@%+-]+)?\Z")


class ContainerImageOptions(Options):
    """Keep a container image in a folder of the account.

    Imports an image from a registry with enroot or Apptainer, into a file that is named after the image's digest, and
    keeps a link to this file under a name without the digest.

    The work continues on its own if the connection drops, on the login node or as a Slurm job, which is submitted once.
    If the tag gets a new digest, the new image is imported next to the old one and the link is changed.

    The container tool reads the key from its own file. The key is never in an argument or a variable.

    Options:
        image: The image, such as C(nvcr.io/nvidia/pytorch:24.03-py3). C(@sha256:...) pins its digest.
        folder: The folder for the image. It may begin with C(~) or with a variable of the site such as C($SCRATCH).
        root: The folder that must exist already. Defaults to the folder above O(folder).
        runtime: The program that imports the image.
        module: The environment module that provides this program.
        credentials: The file with the keys of this program, for queries to the registry.
        by: Whether the image is imported on the login node (V(login)) or in a job on a compute node (V(job)).
        job_options: Options of sbatch for the job. C(@slurm_cpu_account@) becomes the Slurm account that
            M(hpc.onboard.scheduler) finds on the account.
        minutes: The time limit of the job.
        temporary: The folder for temporary files. Defaults to a folder next to the image.
        site_images: A folder with images of the site. If it contains an image of the same name, nothing is imported.
        packages: Packages that the package list next to such an image must contain.
        old: Whether older images of the tag are kept or removed.
        state: Whether the image exists. C(absent) cancels the job and removes imported images that were not changed.

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
        if image_name.parse(self.options["image"]) is None:
            raise AccountError(
                "image: %r is not valid; expected an image name, such as nvcr.io/nvidia/pytorch:24.03-py3"
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
                    "job_options: %r is not valid; expected an option of sbatch, such as --qos=cpu" % option
                )
        for package in self.options["packages"]:
            if not WORD.match(package):
                raise AccountError("packages: %r is not a valid package name" % package)
        if not 1 <= self.options["minutes"] <= 2880:
            raise AccountError("minutes: %d is out of range; expected 1 to 2880" % self.options["minutes"])


class EmptiedCacheOptions(Options):
    """Empty the cache of a container tool.

    Removes the files that enroot or Apptainer can download again: enroot's image layers, or the content of the folders
    that C(apptainer cache clean) empties. All other files in the folder stay unchanged.

    Reports the size of the removed files, also in check mode. If an image is being pulled, the pull fails and must be
    repeated.

    Options:
        path: The path of the cache, which is the value of E(ENROOT_CACHE_PATH), or the subfolder C(cache) of the folder
            in E(APPTAINER_CACHEDIR).
        runtime: The program that uses the cache.
        state: With C(absent), the cache is neither examined nor changed.

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
        """Raise AccountError for an invalid path."""
        check_path("path", self.options["path"])
