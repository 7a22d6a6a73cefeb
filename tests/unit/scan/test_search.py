# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a search says of paths that it could not look at."""

from __future__ import annotations

from account_scene import HOME, Folder, Link, Plain, Scene
from ansible_collections.hpc.onboard.plugins.module_utils._scan.search import Search


def test_a_file_system_that_hangs_is_not_called_a_permission(scene: Scene) -> None:
    scene.make({"/dead": Folder(), "/dead/x": Plain(b"x"), "~/x": Link("/dead/x")})
    host = scene.host()
    host.account.hung_mounts[f"{scene.root}/dead"] = "the file system /dead did not respond"
    search = Search(host, [HOME, "/other"])
    assert search.read_text(f"{HOME}/x") == ""
    assert search.list_names("/dead") == []
    assert search.skipped() == ["not checked: /dead, ~/x (the file system does not respond)"]
