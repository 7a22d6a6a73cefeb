# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The command as a program, without accounts: quick, and without Ansible."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._command.main import describe_command, main
from ansible_collections.hpc.onboard.plugins.plugin_utils._command.subcommands import EVERYDAY, SUBCOMMANDS
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.command_line import PLAYBOOKS

COMMAND = [sys.executable, str(Path(sys.executable).with_name("hpc-onboard"))]
LOADED = """
import sys
from ansible_collections.hpc.onboard.plugins.plugin_utils._command.main import main
sys.argv = ["hpc-onboard", *sys.argv[1:]]
code = None
try:
    code = main()
finally:
    print("ansible" in sys.modules, "yaml" in sys.modules, file=sys.stderr)
"""


def run(folder: Path, *words: str, program: list[str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run the command in a folder that is a home as well."""
    own = {"HOME": str(folder), "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "COLUMNS": "80"}
    return subprocess.run(
        [*(program or COMMAND), *words], cwd=folder, env=own, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        ["--version"],
        ["audit", "--help"],
        ["rekey", "--help"],
        ["ledger", "verify"],
        ["cheatsheet", "lrz"],
        ["nonsense"],
    ],
)
def test_what_stays_here_imports_no_ansible(tmp_path: Path, words: list[str]) -> None:
    said = run(tmp_path, *words, program=[sys.executable, "-c", LOADED]).stderr.splitlines()
    assert said[-1].split()[0] == "False"


def test_help_asks_for_no_yaml_either(tmp_path: Path) -> None:
    assert run(tmp_path, "--help", program=[sys.executable, "-c", LOADED]).stderr == "False False\n"


def test_every_subcommand_is_a_playbook_or_a_module_of_ours() -> None:
    assert {name for name, subcommand in SUBCOMMANDS.items() if not subcommand.module} == set(PLAYBOOKS)


def test_the_short_help_lists_what_is_used_every_day_and_the_long_one_everything() -> None:
    for is_whole, names in ((False, EVERYDAY), (True, SUBCOMMANDS)):
        lines = describe_command(is_whole).splitlines()
        listed = [line.split()[0] for line in lines if line[:4] == "    " and line[4:6].islower()]
        assert [name for name in listed if name in SUBCOMMANDS] == sorted(names, key=listed.index)
        assert len(listed) - len(names) == 2, "and the two forms of the command"
        assert [line for line in lines if len(line) > 80] == []


def test_without_a_word_it_points_to_init_and_with_accounts_it_is_status(tmp_path: Path) -> None:
    done = run(tmp_path)
    assert (done.returncode, len(done.stdout.splitlines())) == (0, 4)
    assert done.stdout.splitlines()[2].endswith("hpc-onboard init")
    (tmp_path / "accounts.yml").write_text("plugin: hpc.onboard.accounts\nsandbox: true\naccounts: {ada@dfki: }\n")
    assert run(tmp_path).stdout == run(tmp_path, "status").stdout


REFUSED = [
    (["audti"], '"audti" is not a subcommand; did you mean "audit"?'),
    (["wilson"], "no accounts file found. Searched: accounts.yml"),
    (["daint"], "no accounts file found"),
]


@pytest.mark.parametrize(("words", "text"), REFUSED)
def test_what_cannot_be_done_is_one_error_and_exit_code_two(tmp_path: Path, words: list[str], text: str) -> None:
    done = run(tmp_path, *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"hpc-onboard: {text}")


def test_the_nearest_word_is_looked_for_among_accounts_and_groups_too(tmp_path: Path) -> None:
    (tmp_path / "accounts.yml").write_text("plugin: hpc.onboard.accounts\naccounts: {ada@dfki: }\n")
    for word, meant in (("ada@dfk", "ada@dfki"), ("enrot", "enroot")):
        done = run(tmp_path, word)
        assert done.returncode == 2
        assert (
            f'is neither a subcommand nor an account or cluster in accounts.yml; did you mean "{meant}"?' in done.stderr
        )


def test_a_ledger_that_was_touched_is_exit_code_two(tmp_path: Path) -> None:
    assert run(tmp_path, "ledger", "verify").returncode == 0
    (tmp_path / ".local/state/hpc.onboard/ledger.jsonl").write_text("{}\n")
    done = run(tmp_path, "ledger", "verify")
    assert done.returncode == 2
    assert done.stderr.startswith("hpc-onboard: ")
    assert "ledger.jsonl" in done.stderr


def test_a_reader_who_has_seen_enough_gets_no_traceback(tmp_path: Path) -> None:
    order = f"{' '.join(COMMAND)} --help | head -1"
    done = subprocess.run(["bash", "-c", order], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stderr == ""


def test_version_says_what_runs(tmp_path: Path) -> None:
    said = run(tmp_path, "--version").stdout
    assert said.startswith("hpc-onboard 0.")
    assert os.fspath(Path(__file__).resolve().parents[3]) in said
    assert str(Path(sys.executable).with_name("ansible-playbook")) in said


@pytest.mark.parametrize(
    ("redirection", "code", "said"),
    [(">&-", 0, ""), (">/dev/full", 2, "hpc-onboard: the output could not be written (No space left on device)\n")],
)
@pytest.mark.parametrize("word", ["--help", "status"])
def test_output_that_cannot_be_written_is_no_traceback(
    tmp_path: Path, word: str, redirection: str, code: int, said: str
) -> None:
    (tmp_path / "accounts.yml").write_text("plugin: hpc.onboard.accounts\nsandbox: true\naccounts: {ada@dfki: }\n")
    program = f"import sys; from {main.__module__} import main; sys.argv[0] = 'hpc-onboard'; sys.exit(main())"
    own = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(sys.path)}
    words = ["sh", "-c", f'exec "$@" {redirection}', "sh", sys.executable, "-c", program, word]
    done = subprocess.run(words, cwd=tmp_path, env=own, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (code, said)


def test_a_run_without_standard_output_works(tmp_path: Path) -> None:
    (tmp_path / "accounts.yml").write_text("plugin: hpc.onboard.accounts\nsandbox: true\naccounts: {ada@dfki: }\n")
    program = f"import sys; from {main.__module__} import main; sys.argv[0] = 'hpc-onboard'; sys.exit(main())"
    own = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(sys.path)}
    words = ["sh", "-c", 'exec "$@" >&-', "sh", sys.executable, "-c", program, "onboard", "--tags", "launchers"]
    done = subprocess.run(words, cwd=tmp_path, env=own, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
