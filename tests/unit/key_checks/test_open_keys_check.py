# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of keys that no role keeps: who can read them, and who could swap them."""

from __future__ import annotations

import os
import struct
import subprocess
import time

import pytest
from account_scene import HOME, Folder, Link, Plain, Scene
from ansible_collections.hpc.onboard.plugins.module_utils._key_checks.open_keys import OpenKeys
from audit_check_runs import run_check

LOGIN = Plain(b"machine x login me password geheim\n", 0o644)
ACL = struct.pack("<I", 2) + b"".join(
    struct.pack("<HHI", *entry)
    for entry in ((1, 6, 2**32 - 1), (2, 4, 4242), (4, 0, 2**32 - 1), (16, 4, 2**32 - 1), (32, 0, 2**32 - 1))
)


@pytest.fixture
def scene(scene: Scene, tmp_path: object) -> Scene:
    """Everybody can pass through the folders above the account."""
    place = scene.root
    while place != place.parent and place.stat().st_uid == os.getuid() and str(place) not in ("/", "/tmp"):
        place.chmod(place.stat().st_mode | 0o055)
        place = place.parent
    return scene


def found(scene: Scene, **options: object) -> dict[str, str]:
    """Return what the check finds."""
    return run_check(scene, OpenKeys, **options).found


def test_a_file_that_everybody_can_read_is_found(scene: Scene) -> None:
    scene.make({"~/.netrc": LOGIN, "~/.git-credentials": Plain(b"https://me:geheim@x\n", 0o640)})
    assert found(scene) == {
        "SEC-001 ~/.netrc": "every user of this cluster can read the file (mode 0644)",
        "SEC-001 ~/.git-credentials": "the group can read the file (mode 0640)",
    }


def test_a_private_file_and_a_closed_home_are_no_finding(scene: Scene) -> None:
    scene.make({"~/.netrc": Plain(LOGIN.content, 0o600)})
    assert found(scene) == {}
    scene.make({HOME: Folder(0o700), "~/.git-credentials": LOGIN})
    assert found(scene) == {}


def test_a_file_that_others_may_change_is_found_in_a_closed_home(scene: Scene) -> None:
    scene.make({HOME: Folder(0o700), "~/.netrc": Plain(LOGIN.content, 0o666)})
    text = "other users can read or change the file if they can access its folder (mode 0666)"
    assert found(scene) == {"SEC-001 ~/.netrc": text}


def test_a_file_that_a_role_keeps_is_its_own_to_judge(scene: Scene) -> None:
    scene.make({"~/.netrc": LOGIN})
    assert found(scene, own=["~/.netrc"]) == {}


def test_settings_without_a_key_are_none(scene: Scene) -> None:
    scene.make({"~/.docker": Folder(), "~/.docker/config.json": Plain(b'{"auths": {}, "credsStore": "pass"}')})
    assert found(scene) == {}
    scene.make({"~/.docker/config.json": Plain(b'{"auths": {"x": {"auth": "bWU6Z2VoZWlt"}}}')})
    assert list(found(scene)) == ["SEC-001 ~/.docker/config.json"]


STORES = {  # file -> with a key, and without one
    "~/.config/rclone/rclone.conf": ("[s3]\nsecret_access_key = geheimgeheim\n", "[s3]\ntype = s3\nenv_auth = true\n"),
    "~/.npmrc": ("//x/:_authToken=geheimgeheim\n", "//x/:_authToken=${NPM_TOKEN}\n"),
    "~/.kube/config": ("users:\n- user: {token: geheimgeheim}\n", "users:\n- user: {client-key: /etc/k.pem}\n"),
    "~/.jupyter/jupyter_server_config.py": (
        "c.IdentityProvider.token = 'geheimgeheim'\n",
        "# c.IdentityProvider.token = 'geheimgeheim'\nc.IdentityProvider.token = os.environ['T']\nc.S.password = ''\n",
    ),
    "~/.my.cnf": ("[client]\npassword=geheimgeheim\n", "[client]\nssl-key=/etc/k.pem\n#password=geheimgeheim\n"),
}


@pytest.mark.parametrize("path", STORES)
def test_a_file_in_which_a_program_keeps_keys_is_found_while_it_has_one(scene: Scene, path: str) -> None:
    for text, expected in zip(STORES[path], ([f"SEC-001 {path}"], []), strict=True):
        scene.at(path).parent.mkdir(parents=True, exist_ok=True)
        scene.make({path: Plain(text.encode(), 0o644)})
        assert list(found(scene)) == expected


