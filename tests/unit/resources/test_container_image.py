# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""An image as it is found, wanted, refused and previewed. The import itself is in tests/integration/jobs."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest
from account_scene import Folder, Link, Plain, Scene, Thing
from ansible_collections.hpc.onboard.plugins.module_utils._core.account import Account
from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.module_utils._core.host import Host
from ansible_collections.hpc.onboard.plugins.module_utils._options.image_options import ContainerImageOptions
from ansible_collections.hpc.onboard.plugins.module_utils._resources.container_image import ContainerImage
from resource_tables import Case, judge, table

NAME = "nvcr.io/nvidia/pytorch:24.03-py3"
PLAIN = "/data/ada/images/nvcr.io+nvidia+pytorch+24.03-py3"
DIGEST = "sha256:" + hashlib.sha256(NAME.encode()).hexdigest()  # as in any sandbox
OLD = "sha256:" + "0" * 64
IMAGE: dict[str, Any] = {"image": NAME, "folder": "/data/ada/images", "root": "/data", "runtime": "enroot", "by": "job"}
AREA: dict[str, Thing] = {"/data": Folder()}


def file(digest: str) -> str:
    """Where the image with this digest lies."""
    return f"{PLAIN}+{digest[7:19]}.sqsh"


def made(digest: str) -> dict[str, Thing]:
    """An image of ours."""
    note = f'{{"digest": "{digest}", "bytes": 0}}'
    return {file(digest): Plain(b"", 0o600), f"{file(digest)}.hpc.onboard": Plain(note.encode(), 0o600)}


def link(digest: str) -> dict[str, Thing]:
    """The link to it."""
    return {f"{PLAIN}.sqsh": Link(file(digest).rpartition("/")[2])}


FOLDERS: dict[str, Thing] = {"/data/ada": Folder(0o700), "/data/ada/images": Folder(0o700)}
THERE = {**AREA, **FOLDERS, **made(DIGEST), **link(DIGEST)}
SITE = "/enroot/nvcr.io_nvidia_pytorch_24.03-py3"
AT_SITE: dict[str, Thing] = {
    **AREA,
    "/enroot": Folder(),
    f"{SITE}.sqsh": Plain(b"hsqs"),
    f"{SITE}.packages": Plain(b"numpy 1.26\nPandas==2.2\n"),
}
OF_SITE = {**IMAGE, "site_images": "/enroot"}


@table(
    Case("a missing one is imported", AREA, IMAGE, "missing", left={**FOLDERS, **made(DIGEST), **link(DIGEST)}),
    Case("one that is there stays", THERE, IMAGE, "ok"),
    Case(
        "one with another digest is imported beside the old one",
        {**AREA, **FOLDERS, **made(OLD), **link(OLD)},
        IMAGE,
        "different",
        left={**made(DIGEST), **link(DIGEST)},
    ),
    Case(
        "old ones are removed when asked",
        {**THERE, **made(OLD)},
        {**IMAGE, "old": "remove"},
        "different",
        left=dict.fromkeys(made(OLD)),
    ),
    Case("a pinned one is not looked for elsewhere", {**AREA, **FOLDERS, **made(OLD), **link(OLD)},
         {**IMAGE, "image": f"{NAME}@{OLD}"}, "ok"),
    Case("a file in the place of the link is kept", {**AREA, **FOLDERS, f"{PLAIN}.sqsh": Plain(b"x")}, IMAGE,
         "blocked", "was not created by hpc-onboard"),
    Case("a link of somebody's making is kept", {**AREA, **FOLDERS, f"{PLAIN}.sqsh": Link("mine.sqsh")}, IMAGE,
         "blocked", "was not created by hpc-onboard"),
    Case("an image under our name that we did not make is kept", {**AREA, **FOLDERS, file(DIGEST): Plain(b"x")}, IMAGE,
         "blocked", "was not created by hpc-onboard"),
    Case("the site's area is not made", {}, IMAGE, "blocked", "only the site can create it"),
    Case("an image that was purged is imported again", {**AREA, **FOLDERS, **link(DIGEST)}, IMAGE, "missing",
         left=made(DIGEST)),
    Case("the site's own image is used", AT_SITE, {**OF_SITE, "packages": ["pandas"]}, "missing",
         left={**FOLDERS, f"{PLAIN}.sqsh": Link(f"{SITE}.sqsh")}),
    Case("the site's own image without a package is not", AT_SITE, {**OF_SITE, "packages": ["torch"]}, "missing",
         left={**FOLDERS, **made(DIGEST), **link(DIGEST)}),
    Case("what is absent stays so", AREA, {**IMAGE, "state": "absent"}, "ok"),
    Case("one of ours is removed", THERE, {**IMAGE, "state": "absent"}, "extra",
         left=dict.fromkeys({**made(DIGEST), **link(DIGEST)})),
)  # fmt: skip
def test_an_image(tmp_path: Path, case: Case) -> None:
    judge(Scene(tmp_path / "cluster"), "container_image", case)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"image": "Not An Image"}, "is not valid; expected an image name"),
        ({"image": "nvcr.io/a:b@sha256:1"}, "is not valid; expected an image name"),
        ({"folder": "images"}, "folder: 'images' is not a valid path"),
        ({"job_options": ["--qos=cpu; rm"]}, "is not valid; expected an option of sbatch"),
        ({"job_options": ["--wrap=$(x)"]}, "is not valid; expected an option of sbatch"),
        ({"module": "apptainer; x"}, "is not a valid name"),
        ({"packages": ["a b"]}, "is not a valid package name"),
        ({"minutes": 0}, "is out of range"),
    ],
)
def test_what_must_not_reach_an_account_is_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(AccountError) as refused:
        ContainerImageOptions(ContainerImageOptions.with_defaults({**IMAGE, **options}))
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("noted", "size", "stays"),
    [(1500, "3.0 kB", None), (1499, "1.5 kB", "1.5 kB")],
    ids=["unchanged", "changed"],
)
def test_what_goes_and_what_stays_is_said_with_its_size(
    tmp_path: Path, noted: int, size: str, stays: str | None
) -> None:
    images = tmp_path / "images"
    images.mkdir(mode=0o700)
    for digest, there in ((DIGEST, 1500), (OLD, noted)):
        (images / Path(file(digest)).name).write_bytes(b"x" * 1500)
        (images / f"{Path(file(digest)).name}.hpc.onboard").write_text(f'{{"digest": "{digest}", "bytes": {there}}}')
    (images / f"{Path(PLAIN).name}.sqsh").symlink_to(Path(file(DIGEST)).name)
    host = Host(Account(str(tmp_path), "/bin/bash", {}), b"k" * 32)
    asked = {**IMAGE, "folder": str(images), "root": str(tmp_path), "state": "absent"}
    image = ContainerImage(ContainerImage.with_defaults(asked))
    assert image.inspect(host)["size"] == size
    assert image.remarks(host) == (
        [f"{Path(file(OLD)).name} ({stays}) was changed after the import, so it is not removed"] if stays else []
    )
