# SPDX-License-Identifier: GPL-3.0-or-later
"""The cache of a container tool over real ssh: emptied when somebody asks for it, previewed before, else left alone."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.runs import onboard

pytestmark = pytest.mark.testbed

CLEAN = ("--tags", "container_caches", "-e", "container_caches_clean=true")


def test_a_cache_is_emptied_when_asked_and_never_else(bed: Any) -> None:
    account = bed.new_account("wilson")
    assert onboard(bed, account, more=CLEAN[:2]).code == 0
    cache = account.login_shell('echo "$APPTAINER_CACHEDIR/cache"').stdout.strip()
    account.login_shell(
        f"mkdir -p {cache}/blob/blobs && head -c 5000000 /dev/zero >{cache}/blob/blobs/a; touch {cache}/my"
    )
    identity = None
    for more, blobs in ((CLEAN[:2], True), ((*CLEAN, "--check"), True), (CLEAN, False), (CLEAN, False)):
        ran = onboard(bed, account, more=more)
        assert ran.code == 0, ran.text
        assert account.exists(f"{cache}/blob/blobs/a") == blobs
        assert account.exists(f"{cache}/my")
        found = [one for one in ran.of(account.name)["outcomes"] if one["identity"].startswith("cache ")]
        assert len(found) == ("-e" in more)
        if found and identity is None:
            identity, before = found[0]["identity"], found[0]["before"]
            assert before == {"size": "5.0 MB"}
            assert f"{identity}, 5.0 MB" in " ".join(ran.text.split())
            assert found[0]["after"] == {"size": "0 bytes"}
    assert found[0]["status"] == "ok"
    assert onboard(bed, account, more=CLEAN[:2]).code == 0
