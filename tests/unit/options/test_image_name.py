# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an image is called, in each program's words."""

from __future__ import annotations

import re

import pytest
from ansible_collections.hpc.onboard.plugins.module_utils._options.image_name import parse

DIGEST = "sha256:" + "a" * 64


@pytest.mark.parametrize(
    ("text", "registry", "repository", "tag"),
    [
        ("nvcr.io/nvidia/pytorch:24.03-py3", "nvcr.io", "nvidia/pytorch", "24.03-py3"),
        ("docker://nvcr.io#nvidia/pytorch:24.03-py3", "nvcr.io", "nvidia/pytorch", "24.03-py3"),
        ("docker://alpine:latest", "registry-1.docker.io", "library/alpine", "latest"),
        ("godlovedc/lolcow", "registry-1.docker.io", "godlovedc/lolcow", "latest"),
        ("docker.io/library/alpine", "registry-1.docker.io", "library/alpine", "latest"),
        ("localhost:5000/a/b:1", "localhost:5000", "a/b", "1"),
    ],
)
def test_a_name_is_read_as_docker_and_enroot_have_it(text: str, registry: str, repository: str, tag: str) -> None:
    found = parse(text)
    assert found is not None
    assert found[:3] == (registry, repository, tag)


@pytest.mark.parametrize("text", ["", "A/B", "a b", "nvcr.io/a:b:c", "nvcr.io/../x", "a@sha256:12", "-x", "a/$(x)"])
def test_what_is_no_name_is_none(text: str) -> None:
    assert parse(text) is None


def test_enroot_is_given_the_digest_in_the_tags_place_which_all_since_3_2_read() -> None:
    found = parse("nvcr.io/nvidia/pytorch:24.03-py3")
    assert found is not None
    address = found.for_enroot(DIGEST)
    assert address == f"docker://nvcr.io#nvidia/pytorch:{DIGEST}"
    # enroot 3.2 to 3.5, src/docker.sh: registry, image and tag
    pattern = r"docker://(([^#/@]+)#)?([a-z0-9/._-]+)(:([A-Za-z0-9._:-]+))?"
    assert re.fullmatch(pattern, address)
    assert found.for_apptainer(DIGEST) == f"docker://nvcr.io/nvidia/pytorch@{DIGEST}"
    assert found.file(DIGEST, "sqsh") == "nvcr.io+nvidia+pytorch+24.03-py3+aaaaaaaaaaaa.sqsh"
