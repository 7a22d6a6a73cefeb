# SPDX-License-Identifier: GPL-3.0-or-later
"""The schemas of profiles and accounts files refuse invisible characters, programs and names of programs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.profiles import Catalogue, read_profile, schema
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.diagnostics import Mistakes
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.json_schema import Checker, matches

from tests.hostile_words import OF_TEXT

ATTIC = "id: attic\nlogin: {{host: attic.example.org}}\nhome: {{}}\n{more}\n"
CHECKED_BY_CODE = {("accounts", "accounts.propertyNames")}  # names of accounts: accounts_file.USER


def strings(node: Any, root: dict[str, Any], place: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the place and the schema of each text, and of each name that may be any."""
    if not isinstance(node, dict):
        return
    if "$ref" in node:
        node = {**root["$defs"][node["$ref"].rpartition("/")[2]], **node}
    types = node.get("type", "string" if "pattern" in node else "")
    if "string" in (types if isinstance(types, list) else [types]):
        yield place, node
    if node.get("propertyNames"):
        yield f"{place}.propertyNames".lstrip("."), {"type": "string", **node["propertyNames"]}
    for name, one in node.get("properties", {}).items():
        yield from strings(one, root, f"{place}.{name}".lstrip("."))
    for word in ("items", "additionalProperties"):
        yield from strings(node.get(word), root, f"{place}[]")


@pytest.mark.parametrize("name", ["cluster", "accounts"])
def test_no_text_of_a_schema_may_hold_an_invisible_character(name: str) -> None:
    whole = schema(name)
    found = [one for one in strings(whole, whole) if (name, one[0]) not in CHECKED_BY_CODE]
    assert len(found) > 10
    for place, one in found:
        if "enum" in one:
            continue
        assert "pattern" in one, f"{place} may be anything"
        for word in OF_TEXT:
            for text in (word, f"a{word}", f"{word}a", f"a {word} b", f"/a{word}b", f"https://a.example/{word}"):
                assert not matches(one["pattern"], text.replace("{mark}", "x")), (place, text)


def test_what_people_write_is_text() -> None:
    text = schema("cluster")["$defs"]["text"]["pattern"]
    for word in ("Université de Montréal «Narval»", "日本語", "50 % of /home, 3-4 days… “ok”", "🎓"):
        assert matches(text, word)


def told(folder: Path, more: str) -> str:
    """Return the mistakes of a profile with these further lines; empty if there are none."""
    file = folder / "attic.yml"
    file.write_text(ATTIC.format(more=more))
    try:
        read_profile(file)
    except Mistakes as mistakes:
        return "\n".join(f"{one.line}: {one.text}" for one in mistakes.found)
    return ""


OF_PROGRAMS = """
bin sbin lib lib64 libexec share R perl perl5 python go miniconda3 miniforge3 conda anaconda3 mambaforge node_modules
.bashrc .local .config jobs envs venv texmf spack nltk_data modulefiles
"""
GOOD_OPTIONS = ("--partition=gpu --gres=gpu:a100:1", "-p gpu -G 1", "--exclusive", "--gpus-per-node=h100:1", "-N 1")
BAD_OPTIONS = (
    *("python3", "--gpus=1 python3", "--gpus 1", "-G", "-G 1 2", "--gpus=1  id", "--gpus=", "-K", "--exclusive id"),
    *("--wrap=id", "--export=ALL", "--prolog=/x", "--task-prolog=/x", "--bcast=/x", "--epilog=/x", "--chdir=/x"),
    *("--get-user-env", "--container-image=/x", "--output=/x", "-o /x", "-D /x", "--gpus=1 -- id", "--gres=-x"),
)


@pytest.mark.parametrize("name", ["gpu", "cpu", "test"])
def test_words_of_jobs_are_options_that_ask_for_resources(tmp_path: Path, name: str) -> None:
    for words in GOOD_OPTIONS:
        assert told(tmp_path, f"scheduler: {{kind: slurm, {name}: '{words}'}}") == ""
    for words in BAD_OPTIONS:
        assert "is invalid" in told(tmp_path, f"scheduler: {{kind: slurm, {name}: '{words}'}}"), words


def test_the_short_form_of_an_option_is_one_word_in_scripts(tmp_path: Path) -> None:
    file = tmp_path / "attic.yml"
    file.write_text(ATTIC.format(more="scheduler: {kind: slurm, gpu: -p gpu -G 1, cpu: --qos=cpu -n 2}"))
    profile = Catalogue((tmp_path,)).profile("attic")
    assert profile
    assert profile["scheduler"]["gpu"] == "--partition=gpu --gpus=1"
    assert profile["scheduler"]["cpu"] == "--qos=cpu --ntasks=2"


@pytest.mark.parametrize("link", OF_PROGRAMS.split())
def test_a_link_has_no_name_from_which_programs_are_read(tmp_path: Path, link: str) -> None:
    assert '"link" is invalid' in told(tmp_path, f"storage: [{{name: x, path: /x, link: {link}}}]")


@pytest.mark.parametrize("link", ["work", "scratch", "data", "projects", "group_home", "store-clariden", "binaries"])
def test_a_link_has_the_name_of_an_area(tmp_path: Path, link: str) -> None:
    assert told(tmp_path, f"storage: [{{name: x, path: /x, link: {link}}}]") == ""


@pytest.mark.parametrize("name", ["ls", "python3", "ssh", "srun", "usrun", "usrun.sh.py", ".sh"])
def test_a_launcher_takes_the_place_of_no_program(tmp_path: Path, name: str) -> None:
    assert '"name" is invalid' in told(tmp_path, f"launchers: [{{name: {name}}}]")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("quota_command: evilquota -x /etc", '"quota_command" is invalid'),
        ("launchers: [{name: x.sh, mounts: ['/home/mallory/bin:/usr/bin']}]", '"mounts" is invalid'),
        ("container: {runtime: none, module: gcc/../../../home/mallory/x}", '"module" is invalid'),
        ("mirrors: {pypi: 'https://pypi.example.org/simple'}", "python_envs: {index: https://...}"),
        ("mirrors: {conda: 'https://conda.example.org'}", "python_envs: {index: https://...}"),
        ('os: {value: x, source: "a\\e[2J"}', '"source" must be a single line of text'),
        ('os: "a\\u2800b"', "contains the character \\u2800, which is not supported here. Write the text on one line"),
    ],
)
def test_what_is_refused_is_named_with_what_to_do(tmp_path: Path, more: str, said: str) -> None:
    found = told(tmp_path, more)
    assert found.startswith("4: ")
    assert said in found


def test_a_family_of_ones_own_names_no_package_index_either(tmp_path: Path) -> None:
    (tmp_path / "families").mkdir()
    (tmp_path / "families" / "ours.yml").write_text("mirrors: {pypi: 'https://pypi.example.org/simple'}\n")
    (tmp_path / "attic.yml").write_text(ATTIC.format(more="extends: ours"))
    with pytest.raises(Mistakes, match=r"ours\.yml:1: \"mirrors\" is not supported"):
        read_profile(tmp_path / "attic.yml")


def test_a_profile_that_ships_may_name_an_index_with_tls() -> None:
    mirrors = schema("cluster")["properties"]["mirrors"]
    checker = Checker({**mirrors, "$defs": schema("cluster")["$defs"]})
    assert not list(checker.violations({"pypi": "https://pypi.example.org/simple"}))
    assert list(checker.violations({"pypi": "http://pypi.example.org/simple"}))
