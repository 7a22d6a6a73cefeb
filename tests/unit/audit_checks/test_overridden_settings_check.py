# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Variables of ours that a start-up file or the login shell has otherwise."""

from __future__ import annotations

import pytest
from account_scene import HOME, Folder, Plain, Scene
from ansible_collections.hpc.onboard.plugins.module_utils._audit_checks.overridden_settings import OverriddenSettings
from audit_check_runs import run_check

OURS = {"CACHE": "/work/cache", "OTHER": "1"}
ENTRY = {"kind": "shell_environment", "section": "own", "variables": OURS, "path": []}
TEXT = "CACHE has another value than hpc-onboard sets"


def found(scene: Scene, **environment: str) -> dict[str, str]:
    """Return what the check finds where the login shell has this environment."""
    scene.environment = environment
    report = run_check(scene, OverriddenSettings)
    assert report.remarks == []
    return report.found


def add(scene: Scene, path: str, line: str) -> None:
    """Put a line below what is in a file."""
    file = scene.root / f"{HOME}/{path}".lstrip("/")
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a") as stream:
        stream.write(f"{line}\n")


def test_what_was_just_set_up_is_no_finding(scene: Scene) -> None:
    scene.run(ENTRY)
    assert found(scene) == found(scene, **OURS) == found(scene, PATH="/bin", MINE="x") == {}


def test_an_account_without_our_file_has_nothing_to_be_set_anew(scene: Scene) -> None:
    scene.make({"~/.bashrc": Plain(b"export CACHE=/tmp\n")})
    assert found(scene, CACHE="/tmp") == {}


@pytest.mark.parametrize(
    ("shell", "file", "line"),
    [
        ("/bin/bash", ".bashrc", "export CACHE=/tmp"),
        ("/bin/bash", ".profile", "CACHE=/tmp"),
        ("/bin/zsh", ".zshrc", "export CACHE=/tmp"),
        ("/bin/zsh", ".zshenv", "export CACHE=/tmp"),
        ("/bin/tcsh", ".login", "setenv CACHE /tmp"),
        ("/usr/bin/fish", ".config/fish/config.fish", "set -gx CACHE /tmp"),
    ],
)
def test_the_line_of_a_start_up_file_is_told(scene: Scene, shell: str, file: str, line: str) -> None:
    scene.shell = shell
    scene.run(ENTRY)
    add(scene, file, line)
    ((place, text),) = found(scene).items()
    assert place.startswith(f"ENV-007 ~/{file}:")
    assert text == TEXT


def test_a_file_that_this_shell_does_not_read_says_nothing(scene: Scene) -> None:
    scene.run(ENTRY)
    scene.make({"~/.zshrc": Plain(b"export CACHE=/tmp\n")})
    assert found(scene) == {}


def test_a_value_that_is_not_written_out_counts_by_what_the_login_shell_has(scene: Scene) -> None:
    scene.run(ENTRY)
    add(scene, ".bashrc", "export CACHE=/work/$(id -un)")
    assert found(scene) == found(scene, CACHE="/work/cache") == {}
    assert list(found(scene, CACHE="/work/root")) == ["ENV-007 ~/.bashrc:2"]


@pytest.mark.parametrize("line", ["export CACHE=/scratch/mine", "export CACHE=$SCRATCH/mine"])
def test_a_folder_that_the_line_leads_to_is_named_because_nothing_else_finds_it_then(scene: Scene, line: str) -> None:
    scene.run(ENTRY)
    add(scene, ".bashrc", line)
    environment = {"CACHE": "/scratch/mine", "SCRATCH": "/scratch"}
    assert found(scene, **environment) == {"ENV-007 ~/.bashrc:2": TEXT}
    scene.make({"/scratch": Folder(), "/scratch/mine": Folder()})
    assert found(scene, **environment) == {"ENV-007 ~/.bashrc:2": TEXT}, "an empty folder"
    scene.make({"/scratch/mine/layer": Plain(b"x")})
    said = f"{TEXT}; /scratch/mine stays, and without this line no program uses it"
    assert found(scene, **environment) == {"ENV-007 ~/.bashrc:2": said}


def test_what_no_line_explains_is_told_by_its_name(scene: Scene) -> None:
    scene.run(ENTRY)
    assert found(scene, CACHE="/opt/site") == {"ENV-007 $CACHE": TEXT}


def test_no_value_is_told_for_it_may_be_a_secret(scene: Scene) -> None:
    scene.run(ENTRY)
    add(scene, ".bashrc", "export OTHER=geheim")
    scene.environment = {"OTHER": "geheim"}
    report = run_check(scene, OverriddenSettings)
    assert list(report.found) == ["ENV-007 ~/.bashrc:2"]
    assert "geheim" not in str(report.document)
    assert report.document["evidence"]["fixes"], "the line can be taken out"


def test_a_folder_in_the_place_of_a_start_up_file_is_no_reason_to_fail(scene: Scene) -> None:
    scene.shell = "/bin/zsh"
    scene.run(ENTRY)
    scene.make({"~/.zshrc": Folder()})
    assert found(scene) == {}
