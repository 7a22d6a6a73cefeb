# SPDX-License-Identifier: GPL-3.0-or-later
"""The site moves what its variable names, as CSCS moves $SCRATCH: our link is turned, and said; a person's is not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.audit.audit_scene import Scene, at, by_root

pytestmark = pytest.mark.testbed

OLD, NEW = "/capstor/scratch/cscs", "/capstor/scratch/ritom"
SITE = "/etc/profile.d/site.sh"


@pytest.fixture
def scene(bed: Any, tmp_path: Path) -> Iterator[Scene]:
    """An account that we set up, and one with a link of its own; when both are done, the site has moved its scratch."""
    ours, own = bed.new_account("daint"), bed.new_account("daint")
    at(own, f"ln -s {OLD}/{own.user} scratch")
    made = Scene(bed, tmp_path, [ours, own])
    ran = made.onboard()
    assert ran.code == 0, ran.text
    at(ours, f"echo mine > {OLD}/{ours.user}/data")
    by_root(ours, f"cp -p {SITE} /etc/site.before; sed -i s,{OLD},{NEW}, {SITE}; mkdir -p {NEW}")
    for one in (ours, own):
        by_root(one, f"install -d -o {one.user} -m 700 {NEW}/{one.user}")
    yield made
    by_root(ours, f"mv /etc/site.before {SITE}; rm -r {NEW}")


def test_a_link_goes_along_if_it_is_ours_and_as_we_left_it(scene: Scene) -> None:
    ours, own = scene.accounts
    old, new = f"{OLD}/{ours.user}", f"{NEW}/{ours.user}"
    audit = scene.audit()
    moved, theirs = ([one for one in audit.of(account) if one["rule"] == "LNK-002"] for account in scene.accounts)
    assert [(one["cause"], one["severity"]) for one in moved] == [("site", "high")]
    said = f"link ~/scratch points to {old}. The site has changed $SCRATCH to {new}."
    assert moved[0]["text"] == f"{said} Copy your data before you update the link."
    assert ["command" in step for step in moved[0]["fix"]] == [False, True]
    assert [one["cause"] for one in theirs] == ["site"]
    assert theirs[0]["fix"][0]["command"] == ["mv", "-n", "~/scratch", "~/scratch.mine"]

    done = scene.onboard()
    said = " ".join(done.text.split())
    assert done.code == 2, said
    assert f"~ changed link ~/scratch -> {new} the link pointed to {old}; the files there are not moved" in said
    assert f"~/scratch is a link to {OLD}/{own.user} that hpc-onboard did not create: rename it" in said
    links = {one.name: one.ssh("readlink scratch; cat scratch/data; true").stdout.split() for one in scene.accounts}
    assert links == {ours.name: [new], own.name: [f"{OLD}/{own.user}"]}
    assert ours.read(f"{old}/data") == b"mine\n"
    assert not [one for one in scene.audit().of(ours) if one["rule"].startswith("LNK")]
