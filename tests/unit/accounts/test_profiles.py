"""The profiles that ship, and what is said of a bad one.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts import profiles
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.facts import find_unsourced, list_facts
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.profiles import (
    COLLECTION,
    RENDERED_PARTS,
    SHIPPED,
    Catalogue,
    read_profile,
    read_sourced,
    render,
    schema,
)
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.diagnostics import Mistakes, YamlText

PROFILES = sorted(SHIPPED.glob("*.yml"))
NAMES = {"user": "ada", "project": "engine"}


def document(file: Path) -> dict:
    return YamlText(file, file.read_text()).document()


def strings(node):
    """All strings in a value."""
    if isinstance(node, str):
        yield node
    for item in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from strings(item)


def test_the_clusters_of_the_five_documents_ship():
    assert {"lrz", "dfki", "dfki_pegasus", "wilson", "narval", "daint"} <= {file.stem for file in PROFILES}


@pytest.mark.parametrize("file", PROFILES, ids=lambda file: file.stem)
class TestShipped:
    def test_it_agrees_with_the_schema(self, file):
        jsonschema.Draft202012Validator(schema("profile")).validate(document(file))
        read_profile(file)

    def test_every_fact_that_a_program_relies_on_has_a_source_and_a_day(self, file):
        known = read_sourced(file)
        assert known.profile["format"] == 2
        assert find_unsourced(known.tree) == []
        assert list(list_facts(known.tree))

    def test_every_source_that_it_names_is_used(self, file):
        own = {source["id"] for source in document(file)["sources"]}
        assert own - {fact.source for fact in list_facts(read_sourced(file).tree)} == set()

    def test_it_is_json(self, file):
        assert json.loads(json.dumps(document(file))) == document(file)

    def test_it_has_sources_and_a_date(self, file):
        profile = document(file)
        assert profile["id"] == file.stem
        assert profile["sources"]
        shown = {
            "name",
            "status",
            "auth",
            "storage",
            "links",
            "container",
            "conda",
            "scheduler",
        }  # by the table of clusters
        assert shown <= read_sourced(file).profile.keys()
        assert re.fullmatch(r"20\d\d-\d\d-\d\d", profile["verified_on"])

    def test_nobody_claims_to_have_tried_what_others_wrote(self, file):
        profile = document(file)
        if all(source.get("third_party") for source in profile["sources"]):
            assert profile["status"] == "legacy"
        assert profile["status"] != "verified"

    def test_every_pattern_renders(self, file):
        rendered = render(read_profile(file), NAMES, {})
        assert [text for part in RENDERED_PARTS for text in strings(rendered.get(part)) if set(text) & set("{}")] == []
        for area in rendered["storage"]:
            assert "path" in area or "ask" in area


def test_the_schemas_are_schemas_and_describe_every_property():
    for name in ("cluster", "profile", "accounts"):
        jsonschema.Draft202012Validator.check_schema(schema(name))
    for name in ("cluster", "accounts"):
        assert list(undescribed(schema(name))) == []


def undescribed(node, place="#"):
    if isinstance(node, dict):
        for name, each in node.get("properties", {}).items() if isinstance(node.get("properties"), dict) else ():
            if "description" not in each:
                yield f"{place}/{name}"
        for key, each in node.items():
            yield from undescribed(each, f"{place}/{key}")


def changed(tmp_path: Path, name: str, old: str, new: str) -> Path:
    text = (SHIPPED / f"{name}.yml").read_text()
    assert old in text
    file = tmp_path / f"{name}.yml"
    file.write_text(text.replace(old, new, 1))
    return file


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("area: wclustre", "area: wcluster", ['unknown storage area "wcluster"', '"wclustre"']),
        ("    root: /work1/{project}\n", "", ['area "work1" has "create"', '"root"']),
        ("/work1/{project}/{user}", "/work1/{group}/{user}", ['"path" is invalid']),
        ("    root: /work1/{project}\n", "    root: /work1/{project}\n    hard_bytes: 9\n", ['"grace_days" together']),
        ("login:\n", "login: [\n", ["this is not valid YAML"]),
        ("done: reached", "done: link", ['"done: link" and "area", the storage area whose path']),
        ("done: reached", "done: link\n    area: wrok1", ['unknown storage area "wrok1"', '"work1"']),
    ],
)
def test_a_bad_profile_is_told_with_its_line(tmp_path, old, new, words):
    file = changed(tmp_path, "wilson", old, new)
    with pytest.raises(Mistakes) as caught:
        read_profile(file)
    told = str(caught.value)
    assert re.search(re.escape(str(file)) + r":\d+: ", told)
    for word in words:
        assert word in told


def test_generated_files_are_up_to_date():
    line = [sys.executable, COLLECTION / "tools" / "generate.py", "--check"]
    assert subprocess.run(line, check=False, capture_output=True, text=True).stdout == ""


@pytest.mark.parametrize("text", ["id: attic\nlogin: {host: login.example.org}\nhome: {path: /home/ada}\n", "id: 7\n"])
def test_a_file_is_read_once_for_all_accounts_good_or_bad(tmp_path, monkeypatch, text):
    (tmp_path / "attic.yml").write_text(text)
    catalogue, read = Catalogue((tmp_path,)), []
    monkeypatch.setattr(profiles, "read_sourced", lambda file: read.append(file) or read_sourced(file))
    said = []
    for _account in range(3):
        try:
            said.append(catalogue.profile("attic"))
        except Mistakes as mistakes:
            said.append(str(mistakes))
    assert len(read) == 1
    assert said[0] == said[1] == said[2]
