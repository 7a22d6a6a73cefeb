# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The role container_images: images in the data area, imported on a login node or in a job.

A declaration has resources, and notes with the reasons for skipped ones: a code for programs, and a text for the user.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...module_utils._core.errors import AccountError
from ...module_utils._options import image_name
from ...module_utils._options.image_options import OPTION
from .job_request import make_import_request
from .table import SLURM_ACCOUNT, SLURM_CPU_ACCOUNT, Settings, declare_nothing, resource

if TYPE_CHECKING:
    from .._documents.declaration import Declaration, ResourceEntry

TOOLS = ("enroot", "apptainer")


def declare(settings: Settings) -> Declaration:
    """Declare the images of an account. Raise AccountError for an invalid image.

    settings: `images`, each with `image`, its name in a registry, and optionally `packages`; `folder` for the files;
    `runtime`, the program that imports images; `by`, "login" or "job": where it runs; `edf`, the folder for EDF files,
    empty if the site does not use them; and settings for the import.
    """
    if not settings["images"]:
        return {"resources": [], "notes": []}
    if settings["runtime"] not in TOOLS:
        return declare_nothing("not_here", "the site has neither enroot nor Apptainer")
    if not settings["folder"]:
        text = "no folder for images is known at this site; set container_images_folder"
        return declare_nothing("place_unknown", text)
    if settings["by"] == "job" and settings["scheduler"] != "slurm":
        text = "this profile imports images in Slurm jobs, but the cluster does not use Slurm"
        return declare_nothing("not_here", text)
    resources = [entry for image in settings["images"] for entry in _declare_image(settings, image)]
    return {"resources": resources, "notes": []}


def _declare_image(settings: Settings, image: dict[str, Any]) -> list[ResourceEntry]:
    """Return the entries of an image: the image, and its EDF file if the site's jobs refer to images by EDF files.

    settings: see declare(). image: of the setting `images`.
    """
    name = image_name.parse(image["image"])
    if name is None:
        raise AccountError(
            f'container_images: "{image["image"]}" is not a valid image name; expected, for example,'
            " nvcr.io/nvidia/pytorch:24.03-py3"
        )
    entry = resource(
        "container_image",
        image=image["image"],
        folder=settings["folder"],
        root=settings["root"] or None,
        runtime=settings["runtime"],
        module=settings["module"],
        credentials=settings["credentials"] or None,
        by=settings["by"],
        job_options=_job_options(settings) if settings["by"] == "job" else [],
        minutes=settings["minutes"],
        temporary=settings["temporary"] or None,
        site_images=settings["site_images"] or None,
        packages=image.get("packages") or [],
        old=settings["old"],
        state=settings["state"],
    )
    if not settings["edf"]:
        return [entry]
    return [entry, _declare_edf(settings, name)]


def _job_options(settings: Settings) -> list[str]:
    """Return the sbatch options of the job that imports an image, without --time. Raise AccountError."""
    invalid = next((word for word in settings["job_options"].split() if not OPTION.fullmatch(word)), None)
    if invalid:
        raise AccountError(
            f'container_images: job_options: "{invalid}" is not valid; write each option as --NAME=VALUE, such as'
            " --cpus-per-task=4"
        )
    defaults = {"gpu": "", "gpu_type": "", "cpus": 0, "memory": "", "partition": "", "cpu_partition": "", "qos": ""}
    try:  # defaults: settings that a request needs and this role does not have
        options = make_import_request({**defaults, **settings, "cpu": settings["job_options"]})
    except AccountError as error:
        # this role has no setting cpu_partition
        advice = str(error).replace("cpu_partition", "job_options (--partition=NAME)")
        raise AccountError(f"container_images: {advice}") from None
    # some sites have separate Slurm accounts for jobs with and without GPUs; the user may have set either
    suffixes = settings["limits"].get("account_suffixes", {})
    account, suffix = settings["account"].removesuffix(suffixes.get("gpu", "")), suffixes.get("cpu", "")
    account += suffix if account and not account.endswith(suffix) else ""
    # the image import sets --time itself; its Slurm account is from the settings, not looked up on the cluster
    placeholders = (f"--account={SLURM_ACCOUNT}", f"--account={SLURM_CPU_ACCOUNT}")
    options = [f"--account={account}" if option in placeholders else option for option in options]
    # "--account=" is left if no Slurm account is known
    return [option for option in options if option != "--account=" and not option.startswith("--time=")]


def _declare_edf(settings: Settings, name: image_name.ImageName) -> ResourceEntry:
    """Return the EDF file that describes an image for CSCS's container engine, which expands ${VARIABLE} itself."""
    path = f"{settings['folder']}/{name.plain}.sqsh"
    first, slash, rest = path.partition("/")
    if first.startswith("$"):
        path = f"${{{first[1:]}}}{slash}{rest}"
    mounts = "".join(f'    "{mount}",\n' for mount in settings["mounts"])
    text = f'image = "{path}"\n' + (f"mounts = [\n{mounts}]\n" if mounts else "")
    return resource(
        "own_file", path=f"{settings['edf']}/{name.plain}.toml", content=text, mode="0600", state=settings["state"]
    )
