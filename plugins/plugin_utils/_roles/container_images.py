# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The capability container_images: images in the data area, imported where the container tool is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...module_utils._core.errors import AccountError
from ...module_utils._options import image_name
from .job_request import make_import_request
from .table import SLURM_ACCOUNT, SLURM_CPU_ACCOUNT, Settings, declare_nothing, resource

if TYPE_CHECKING:
    from .._documents.declaration import Declaration, ResourceEntry

TOOLS = ("enroot", "apptainer")


def declare(settings: Settings) -> Declaration:
    """Return what an account gets. settings: those of the role. Raises AccountError."""
    if not settings["images"]:
        return {"resources": [], "notes": []}
    if settings["runtime"] not in TOOLS:
        return declare_nothing("not_here", "neither enroot nor Apptainer is here")
    if not settings["folder"]:
        return declare_nothing("place_unknown", "where images may lie is not known here; set container_images_folder")
    if settings["by"] == "job" and settings["scheduler"] != "slurm":
        return declare_nothing("not_here", "images are imported by jobs of Slurm here, and that is not here")
    resources = [one for image in settings["images"] for one in _declare_image(settings, image)]
    return {"resources": resources, "notes": []}


def _declare_image(settings: Settings, image: dict[str, Any]) -> list[ResourceEntry]:
    """One image, and where jobs name images by EDF files, the file for it."""
    name = image_name.read(image["image"])
    if name is None:
        raise AccountError(
            f'container_images: "{image["image"]}" is not the name of an image, such as'
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
    """The options of the job that imports an image; its time limit is given apart. Raises AccountError."""
    account, suffix = settings["account"], settings["limits"].get("account_suffixes", {}).get("cpu", "")
    usual = {"gpu": "", "gpu_type": "", "cpus": 0, "memory": "", "partition": "", "cpu_partition": "", "qos": ""}
    try:
        options = make_import_request({**usual, **settings, "cpu": settings["job_options"]}).options
    except AccountError as error:
        advice = str(error).replace("cpu_partition", "job_options (--partition=NAME)")
        raise AccountError(f"container_images: {advice}") from None
    named = f"--account={account + suffix if account and not account.endswith(suffix) else account}"
    options = [named if one[10:] in (SLURM_ACCOUNT, SLURM_CPU_ACCOUNT) else one for one in options]
    return [one for one in options if one != "--account=" and not one.startswith("--time=")]


def _declare_edf(settings: Settings, name: image_name.ImageName) -> ResourceEntry:
    """The file by which CSCS' container engine knows an image; it resolves variables in it itself."""
    place = f"{settings['folder']}/{name.plain}.sqsh"
    head, slash, rest = place.partition("/")
    if head.startswith("$"):
        place = f"${{{head[1:]}}}{slash}{rest}"
    mounts = "".join(f'    "{mount}",\n' for mount in settings["mounts"])
    text = f'image = "{place}"\n' + (f"mounts = [\n{mounts}]\n" if mounts else "")
    return resource(
        "own_file", path=f"{settings['edf']}/{name.plain}.toml", content=text, mode="0600", state=settings["state"]
    )
