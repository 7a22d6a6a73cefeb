"""An account at a site with a real Slurm and a registry, for tests of container images.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import gzip
import io
import os
import re
import subprocess
import tarfile
from typing import Any

from tests.integration.runs import Ran, onboard
from tests.testbed.registry import Registry

ONLY = ("--tags", "storage_links,enroot_credentials,registry_auth,container_images,launchers")
REPOSITORY_OF_IMAGE = "uni-muster/pytorch"
IMAGE = f"nvcr.io/{REPOSITORY_OF_IMAGE}:24.03-py3"
PLAIN = "nvcr.io+uni-muster+pytorch+24.03-py3"
IDENTITY = f"image {IMAGE}"
SITES = {  # where images lie
    "wilson": "/wclustre/{project}/{user}/images",
    "lrz": "/dss/dssfs04/lwp-dss-0002/{project}/{project}-dss-0000/{user}/images",
    "dfki": "/data/{user}/images",
}


def layer(text: str, *programs: str) -> bytes:
    """A layer of an image that holds one file, root's home, and programs of this machine with their libraries."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        entry = tarfile.TarInfo("etc/image")
        entry.size = len(text)
        tar.addfile(entry, io.BytesIO(text.encode()))
        home = tarfile.TarInfo("root")
        home.type, home.mode = tarfile.DIRTYPE, 0o700
        tar.addfile(home)
        for program in programs:
            said = subprocess.run(["ldd", program], check=True, capture_output=True, text=True).stdout
            for file in (program, *re.findall(r"(/\S+) \(0x", said)):
                if file.lstrip("/") not in tar.getnames():
                    tar.add(os.path.realpath(file), file)
    return gzip.compress(packed.getvalue(), mtime=0)


class Scene:
    """An account at a site with Slurm and a registry."""

    def __init__(self, bed: Any, registry: Registry, site: str, digest: str) -> None:
        self.bed, self.registry, self.digest = bed, registry, digest
        self.slurm = bed.slurm(site)
        self.account = bed.new_account(site)
        self.slurm.admit(self.account)
        self.folder = SITES[site].format(user=self.account.user, project=self.account.project)
        self.wait_for_imports(0)

    def settings(self, **more: Any) -> dict[str, Any]:
        """What the accounts file says."""
        return {self.account.name: {"container_images": {"images": [{"image": IMAGE}], **more}}}

    def run(self, *more: str, **said: Any) -> Ran:
        """Onboard the account."""
        return onboard(self.bed, self.account, more=(*ONLY, *more), settings=self.settings(**said))

    def submitted(self) -> list[str]:
        """The names of all jobs of ours that there ever were."""
        return [name for name in self.slurm.jobs(self.account) if name.startswith("hpc.onboard")]

    def wait_for_imports(self, seconds: int) -> None:
        """How long each import takes from now on."""
        self.slurm.cluster.world.run("sh", "-c", f"mkdir -p /run/standin && echo {seconds} >/run/standin/seconds")

    def text(self, name: str = f"{PLAIN}.sqsh") -> str:
        """What the image holds."""
        file = f"{self.folder}/{name}"
        return str(self.slurm.cluster.world.run("unsquashfs", "-cat", file, "etc/image"))

    def left(self) -> list[str]:
        """What lies in the folder of images."""
        return sorted(os.listdir(self.account.path(self.folder)))
