# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which conda is where it should not be, and what 'conda init' and nobody's choice of channels look like."""

from __future__ import annotations

import os
from typing import Any

import pytest
from account_scene import HOME, Folder, Link, Plain, Scene, Thing
from ansible_collections.hpc.onboard.plugins.module_utils._audit_checks.conda_traces import CondaTraces
from ansible_collections.hpc.onboard.plugins.module_utils._formats import condarc, startup
from audit_check_runs import complete_options, examine_check, run_check
from hypothesis import given
from hypothesis import strategies as st

SCRATCH = {"name": "scratch", "path": "/scratch/simone", "days": 30}
AREA: dict[str, Thing] = {"/scratch": Folder(), "/scratch/simone": Folder()}
BLOCK = b"# >>> conda initialize >>>\neval x\n# <<< conda initialize <<<\n"


def prefix(path: str, base: bool = True, settings: bytes = b"channels: [conda-forge]\n") -> dict[str, Thing]:
    """A prefix as conda leaves it; its settings choose channels unless they are empty."""
    tree: dict[str, Thing] = {
        path: Folder(),
        f"{path}/conda-meta": Folder(),
        f"{path}/conda-meta/history": Plain(b"==> 2026-01-01 <==\n"),
    }
    if base:
        tree |= {f"{path}/condabin": Folder(), f"{path}/condabin/conda": Plain(b"#!/x\n", 0o755)}
    if settings:
        tree[f"{path}/.condarc"] = Plain(settings)
    return tree


