# SPDX-License-Identifier: GPL-3.0-or-later
"""Texts of a person's own: which files are read, and which never go to an account."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.plugin_utils._roles.collect import collect_resources
from ansible_collections.hpc.onboard.plugins.plugin_utils._roles.own_texts import read_own_text, refuse_keys
from hypothesis import given
from hypothesis import strategies as st

NGC = "nvapi-" + hashlib.sha256(b"own").hexdigest()
PEM = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEA\n-----END OPENSSH PRIVATE KEY-----\n"
KEYS = [
    (f"key={NGC}\n", "an NGC personal or service key on line 1"),
    (f"# mine\nexport HF_TOKEN=hf_{NGC[-34:]}\n", "a Hugging Face token on line 2"),
    (f"\n\n{PEM}", "a private key on line 3"),
    (PEM.replace("OPENSSH ", ""), "a private key on line 1"),
    (f"\ufeff{PEM}", "a private key on line 1"),
    (PEM.replace("OPENSSH", "EC") + NGC, "a private key on line 1"),
]


def declared(**variables: Any) -> list[dict[str, Any]]:
    names = {name.partition("s_")[0] + "s" for name in variables}
    return [
        one["options"]
        for one in collect_resources(names, [], [], variables.get).resources
        if "content" in one["options"]
    ]


def own(folder: Path, *files: dict[str, str]) -> list[dict[str, Any]]:
    return declared(own_files_files=list(files), own_files_files_from=str(folder))


@pytest.mark.parametrize(("text", "words"), KEYS)
def test_a_text_that_holds_a_key_is_refused_and_not_shown(text: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "one").write_text(text)
    script = {"name": "x", "content": f"#!/bin/sh\n{text}"}
    for refused in (
        lambda: own(tmp_path, {"file": "one", "path": "~/one"}),
        lambda: declared(
            path_scripts_scripts=[{"name": "x", "file": "files/one"}], path_scripts_files_from=str(tmp_path)
        ),
        lambda: declared(path_scripts_scripts=[script]),
        lambda: collect_resources([], [], [{"kind": "own_file", "path": "~/one", "content": text}], {}.get),
    ):
        with pytest.raises(AccountError) as caught:
            refused()
        assert words.split(" on line")[0] in str(caught.value)
        assert NGC not in str(caught.value)
        assert "b3Bl" not in str(caught.value)
    with pytest.raises(AccountError, match=words):
        refuse_keys("it", text)


@given(st.text(st.characters(codec="ascii"), max_size=200))
def test_an_ordinary_text_is_not_refused_and_a_key_in_it_is(text: str) -> None:
    refuse_keys("it", text)
    with pytest.raises(AccountError):
        refuse_keys("it", f"{text}\n{NGC}\n{text}")


def test_files_go_as_they_are_to_their_paths_with_their_modes(tmp_path: Path) -> None:
    (tmp_path / "files" / "bin").mkdir(parents=True)
    (tmp_path / "files" / "condarc").write_bytes(b"\xc3\xa4: 1\r\n")
    (tmp_path / "files" / "bin" / "x").write_text("")
    found = own(
        tmp_path, {"file": "condarc", "path": "~/.condarc"}, {"file": "bin/x", "path": "$SCRATCH/x", "mode": "0755"}
    )
    assert found == [
        {"path": "~/.condarc", "content": "ä: 1\r\n", "mode": "0644", "state": "present"},
        {"path": "$SCRATCH/x", "content": "", "mode": "0755", "state": "present"},
    ]


def test_a_folder_elsewhere_may_be_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "dotfiles").mkdir()
    (tmp_path / "dotfiles" / "condarc").write_text("x\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    files = [{"file": "condarc", "path": "~/.condarc"}]
    assert declared(own_files_files=files, own_files_folder="~/dotfiles", own_files_files_from="/nowhere")


@pytest.mark.parametrize(
    ("file", "words"),
    [
        ("none", "none cannot be read: No such file"),
        ("sub", "sub cannot be read: Is a directory"),
        ("binary", "is not a text file"),
        ("zeros", "or is not text"),
        ("large", "larger than 64 KiB"),
        ("large-binary", "larger than 64 KiB"),
        ("../outside", "is not a file in the folder"),
        ("/etc/passwd", "is not a file in the folder"),
    ],
)
def test_what_cannot_go_along_is_refused_with_its_name(file: str, words: str, tmp_path: Path) -> None:
    folder = tmp_path / "files"
    (folder / "sub").mkdir(parents=True)
    (tmp_path / "outside").write_text("x")
    (folder / "binary").write_bytes(b"\xff\xfe")
    (folder / "zeros").write_bytes(bytes(9))
    (folder / "large").write_text("ä" * 40_000)
    (folder / "large-binary").write_bytes(os.urandom(1000) * 80)
    with pytest.raises(AccountError, match=words):
        own(tmp_path, {"file": file, "path": "~/x"})


def test_a_script_has_a_file_or_a_content(tmp_path: Path) -> None:
    (tmp_path / "x.sh").write_text("#!/bin/sh\n")
    by_file = {"name": "x", "file": "x.sh"}
    found = declared(path_scripts_scripts=[by_file], path_scripts_files_from=str(tmp_path))
    assert found == [{"path": "~/bin/x", "content": "#!/bin/sh\n", "state": "present"}]
    for wrong in ({"name": "x"}, {**by_file, "content": "#!/bin/sh\n"}):
        with pytest.raises(AccountError, match='x: set either "file" or "content"'):
            declared(path_scripts_scripts=[wrong], path_scripts_files_from=str(tmp_path))


def test_a_copy_can_be_removed_after_the_original(tmp_path: Path) -> None:
    own_file = {"own_files_files": [{"file": "gone", "path": "~/x"}], "own_files_files_from": str(tmp_path)}
    script = {"path_scripts_scripts": [{"name": "x", "file": "gone"}], "path_scripts_files_from": str(tmp_path)}
    for settings in (own_file, script):
        with pytest.raises(AccountError, match="gone cannot be read: No such file"):
            declared(**settings)
    assert declared(**own_file, own_files_state="absent")[0]["state"] == "absent"
    assert declared(**script, path_scripts_state="absent")[0]["state"] == "absent"


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(AccountError, match="is not a regular file"):
        read_own_text("own_files", tmp_path / "pipe", "present")


def test_a_script_that_windows_has_written_runs_on_linux(tmp_path: Path) -> None:
    (tmp_path / "one").write_bytes(b"\xef\xbb\xbf#!/bin/sh\r\necho hello")
    script = {"name": "x", "file": "one"}
    [options] = [
        one
        for one in declared(path_scripts_scripts=[script], path_scripts_files_from=str(tmp_path))
        if one["path"] == "~/bin/x"
    ]
    assert options["content"] == "#!/bin/sh\necho hello\n"


@pytest.mark.parametrize(
    ("second", "words"),
    [
        ({"own_files_files": [{"file": "two", "path": "~/bin/x"}]}, "own_files: ~/bin/x is already a file of the role"),
        (
            {"path_scripts_scripts": [{"name": "x", "file": "one"}, {"name": "x", "file": "two"}]},
            "of the role path_scr",
        ),
    ],
)
def test_two_settings_for_one_file_are_refused(second: dict[str, Any], words: str, tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).write_text(f"#!/bin/sh\necho {name}\n")
    first = {"path_scripts_scripts": [{"name": "x", "file": "one"}]}
    folders = {"path_scripts_files_from": str(tmp_path), "own_files_files_from": str(tmp_path), "own_files_folder": "."}
    with pytest.raises(AccountError, match=words):
        collect_resources(["path_scripts", "own_files"], [], [], {**first, **folders, **second}.get)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (True, "A is not text; YAML reads it as True. Write the value in quotes"),
        (12.1, "A is not text; YAML reads it as 12.1"),
        (None, "A is not text"),
        ("$HOME/lib:$LD_LIBRARY_PATH", "only a variable or ~ at the beginning"),
        ("~/src:~/lib", "only a variable or ~ at the beginning"),
    ],
)
def test_a_variable_that_would_get_another_value_is_refused(value: Any, words: str) -> None:
    with pytest.raises(AccountError, match=re.escape(words)):
        collect_resources(["shell_environment"], [], [], {"shell_environment_variables": {"A": value}}.get)


def test_values_of_variables_are_text() -> None:
    variables = {"THREADS": 8, "PROMPT": "a$b: $ ", "WORK": "$SCRATCH/x", "LIBS": "~/a:/opt/b"}
    declared = collect_resources(["shell_environment"], [], [], {"shell_environment_variables": variables}.get)
    assert declared.resources[0]["options"]["variables"] == {**variables, "THREADS": "8"}
