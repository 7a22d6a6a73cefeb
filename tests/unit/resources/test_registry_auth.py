# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A login for a registry: what is found, asked for, said, and there afterwards."""

from __future__ import annotations

import base64
from typing import Any

from account_scene import Folder, Link, Plain, Scene
from ansible_collections.hpc.onboard.plugins.module_utils._core.files import LARGEST
from resource_tables import Case, FileCases, judge, table

FILE = "~/.apptainer/docker-config.json"
THERE = {"~/.apptainer": Folder(0o700)}
NVCR: dict[str, Any] = {"registry": "nvcr.io", "password": "nvapi-new"}
NO_NVCR: dict[str, Any] = {"registry": "nvcr.io", "state": "absent"}


def auth(login: str) -> bytes:
    """The entry of a login."""
    return b'{"auth": "%s"}' % base64.b64encode(login.encode())


OURS = b'{"auths": {"nvcr.io": %s}}\n' % auth("$oauthtoken:nvapi-new")
OLD = b'{"auths": {"nvcr.io": %s}}\n' % auth("$oauthtoken:nvapi-old")
OTHER = b'{\n\t"auths" : {"ghcr.io": {"auth":"bWU6eA=="}},\n\t"x": 1}'
BOTH = OTHER.replace(b'{"ghcr', b'{"nvcr.io": ' + auth("$oauthtoken:nvapi-new") + b',"ghcr')
OTHER_NAME = OURS.replace(b"nvcr.io", b"docker://nvcr.io")
OTHER_OLD = OLD.replace(b"nvcr.io", b"docker://nvcr.io")
OLD_BESIDE = OURS.replace(b'{"nvcr', b'{"https://nvcr.io": ' + auth("$oauthtoken:nvapi-old") + b', "nvcr')
WITH_HELPER = OURS.replace(b"{", b'{"credsStore": "pass", ', 1)
WITH_OWN_HELPER = OURS.replace(b"{", b'{"credHelpers": {"nvcr.io": "x"}, ', 1)
WITH_OTHERS_HELPER = OURS.replace(b"{", b'{"credHelpers": {"ghcr.io": "x"}, ', 1)
login = FileCases(FILE, THERE, NVCR)


@table(
    Case("the first login is written", {}, NVCR, "missing", left={**THERE, FILE: Plain(OURS, 0o600)}),
    login("a login is left alone", OURS, "ok"),
    login("an old key is replaced", OLD, "different", left=OURS),
    login("a login under another name of the registry is left alone", OTHER_NAME, "ok"),
    login("an old key under another name is replaced there", OTHER_OLD, "different", left=OTHER_NAME),
    login("of two names one is left", OLD_BESIDE, "different", left=OURS),
    login("another user's is replaced", OLD.replace(b"JG9h", b"eG9h"), "different", left=OURS),
    login("an entry is added and every other byte stays", OTHER, "missing", left=BOTH),
    login("a wrong mode is put right", OURS, "different", left=OURS, mode=0o644),
    login("a file that is no JSON is kept", b"{", "blocked", "not valid JSON"),
    login("a helper that answers in its place is said", b'{"credsStore": "pass"}', "blocked", "docker-credential-pass"),
    login("a helper goes before our own login", WITH_HELPER, "blocked", "docker-credential-pass"),
    login("a helper of this registry goes before our own login", WITH_OWN_HELPER, "blocked", "docker-credential-x"),
    login("a helper of another registry is no harm", WITH_OTHERS_HELPER, "ok"),
    login("an entry is taken out and the others stay", BOTH, "extra", left=OTHER, password=None, state="absent"),
    login("what we made is taken out whole", OURS, "extra", left=b"", password=None, state="absent"),
    Case("what is absent stays so", {}, NO_NVCR, "ok"),
    Case(
        "a key is never put behind a link",
        {**THERE, "~/elsewhere": Plain(OURS), FILE: Link("~/elsewhere")},
        NVCR,
        "blocked",
        "is a link",
    ),
)
def test_registry_auth(scene: Scene, case: Case) -> None:
    judge(scene, "registry_auth", case)


def test_a_link_in_the_place_of_apptainers_file_is_said_also_beside_dockers(scene: Scene) -> None:
    scene.make(
        {**THERE, "~/.docker": Folder(), "~/.docker/config.json": Plain(OTHER), FILE: Link("~/.docker/config.json")}
    )
    outcome = scene.run({"kind": "registry_auth", **NVCR})[0]
    assert (outcome["status"], "is a link" in outcome["reason"]) == ("blocked", True), outcome["reason"]


def test_a_file_of_docker_that_cannot_be_read_does_not_fail_apptainers(scene: Scene) -> None:
    scene.make({"~/.docker": Folder(), "~/.docker/config.json": Plain(b" " * (LARGEST + 1))})
    assert scene.life({"kind": "registry_auth", **NVCR})[0]["status"] == "missing"


def test_a_file_with_a_list_of_logins_is_refused(scene: Scene) -> None:
    scene.make({**THERE, FILE: Plain(b'{"auths": ["nvcr.io"]}', 0o600)})
    outcome = scene.life({"kind": "registry_auth", **NVCR})[0]
    assert (outcome["status"], "is not an object" in outcome["reason"]) == ("blocked", True), outcome["reason"]


def test_logins_of_dockers_file_that_are_hidden_are_said(scene: Scene) -> None:
    scene.make({"~/.docker": Folder(), "~/.docker/config.json": Plain(OTHER)})
    for _run in range(2):
        remarks = scene.run({"kind": "registry_auth", **NVCR})[0]["remarks"]
        assert [("ghcr.io" in one, "~/.docker/config.json" in one) for one in remarks] == [(True, True)]
    assert scene.run({"kind": "registry_auth", **NO_NVCR})[0]["remarks"] == []  # Apptainer reads Docker's file again
    scene.at("~/.docker/config.json").write_bytes(OURS)
    assert scene.run({"kind": "registry_auth", **NVCR})[0]["remarks"] == []
