# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the name of a file says: a copy, a script, a text that is read from another."""

from __future__ import annotations

import pytest
from ansible_collections.hpc.onboard.plugins.module_utils._formats import key_files

COPIES = [
    (".credentials", ".credentials.bak"),
    (".credentials", ".credentials~"),
    (".credentials", ".credentials.swp"),
    (".credentials", "#.credentials#"),
    (".netrc", ".netrc_old"),
    (".netrc", ".netrc.2024-01-01"),
    ("config", "config.BAK"),
    ("config", ".config.swo"),
    ("docker-config.json", "docker-config.json.1"),
    ("docker-config.json", ".docker-config.json.swp"),
    (".zshrc", ".zshrc.pre-oh-my-zsh"),
    (".bashrc", ".bashrc.bak2"),
    (".bashrc", ".bashrc-backup_2024.01.02-12:30"),
    (".bashrc", ".bashrc (copy)"),
    (".bashrc", ".bashrc.~1~"),
    (".bashrc", ".bashrc.rej"),
    (".bashrc", ".bashrc.rpmsave"),
    (".netrc", ".netrc.20240101T120000Z"),
]
VARIANTS = [
    ".netrc_wandb",
    ".netrc-jobs",
    ".netrc2",
    ".netrc.restored",
    ".netrc-bak-of-ada",
    ".netrc.new",
    ".netrc-old2go",
]
OTHERS = [
    (".credentials", ".credentials"),
    (".bashrc", ".bashrc.d"),
    ("token", "tokens"),
    ("token", "stored_tokens"),
    ("config", "config"),
    ("config", "configuration"),
    (".profile", ".profiles"),
    *((".netrc", name) for name in VARIANTS),
]


@pytest.mark.parametrize(("of", "name"), COPIES)
def test_a_name_of_a_copy(of: str, name: str) -> None:
    assert key_files.is_copy(name, of)


@pytest.mark.parametrize(("of", "name"), OTHERS)
def test_a_name_of_something_else(of: str, name: str) -> None:
    assert not key_files.is_copy(name, of)


def test_a_name_with_another_ending_is_that_of_a_variant() -> None:
    assert [name for name in VARIANTS if not key_files.is_variant(name, ".netrc")] == []
    assert [name for name in (".netrc", ".netrc.d", ".netrcs", "netrc") if key_files.is_variant(name, ".netrc")] == []


@pytest.mark.parametrize("name", ["job.sh", "JOB.SBATCH", ".env", ".env.local", "prod.env", ".envrc", "a.slurm"])
def test_a_name_of_a_script(name: str) -> None:
    assert key_files.is_script(name)


@pytest.mark.parametrize("name", ["sh", "a.py", "environment.yml", ".environment", "a.sh.md"])
def test_a_name_of_no_script(name: str) -> None:
    assert not key_files.is_script(name)


@pytest.mark.parametrize(
    ("line", "file"),
    [
        ("source ~/.keys", "/h/.keys"),
        (". $HOME/a/b", "/h/a/b"),
        ('  . "${HOME}/a"', "/h/a"),
        ("if [ -r /etc/x ]; then . /etc/x; fi", "/etc/x"),
        ("[ -r '/etc/x' ] && source '/etc/x'", "/etc/x"),
    ],
)
def test_a_file_that_a_start_up_file_reads(line: str, file: str) -> None:
    assert key_files.find_sourced_files(f"ls\n{line}\nls\n", "/h") == [file]


@pytest.mark.parametrize("line", [". x", "source $(x)", "source $X/y", "# a. /x", "cp . /x", "for f in ~/d/*; do . $f"])
def test_a_file_that_cannot_be_told(line: str) -> None:
    assert key_files.find_sourced_files(line, "/h") == []
