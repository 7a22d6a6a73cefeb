"""Scenes for tests of container images.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.jobs.image_scene import REPOSITORY_OF_IMAGE, Scene, layer
from tests.integration.runs import KEY, seen_from
from tests.testbed import real_enroot
from tests.testbed.registry import Authority, Registry


@pytest.fixture(scope="module")
def registries(bed: Any) -> Iterator[dict[str, Registry]]:
    """Registries by the site that reaches them, each as nvcr.io; each is started by the first who asks."""
    made: dict[str, Registry] = {}
    yield made
    for registry in made.values():
        registry.close()


@pytest.fixture
def scene(bed: Any, registries: dict[str, Registry]) -> Callable[..., Scene]:
    """Make a scene at a site."""

    def make(site: str = "lrz") -> Scene:
        if site not in registries:
            address = seen_from(bed.cluster(site))
            registries[site] = Registry(
                ("nvcr.io", "authn.nvidia.com"), address, 443, authority=Authority("authority of images")
            ).__enter__()
            world = bed.cluster(site).world
            with (world.root / "etc/hosts").open("a") as hosts:
                hosts.write(f"{address} nvcr.io authn.nvidia.com\n")
            with (world.root / "etc/ssl/certs/ca-certificates.crt").open("ab") as known:
                known.write(Path(registries[site].ca_file).read_bytes())
        registry = registries[site]
        registry.allow(KEY, [REPOSITORY_OF_IMAGE])
        digest = registry.push(REPOSITORY_OF_IMAGE, "24.03-py3", layer("the first"))
        return Scene(bed, registry, site, digest)

    return make


@pytest.fixture(scope="session")
def enroot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The real enroot; a test that wants it says so where its source cannot be had."""
    folder = real_enroot.built(tmp_path_factory.mktemp("enroot"))
    if folder is None:
        pytest.skip(f"no judge: {real_enroot.PUBLIC_SOURCE} cannot be had here; {real_enroot.SOURCE} may name a copy")
    return folder
