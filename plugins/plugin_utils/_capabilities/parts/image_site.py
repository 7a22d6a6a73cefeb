# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a cluster's profile says of container images: where they lie, and what imports them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Settings = Mapping[str, Any]
DOCKER_LOGINS = "~/.apptainer/docker-config.json"


def image_settings(cluster: Settings, project: str) -> dict[str, Any]:
    """Where images lie, beside the caches of their tool, and what imports them.

    A job does where that tool is on nodes only; it asks for what one without a GPU does.
    """
    container, scheduler, caches = (cluster.get(part, {}) for part in ("container", "scheduler", "caches"))
    runtime = container.get("runtime", "none")
    usual: Settings = next(iter(cluster.get("launchers", [])), {})
    return {
        "runtime": runtime,
        "module": container.get("module", ""),
        "folder": image_folder(cluster),
        "root": caches.get("root", ""),
        "credentials": container.get("credentials", "") if runtime == "enroot" else DOCKER_LOGINS,
        "by": "login" if container.get("on_login", runtime != "enroot") else "job",
        "scheduler": scheduler.get("kind", "none"),
        "job_options": scheduler.get("cpu", ""),
        "account": project if scheduler.get("account") == "project" else "",
        "site_images": container.get("images", ""),
        "edf": "~/.edf" if container.get("in_jobs") == "environment" else "",
        "mounts": usual.get("mounts", []),
    }


def image_folder(cluster: Settings) -> str:
    """The folder for images, beside the caches of their tool; empty where the site names none."""
    place = str(cluster.get("caches", {}).get("path", "")).rpartition("/")[0]
    return f"{place}/images" if place else ""