@pytest.mark.parametrize(
    ("claim", "tree", "options", "found"),
    [
        ("nothing is there", {}, {"policy": "refused"}, {}),
        (
            "the site refuses it",
            prefix("~/miniconda3"),
            {"policy": "refused"},
            {"PKG-001 ~/miniconda3": "does not allow conda"},
        ),
        ("advises against it", prefix("~/forge"), {"policy": "discouraged"}, {"PKG-001 ~/forge": "discourages"}),
        ("wants it elsewhere", prefix("~/mambaforge"), {"belongs": "/work1/p"}, {"PKG-001 ~/mambaforge": "/work1/p"}),
        (
            "in a folder of the home",
            {"~/software": Folder(), **prefix("~/software/miniconda3")},
            {"policy": "refused"},
            {"PKG-001 ~/software/miniconda3": "does not allow conda"},
        ),
        ("it may lie in the home", prefix("~/miniforge3"), {}, {}),
        (
            "on purged storage, whatever the site says",
            {**AREA, **prefix("/scratch/simone/conda")},
            {"purged": [SCRATCH]},
            {"PKG-001 /scratch/simone/conda": "after 30 days"},
        ),
        (
            "an environment in the folder that conda takes by itself",
            {"~/.conda": Folder(), "~/.conda/envs": Folder(), **prefix("~/.conda/envs/a", base=False)},
            {"policy": "refused"},
            {"PKG-001 ~/.conda/envs/a": "does not allow conda"},
        ),
        (
            "an environment that conda remembers, once",
            {
                "~/x": Folder(),
                **prefix("~/x/env", base=False),
                "~/.conda": Folder(),
                "~/.conda/environments.txt": Plain(b"/home/simone/x/env\n/home/simone/x/../x/env\n/home/gone\n\n"),
            },
            {"policy": "refused"},
            {"PKG-001 ~/x/env": "does not allow conda"},
        ),
        (
            "an environment in a folder that the settings name",
            {
                "~/.condarc": Plain(b"channels: [conda-forge]\nenvs_dirs:\n  - ~/deep/envs\n  - $NO/x\n"),
                "~/deep": Folder(),
                "~/deep/envs": Folder(),
                **prefix("~/deep/envs/b", base=False),
            },
            {"belongs": "/work"},
            {"PKG-001 ~/deep/envs/b": "/work"},
        ),
        (
            "an environment inside another prefix is part of it",
            {
                **prefix("~/mini"),
                "~/mini/envs": Folder(),
                **prefix("~/mini/envs/a", base=False),
                "~/.conda": Folder(),
                "~/.conda/environments.txt": Plain(b"/home/simone/mini/envs/a\n"),
            },
            {"policy": "refused"},
            {"PKG-001 ~/mini": "does not allow conda"},
        ),
        (
            "a link out of the home is no conda in the home",
            {"/data": Folder(), **prefix("/data/conda"), "~/conda": Link("/data/conda")},
            {"policy": "refused"},
            {},
        ),
        (
            "a folder without a history is none",
            {"~/miniconda3": Folder(), "~/miniconda3/conda-meta": Folder()},
            {"policy": "refused"},
            {},
        ),
        (
            "a prefix without a history, deeper in the home",
            {
                "~/a": Folder(),
                "~/a/b": Folder(),
                "~/a/b/miniforge3": Folder(),
                "~/a/b/miniforge3/conda-meta": Folder(),
                "~/a/b/miniforge3/bin": Folder(),
                "~/a/b/miniforge3/bin/conda": Plain(b"#!/x\n", 0o755),
                "~/.condarc": Plain(b"channels: [conda-forge]\n"),
            },
            {"policy": "refused"},
            {"PKG-001 ~/a/b/miniforge3": "does not allow conda"},
        ),
        (
            "a folder of purged storage",
            {**AREA, "/scratch/simone/sw": Folder(), **prefix("/scratch/simone/sw/conda")},
            {"purged": [SCRATCH]},
            {"PKG-001 /scratch/simone/sw/conda": "after 30 days"},
        ),
        (
            "a block in a file that a start-up file reads",
            {"~/.bashrc": Plain(b". ~/.bash_conda\n"), "~/.bash_conda": Plain(BLOCK)},
            {},
            {"PKG-002 ~/.bash_conda:1": "'conda init --reverse'"},
        ),
        (
            "defaults in a variable, and in the settings of an installation",
            {**prefix("~/mini", settings=b"channels: [defaults]\n"), "~/.x": Plain(b"")},
            {},
            {"PKG-003 ~/mini/.condarc:1": "'defaults'"},
        ),
        (
            "defaults in a variable",
            {"~/.bashrc": Plain(b"export CONDA_CHANNELS=conda-forge,defaults\n")},
            {},
            {"PKG-003 ~/.bashrc:1": "'defaults'"},
        ),
        ("other channels in a variable", {"~/.bashrc": Plain(b"export CONDA_CHANNELS=conda-forge\n")}, {}, {}),
        (
            "defaults in a folder of settings",
            {
                "~/.conda": Folder(),
                "~/.conda/condarc.d": Folder(),
                "~/.conda/condarc.d/a.yml": Plain(b"channels: [r]\n"),
            },
            {},
            {"PKG-003 ~/.conda/condarc.d/a.yml:1": "'r'"},
        ),
        (
            "what the roles set up is wanted",
            prefix("~/conda"),
            {"policy": "discouraged", "own": [{"path": "~/conda"}]},
            {},
        ),
        (
            "a block of 'conda init', with its line",
            {"~/.bashrc": Plain(b"export A=1\n" + BLOCK)},
            {},
            {"PKG-002 ~/.bashrc:2": "'conda init --reverse'"},
        ),
        (
            "a block in a file that fish reads",
            {
                **{f"~/{name}": Folder() for name in (".config", ".config/fish", ".config/fish/conf.d")},
                "~/.config/fish/conf.d/conda.fish": Plain(BLOCK),
            },
            {},
            {"PKG-002 ~/.config/fish/conf.d/conda.fish:1": "'conda init --reverse'"},
        ),
        (
            "a block of mamba in fish, with CR",
            {
                "~/.config": Folder(),
                "~/.config/fish": Folder(),
                "~/.config/fish/config.fish": Plain(b"# >>> mamba initialize >>>\r\n"),
            },
            {},
            {"PKG-002 ~/.config/fish/config.fish:1": "'mamba shell deinit'"},
        ),
        ("a block that is commented out", {"~/.bashrc": Plain(b"# # >>> conda initialize >>>\n")}, {}, {}),
        (
            "a start-up file behind a link",
            {"~/dots": Folder(), "~/dots/zshrc": Plain(BLOCK), "~/.zshrc": Link("dots/zshrc")},
            {},
            {"PKG-002 ~/.zshrc:1": "activates conda in every new shell"},
        ),
        (
            "defaults in the settings",
            {"~/.condarc": Plain(b"channels:\n- conda-forge\n- defaults\n")},
            {},
            {"PKG-003 ~/.condarc:3": "'defaults'"},
        ),
        (
            "an address of Anaconda's",
            {"~/.condarc": Plain(b'channels: ["https://repo.anaconda.com/pkgs/main"]\n')},
            {},
            {"PKG-003 ~/.condarc:1": "repo.anaconda.com"},
        ),
        ("the account's own wish", {"~/.condarc": Plain(b"channels: [defaults]\n")}, {"anacondas": "chosen"}, {}),
        (
            "defaults that mean something else",
            {"~/.condarc": Plain(b"channels: [defaults]\ndefault_channels: [https://mirror.site/conda]\n")},
            {},
            {},
        ),
        (
            "no channels at all",
            prefix("~/mini", settings=b""),
            {},
            {"PKG-003 ~/mini": "this conda sets no channels"},
        ),
        (
            "ours that is not told",
            prefix("~/conda", settings=b""),
            {"own": [{"path": "~/conda"}]},
            {"PKG-003 ~/conda": "this conda sets no channels"},
        ),
        (
            "ours as it is set up",
            {
                **prefix("~/conda", settings=b""),
                "~/conda/condarc.d": Folder(),
                "~/conda/condarc.d/hpc.onboard.yml": Plain(condarc.render("/x", ["conda-forge"], "26.1.1-3").encode()),
            },
            {"own": [{"path": "~/conda"}]},
            {},
        ),
        (
            "the user's settings choose for all",
            {**prefix("~/mini", settings=b""), "~/.condarc": Plain(b"channels: [a]\n")},
            {},
            {},
        ),
    ],
)
def test_what_is_found(
    scene: Scene, claim: str, tree: dict[str, Thing], options: dict[str, Any], found: dict[str, str]
) -> None:
    scene.make(tree)
    report = run_check(scene, CondaTraces, **options)
    assert list(report.found) == sorted(found), claim
    assert [name for name, words in found.items() if words not in report.found[name]] == [], report.found
    assert report.remarks == []


