# SPDX-License-Identifier: GPL-3.0-or-later
"""Links and files of a person's own, said once for all accounts: made over ssh, kept, told apart, and taken out."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.effort import turns
from tests.integration.audit.audit_scene import Scene, at
from tests.integration.runs import Ran, play

pytestmark = [pytest.mark.testbed, turns(2)]

CONDARC = "channels: [conda-forge]\n"
SHARED = {
    "without": ["conda"],
    "links": {"~/data": "$SHARED/data", "~/notes": "/srv/notes"},
    "own_files": {"files": [{"file": "condarc", "path": "~/.condarc"},
                            {"file": "deep/hello", "path": "~/.local/share/me/hello", "mode": "0600"}]},
    "path_scripts": {"scripts": [{"name": "hi", "file": "scripts/hi.sh"}]},
}  # fmt: skip


@pytest.fixture
def scene(bed: Any, tmp_path: Path) -> Scene:
    """Two accounts that everybody's words hold for; one has a link of its own, and the site makes the other's links."""
    wilson, narval = bed.new_account("wilson"), bed.new_account("narval", skel=True)
    for one in (wilson, narval):
        one.cluster.world.run(
            "sh", "-ec", f"mkdir -p /srv/notes /srv/{one.user}/data; chown -R {one.user} /srv/{one.user}"
        )
    made = Scene(bed, tmp_path, [wilson, narval], {narval.name: {"links": {"~/notes": f"/srv/{narval.user}"}}})
    for one in (wilson, narval):
        at(one, f"echo 'export SHARED=/srv/{one.user}' >> .profile")
    (tmp_path / "files" / "deep").mkdir(parents=True)
    (tmp_path / "scripts").mkdir()
    (tmp_path / "files" / "condarc").write_text(CONDARC)
    (tmp_path / "files" / "deep" / "hello").write_text("hello\n")
    (tmp_path / "scripts" / "hi.sh").write_text("#!/bin/sh\necho hi there\n")
    share(made, SHARED)
    return made


def share(scene: Scene, defaults: dict[str, Any]) -> None:
    """Write the defaults into the accounts file."""
    scene.declare()
    document = {**yaml.safe_load(scene.inventory.read_text()), "defaults": defaults}
    scene.inventory.write_text(yaml.safe_dump(document, sort_keys=False))


def trees(scene: Scene) -> dict[str, dict[str, tuple[Any, ...]]]:
    """What lies on each account: kind, mode and content of each path, whenever it was written."""
    return {
        one.name: {path: (entry.kind, entry.mode, entry.content) for path, entry in one.tree().items()}
        for one in scene.accounts
    }


def offboard(scene: Scene) -> Ran:
    order = ("-i", str(scene.inventory), "-e", "offboard_sure=true")
    return play(scene.bed, *order, playbook="offboard.yml", environment=scene.environment)


def test_they_live_and_go_and_leave_nothing(scene: Scene) -> None:
    before, (wilson, narval) = trees(scene), scene.accounts
    preview = scene.onboard("--check", "--diff", "-l", wilson.name, "--tags", "own_files")
    assert "channels: [conda-forge]" in preview.text, preview.text
    assert trees(scene) == before

    first = scene.onboard()
    assert first.code == 0, first.text
    for one, notes in ((wilson, "/srv/notes"), (narval, f"/srv/{narval.user}")):
        seen = one.ssh("readlink data notes; cat .condarc; stat -c %a .condarc .local/share/me/hello").stdout
        assert seen.split("\n")[:-1] == [f"/srv/{one.user}/data", notes, CONDARC[:-1], "644", "600"]
        assert "hi there" in one.login_shell("hi").stdout
        assert "made_by_site" not in str(first.statuses(one.name))
    second = scene.onboard()
    assert second.code == 0
    assert "2 accounts: 2 unchanged" in " ".join(second.text.split())
    assert [one for one in scene.audit().findings if one["severity"] != "info"] == []

    gone = offboard(scene)
    assert gone.code == 0, gone.text
    assert trees(scene) == before


def test_ours_is_brought_up_to_date_and_theirs_stays(scene: Scene) -> None:
    wilson, narval = scene.accounts
    at(narval, "echo 'channels: [mine]' > .condarc; chmod 600 .condarc")
    first = scene.onboard()
    assert first.code == 2
    assert f"{narval.name}" in first.text
    assert "~/.condarc is a file not created by hpc-onboard: rename it (mv -n ~/.condarc ~/.condarc.mine)" in " ".join(
        first.text.split()
    )
    (scene.folder / "files" / "condarc").write_text("channels: [bioconda]\n")
    at(wilson, "echo mine >> .local/share/me/hello")
    found = {one["rule"]: one for one in scene.audit().of(wilson) if one["rule"].startswith("OWN")}
    assert found.keys() == {"OWN-002"}
    both = [one for one in scene.audit().of(wilson) if one["rule"] == "OWN-002"]
    assert {one["resource"]: one["cause"] for one in both} == {
        "file ~/.condarc": "spec",
        "file ~/.local/share/me/hello": "hand",
    }
    again = scene.onboard("-l", wilson.name)
    assert again.code == 2
    assert wilson.read(".condarc") == b"channels: [bioconda]\n"
    assert wilson.read(".local/share/me/hello") == b"hello\nmine\n"
    at(wilson, "chmod 600 .condarc")
    assert scene.onboard("-l", wilson.name).statuses(wilson.name)["file ~/.condarc"] == "different"
    assert wilson.ssh("stat -c %a .condarc").stdout == "644\n"

    gone = offboard(scene)
    assert gone.code == 0, gone.text
    assert wilson.read(".local/share/me/hello") == b"hello\nmine\n"
    assert narval.read(".condarc") == b"channels: [mine]\n"
    assert not wilson.exists(".condarc")
    assert "hello\\nmine" not in str(both)


def test_a_file_that_is_declared_no_more_is_found_and_goes(scene: Scene) -> None:
    wilson = scene.accounts[0]
    assert scene.onboard("-l", wilson.name).code == 0
    share(scene, {**SHARED, "own_files": {"files": []}, "links": {}})
    orphans = {one["resource"] for one in scene.audit("-l", wilson.name).of(wilson) if one["rule"] == "ORP-001"}
    assert {"file ~/.condarc", "link ~/data"} <= orphans
    order = (
        "-i",
        str(scene.inventory),
        "-e",
        "offboard_sure=true",
        "-e",
        "offboard_only=undeclared",
        "-l",
        wilson.name,
    )
    assert play(scene.bed, *order, playbook="offboard.yml", environment=scene.environment).code == 0
    assert not wilson.exists(".condarc")
    assert not wilson.exists(".local/share/me/hello")
    assert wilson.exists("bin/hi")


def test_a_key_in_a_file_fails_its_role_alone_and_goes_nowhere(scene: Scene) -> None:
    key = "nvapi-" + hashlib.sha256(b"own").hexdigest()
    (scene.folder / "files" / "condarc").write_text(f"# mine\ntoken: {key}\n")
    ran = scene.onboard()
    assert ran.code == 2
    assert "contains an NGC personal or service key on line 2" in " ".join(ran.text.split())
    assert key not in ran.text
    for one in scene.accounts:
        assert not one.exists(".condarc")
        assert not one.exists("deep")
        assert one.exists(".config/hpc.onboard/env.sh"), "the other roles are set up"
        assert key.encode() not in b"".join(one.read(path) for path, node in one.tree().items() if node.kind == "file")
