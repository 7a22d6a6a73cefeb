# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What may name an image of a registry."""

from __future__ import annotations

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._validate.registry import RegistryImage


def test_an_image_is_asked_for_where_its_registry_sends() -> None:
    assert RegistryImage("nvcr.io", "a:1").token_hosts == ("nvcr.io", "authn.nvidia.com")
    assert RegistryImage("registry.example", "a:1", ("auth.example",)).token_hosts == ("auth.example",)


@pytest.mark.parametrize("image", ["", "a", "a:", ":1", "A:1", "a/:1", "/a:1", "a:1?x", "a/../b:1", "a b:1", "a:1\r\n"])
def test_what_is_no_image_is_refused(image: str) -> None:
    with pytest.raises(ValueError, match="is not an image"):
        RegistryImage("nvcr.io", image)


@pytest.mark.parametrize("host", ["", "https://nvcr.io", "nvcr.io/", "user@nvcr.io", "nvcr.io:x", "nvcr.io\n", "a b"])
def test_what_is_no_registry_is_refused(host: str) -> None:
    with pytest.raises(ValueError, match="is not a registry"):
        RegistryImage(host, "a:1")