def test_a_private_key_of_ssh_that_others_can_read_is_found(scene: Scene) -> None:
    scene.make({"~/.ssh": Folder(), "~/.ssh/odd": Plain(b"-----BEGIN OPENSSH PRIVATE KEY-----\nx\n", 0o644)})
    scene.make({"~/.ssh/id.pub": Plain(b"ssh-ed25519 x"), "~/.ssh/config": Plain(b"Host x\n")})
    assert list(found(scene)) == ["SEC-001 ~/.ssh/odd"]


def test_a_private_key_that_ssh_does_not_use_is_found(scene: Scene) -> None:
    scene.make({"~/.ssh": Folder(0o700), "~/.ssh/id": Plain(b"-----BEGIN OPENSSH PRIVATE KEY-----\n", 0o644)})
    assert run_check(scene, OpenKeys).found == {
        "SEC-001 ~/.ssh/id": "ssh does not use a private key that other users may access (mode 0644)"
    }


def test_a_folder_in_which_others_write_is_found(scene: Scene) -> None:
    scene.make({"~/.ngc": Folder(0o777), "~/.ngc/config": Plain(b"apikey = x\n", 0o600)})
    assert found(scene) == {
        "SEC-002 ~/.ngc": "other users can write to ~/.ngc and replace its files. Run: chmod go-w ~/.ngc"
    }


def test_an_access_list_is_found(scene: Scene) -> None:
    scene.make({"~/.netrc": Plain(LOGIN.content, 0o600), "~/.ngc": Folder(), "~/.ngc/config": Plain(b"x = y", 0o600)})
    os.setxattr(scene.at("~/.netrc"), "system.posix_acl_access", ACL)
    os.setxattr(scene.at("~/.ngc"), "system.posix_acl_default", ACL)
    assert found(scene) == {
        "SEC-003 ~/.netrc": "an access list gives other users access",
        "SEC-003 ~/.ngc": "the default access list gives other users access to every new file in this folder",
    }
    subprocess.run(["chmod", "600", scene.at("~/.netrc")], check=True)  # the mask goes, and with it what it grants
    assert list(found(scene)) == ["SEC-003 ~/.ngc"]


def test_a_file_behind_a_link_is_judged_where_it_lies_if_it_is_the_accounts(scene: Scene) -> None:
    scene.make({"/area": Folder(0o777), "/area/netrc": LOGIN, "~/.netrc": Link("/area/netrc")})
    assert found(scene) == {}
    assert list(found(scene, areas=["/area"])) == ["SEC-001 ~/.netrc", "SEC-002 /area"]


def test_odd_things_in_the_place_of_files_do_no_harm(scene: Scene) -> None:
    os.mkfifo(scene.at("~/.netrc"))
    scene.make({"~/.ssh": Folder(), "~/.ngc": Link("~/.ngc"), "~/.git-credentials": Folder(), "~/.docker": Plain(b"x")})
    os.mkfifo(scene.at("~/.ssh/id_rsa"))
    assert found(scene) == {}


def test_what_our_roles_have_just_set_up_is_no_finding(scene: Scene) -> None:
    scene.run(
        {"kind": "enroot_credential", "machine": "nvcr.io", "password": "nvapi-x"},
        {"kind": "registry_auth", "registry": "nvcr.io", "password": "nvapi-x"},
        {"kind": "netrc_entry", "machine": "api.wandb.ai", "password": "x"},
        {"kind": "ngc_config", "password": "nvapi-x"},
        {"kind": "token_file", "password": "hf_x"},
    )
    assert found(scene) == {}


def test_an_area_that_cannot_be_looked_at_hides_nothing_else(scene: Scene) -> None:
    scene.make({"~/.netrc": LOGIN})
    unusable = "/" + "x" * 300  # its error is that of a folder that may not be entered
    assert list(found(scene, areas=[unusable])) == ["SEC-001 ~/.netrc"]


def test_a_long_word_in_settings_takes_no_time(scene: Scene) -> None:
    scene.make({"~/.npmrc": Plain(b"x=" + b"a" * 30000 + b"\n")})
    started = time.monotonic()
    assert run_check(scene, OpenKeys, again=False).found == {}
    assert time.monotonic() - started < 10
