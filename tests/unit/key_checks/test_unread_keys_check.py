# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of keys that nobody reads: another place of enroot's file, Docker's behind Apptainer's, a home without jobs."""

from __future__ import annotations

import base64
import json

import pytest
from account_scene import Folder, Link, Plain, Scene
from ansible_collections.hpc.onboard.plugins.module_utils._key_checks.unread_keys import UnreadKeys
from audit_check_runs import run_check

LINE = Plain(b"machine nvcr.io login $oauthtoken password geheim\n", 0o600)
ENROOT = {"~/enroot": Folder(0o700), "~/.config": Folder(), "~/.config/enroot": Folder(0o700)}
APPTAINER = "~/.apptainer/docker-config.json"


def found(scene: Scene, **options: object) -> dict[str, str]:
    """Return what the check finds."""
    report = run_check(scene, UnreadKeys, **options)
    assert "geheim" not in str(report.document)
    return report.found


def login(password: str, **more: str) -> Plain:
    """A file of logins with one for a registry; more: passwords for other ways to write its name."""
    auths = {"nvcr.io": password, **{f"{scheme}://nvcr.io": one for scheme, one in more.items()}}
    entries = {name: {"auth": base64.b64encode(f"$oauthtoken:{one}".encode()).decode()} for name, one in auths.items()}
    return Plain(json.dumps({"auths": entries}).encode(), 0o600)


def test_a_second_file_that_enroot_does_not_read_here_is_found(scene: Scene) -> None:
    scene.make({**ENROOT, "~/enroot/.credentials": LINE, "~/.config/enroot/.credentials": LINE})
    assert found(scene, enroots=["~/enroot/.credentials"]) == {
        "KEY-009 ~/.config/enroot/.credentials": "at this site, enroot reads ~/enroot/.credentials, not this file"
    }
    assert found(scene) == {}, "where nobody knows what is read, nothing is said"


def test_a_link_to_the_file_and_a_file_without_a_key_are_none(scene: Scene) -> None:
    scene.make(
        {**ENROOT, "~/enroot/.credentials": LINE, "~/.config/enroot/.credentials": Link("~/enroot/.credentials")}
    )
    scene.make({"~/.enroot": Folder(), "~/.enroot/.credentials": Plain(b"# empty\n")})
    assert found(scene, enroots=["~/enroot/.credentials"]) == {}


@pytest.mark.parametrize(("theirs", "places"), [("old", ["KEY-009 ~/.docker/config.json"]), ("new", [])])
def test_dockers_file_with_another_key_is_found(scene: Scene, theirs: str, places: list[str]) -> None:
    scene.make({"~/.apptainer": Folder(0o700), "~/.docker": Folder(0o700), APPTAINER: login("new")})
    scene.make({"~/.docker/config.json": login(theirs)})
    assert list(found(scene, apptainers=[APPTAINER])) == places


def test_an_older_key_under_another_name_of_the_registry_is_found(scene: Scene) -> None:
    scene.make({"~/.apptainer": Folder(0o700), "~/.docker": Folder(0o700), APPTAINER: login("new", docker="old")})
    (text,) = found(scene, apptainers=[APPTAINER]).values()
    assert text.startswith("the entry docker://nvcr.io contains key ")
    assert text.endswith(", but the entry nvcr.io contains a different key")
    scene.make({APPTAINER: login("new", docker="new"), "~/.docker/config.json": login("new", https="old")})
    assert list(found(scene, apptainers=[APPTAINER])) == ["KEY-009 ~/.docker/config.json"]


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b'{"auths": {"nvcr.io": 7}}'])
def test_a_damaged_file_of_dockers_does_no_harm(scene: Scene, content: bytes) -> None:
    scene.make({"~/.apptainer": Folder(0o700), "~/.docker": Folder(0o700), APPTAINER: login("new")})
    scene.make({"~/.docker/config.json": Plain(content)})
    assert found(scene, apptainers=[APPTAINER]) == {}


def test_a_file_in_a_home_that_jobs_cannot_read_is_found(scene: Scene) -> None:
    scene.make({"~/.netrc": LINE, "/work": Folder(), "/work/token": LINE, "~/token": Link("/work/token")})
    jobs = ["~/.netrc", "/work/token", "~/token", "~/none"]
    assert found(scene, of_jobs=jobs, home_in_jobs="ticket") == {
        "KEY-010 ~/.netrc": "jobs have no Kerberos ticket at this site, so they cannot read the home directory"
    }
    assert list(found(scene, of_jobs=jobs, home_in_jobs="absent")) == ["KEY-010 ~/.netrc"]
    assert found(scene, of_jobs=jobs, home_in_jobs="rw") == found(scene, of_jobs=jobs) == {}


def test_two_entries_of_netrc_for_one_login_are_found_and_two_logins_are_not(scene: Scene) -> None:
    lines = ["machine a login x password 1", "machine a login y password 2", "machine b login x password 3"]
    lines += ["machine a login x password 4", "machine b login x password 3", "machine c login x password 5"]
    scene.make({"~/.netrc": Plain("\n".join([*lines, lines[-1][:-1] + "6", ""]).encode(), 0o600)})
    text = "an earlier entry for a has the same login, but a different key: delete one of the two entries"
    assert found(scene, machines=["c"]) == {"KEY-003 ~/.netrc:4": text}


def test_a_file_that_cannot_be_looked_at_hides_nothing_else(scene: Scene) -> None:
    scene.make({"~/.netrc": Plain(b"machine a login b password c\n", 0o600)})
    unusable = "/" + "x" * 300  # its error is that of a folder that may not be entered
    options = {"enroots": [unusable], "of_jobs": [unusable, "~/.netrc"], "home_in_jobs": "absent"}
    assert list(run_check(scene, UnreadKeys, **options).found) == ["KEY-010 ~/.netrc"]


def test_a_path_with_an_unset_variable_hides_no_other_file(scene: Scene) -> None:
    scene.make({**ENROOT, "~/enroot/.credentials": LINE, "~/.config/enroot/.credentials": LINE})
    report = run_check(scene, UnreadKeys, enroots=["~/enroot/.credentials"], apptainers=["$GONE/a.json"])
    assert list(report.found) == ["KEY-009 ~/.config/enroot/.credentials"]
    assert [remark.partition(" (")[0] for remark in report.remarks] == ["not checked: $GONE/a.json"]