def test_a_prefix_for_this_machine_is_ours(scene: Scene) -> None:
    scene.make(prefix(f"~/conda-{os.uname().machine}"))
    assert run_check(scene, CondaTraces, policy="discouraged", own=[{"path": "~/conda-{machine}"}]).found == {}


def test_a_site_variable_that_nobody_knows_costs_its_own_area_only(scene: Scene) -> None:
    scene.make(prefix("~/mini"))
    report = run_check(scene, CondaTraces, policy="refused", purged=[{**SCRATCH, "path": "$SCRATCH"}])
    assert list(report.found) == ["PKG-001 ~/mini"]
    assert "does not set $SCRATCH" in report.remarks[0]


def test_a_file_that_cannot_be_read_is_said(scene: Scene) -> None:
    scene.make({"~/.condarc": Plain(b"#" * (4 * 1024 * 1024 + 1)), "~/.bashrc": Plain(BLOCK)})
    report = run_check(scene, CondaTraces)
    assert list(report.found) == ["PKG-002 ~/.bashrc:1"]
    assert report.remarks == ["~/.condarc is larger than 4 MiB, so it cannot be the expected file"]


def test_a_pipe_in_place_of_a_file_does_not_hold_it_up(scene: Scene) -> None:
    os.mkfifo(scene.at("~/.condarc"))
    os.mkfifo(scene.at("~/.bashrc"))
    assert examine_check(scene, CondaTraces, seconds=10)["status"] == "ok"


def test_names_that_no_terminal_should_see_are_shown_tame(scene: Scene) -> None:
    scene.make(prefix("~/a\x1b[2J\u202eb", settings=b"channels: [x]\n"))
    assert list(run_check(scene, CondaTraces, policy="refused").found) == ["PKG-001 ~/a?[2J?b"]


def test_a_home_with_more_names_than_are_looked_into_is_said(scene: Scene) -> None:
    for number in range(501):
        scene.at(f"~/f{number:03}").mkdir()
    assert "501 entries" in run_check(scene, CondaTraces).remarks[0]


@given(st.text(st.characters(max_codepoint=255)))
def test_any_text_can_be_read(text: str) -> None:
    items = condarc.read_list(text, "channels") or []
    assert all(1 <= item.line <= text.count("\n") + 1 for item in items)
    assert all(block.line <= text.count("\n") + 1 for block in startup.find_init_blocks(text))


def test_an_environment_or_an_area_that_cannot_be_looked_at_hides_nothing_else(scene: Scene) -> None:
    long = "x" * 300  # its error is that of a folder that may not be entered
    listed = Plain(f"/home/simone/{long}\n".encode())
    scene.make({**prefix("~/forge"), "~/.conda": Folder(), "~/.conda/environments.txt": listed})
    area = {"name": "scratch", "path": f"/{long}", "days": 3}
    report = run_check(scene, CondaTraces, policy="refused", purged=[area], own=[{"path": f"/{long}/conda"}])
    assert list(report.found) == ["PKG-001 ~/forge"]
    assert "ENAMETOOLONG" in report.remarks[0]


def test_a_folder_that_does_not_respond_hides_no_other_conda(scene: Scene) -> None:
    scene.make({**prefix("~/mini"), "~/dead": Folder()})
    host = scene.host()
    host.account.hung_mounts[f"{scene.root}{HOME}/dead"] = "the file system ~/dead does not respond"
    check = CondaTraces(complete_options(CondaTraces, {"policy": "refused"})).with_expanded_paths(host)
    assert list(check.inspect(host)) == ["PKG-001 ~/mini"]
    assert "the file system ~/dead does not respond" in check.remarks(host)
