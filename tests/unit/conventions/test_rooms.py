# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rooms of the house: what each may import, how large it may be, and that nobody reaches behind a name."""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._capabilities.table import CAPABILITIES, PLACES

from tools.rooms import ROOT, Source, circles, file_graph, module_of, read

SOURCES = read()
ENGINE = {  # room -> the rooms, or the single files of one, that it may import; each needs those above it alone
    "_formats": set(),
    "_core": {"_formats"},
    "_options": {"_core"},
    "_scan": {"_formats", "_core"},
    "_receipt": {"_formats/hashes", "_core"},
    "_slurm": {"_core"},
    "_jobs": {"_formats", "_core", "_options/file_options", "_slurm"},
    "_registry": {"_formats", "_options/image_name"},
    "_images": {"_core", "_options", "_scan", "_jobs", "_slurm"},
    "_resources": {"_formats", "_core", "_options", "_receipt", "_scan", "_jobs", "_registry", "_images"},
    "_mends": {"_formats", "_core", "_scan"},
    "_watches": {"_formats", "_core", "_scan", "_jobs/slurm_offers", "_mends"},
    "_engine": {"_core", "_receipt"},
}
CONTROLLER = {
    "_documents": set(),
    "_text": {"_documents"},
    "_input": {"_text/sanitise", "_core"},
    "_state": {"_documents", "_core", "_receipt"},
    "_secrets": {"_input/command_line", "_state", "_core", "_formats/key_forms"},
    "_validate": {"_text", "_secrets/key_faults", "_core", "_formats"},
    "_capabilities/parts": {"_documents", "_input", "_core", "_options", "_formats/key_forms"},
    "_capabilities": {"_documents", "_input", "_capabilities/parts", "_core", "_options/image_name"},
    "_doors": {"_text", "_input", "_state", "_secrets/prompt", "_core"},
    "_accounts": {
        *("_text/sanitise", "_input", "_state", "_capabilities", "_doors/credential"),
        *("_capabilities/parts/site", "_capabilities/parts/job_options"),
    },
    "_ssh_config": {
        *("_documents", "_input", "_state", "_accounts/open_sessions", "_doors/opening"),
        *("_core", "_formats"),
    },
    "_delivery": {
        *("_documents", "_text", "_input", "_state", "_secrets", "_capabilities", "_doors", "_ssh_config/texts"),
        *("_core", "_formats/key_files", "_receipt", "_jobs", "_resources"),
    },
    "_rotation": {
        *("_documents", "_input", "_state", "_secrets", "_validate", "_capabilities", "_capabilities/parts"),
        *("_delivery/result", "_core", "_formats"),
    },
    "_transfer": {"_text", "_state", "_secrets", "_rotation/ledger", "_core"},
    "_audit/judges": {"_documents", "_audit/finding_text", "_core"},
    "_audit/formats": {"_documents", "_audit/rules", "_text", "_core"},
    "_audit": {
        *("_documents", "_text", "_input", "_state", "_secrets", "_capabilities", "_accounts", "_doors", "_delivery"),
        *(
            "_capabilities/parts",
            "_audit/judges",
            "_audit/formats",
            "_core",
            "_formats",
            "_receipt",
            "_mends",
            "_watches",
        ),
    },
    "_preflight": {"_documents", "_text", "_input", "_state", "_doors", "_delivery", "_audit"},
    "_trial": {"_documents", "_input", "_state", "_capabilities", "_capabilities/parts"},
    "_by_hand": {
        "_documents",
        "_input/command_line",
        "_state",
        "_secrets",
        "_capabilities",
        "_delivery",
        "_rotation",
        "_core",
    },
    "_mending": {"_documents", "_input", "_state", "_audit", "_core"},
    "_terminal": {"_documents", "_text", "_delivery", "_audit/rules", "_audit/formats"},
    "_doctor": {"_documents", "_text", "_input", "_accounts", "_ssh_config"},
    "_init": {"_input", "_secrets/backends", "_secrets/file_errors", "_accounts", "_core"},
    "_command": {
        *(
            "_text",
            "_input",
            "_state",
            "_secrets",
            "_accounts",
            "_rotation/ledger",
            "_rotation/standing",
            "_transfer",
            "_terminal",
            "_core",
        ),
        "_init",
        "_by_hand",
    },
    "_status": {
        *("_documents", "_text", "_input", "_state", "_secrets", "_accounts", "_delivery/manual_steps"),
        *("_rotation/reminders", "_rotation/next_step", "_terminal", "_command"),
    },
}
DOORS = {  # what Ansible and the keyring library load; nothing but an action imports an action
    "modules": set(),
    "inventory": {"_input", "_accounts"},
    "action": {
        *("_documents", "_input", "_state", "_secrets", "_capabilities", "_accounts"),
        *(
            "_delivery",
            "_doors",
            "_ssh_config",
            "_preflight",
            "_trial",
            "_rotation",
            "_audit",
            "_mending",
            "_doctor",
            "_core",
        ),
        "_by_hand",
    },
    "callback": {"_text", "_input", "_state", "_rotation/reminders", "_terminal"},
    "doc_fragments": set(),
    "plugin_utils": {"_secrets"},  # keyring_backend.py, the name that people write into keyringrc
}
MAY_IMPORT: dict[str, set[str]] = {**ENGINE, **CONTROLLER, **DOORS}
KNOW_ANSIBLE = {  # beside the doors
    "plugin_utils._input.extra_vars",  # takes for true what Ansible takes for true
    "plugin_utils._secrets.prompt",  # asks and warns through Ansible's display
}
OF_OTHER_PYTHONS = {"_sha256", "_sha2"}  # modules of their standard library that this Python has no more, or not yet
MOST_FILES = 16  # beside those that are found by the name of what they are for
FOUND_BY_NAME = {*CAPABILITIES, *PLACES}
FOREIGN_PRIVATE = {  # names that look private and are documented by their library
    *("_replace", "_asdict", "_fields", "_make"),  # of named tuples
    "_exit",  # of os
    *("_requires_connection", "_task", "_connection", "_templar", "_display"),  # of Ansible's actions
}
WITHOUT_ROOM = {"conventions", "inventory"}  # folders of tests/unit: the rules of the house, and a door
EVERY_FILE = [pytest.param(source, id=name) for name, source in SOURCES.items()]


@pytest.mark.parametrize("source", EVERY_FILE)
def test_a_room_imports_those_below_it_alone(source: Source) -> None:
    """Those of type checkers too: who names a thing knows it."""
    allowed = MAY_IMPORT[source.room] | {source.room}
    for one in source.imports:
        module = module_of(one.name, SOURCES)
        if module:
            there = SOURCES[module].room
            file = f"{there}/{module.rpartition('.')[2]}"
            assert there in allowed or file in allowed, f"line {one.line} imports {one.name}"


def test_the_table_names_every_room_and_no_other() -> None:
    assert {source.room for source in SOURCES.values()} == set(MAY_IMPORT)
    folders = {path for path in (ROOT / "plugins").rglob("_[a-z]*") if path.is_dir()}
    filled = {path for path in folders if {one.name for one in path.iterdir()} - {"__pycache__"}}  # git leaves those
    assert {path for path in filled if not list(path.glob("*.py"))} == set()


def test_the_table_leads_downwards() -> None:
    files = {f"{source.room}/{name.rpartition('.')[2]}" for name, source in SOURCES.items()}
    named = {one for allowed in MAY_IMPORT.values() for one in allowed}
    assert named <= set(MAY_IMPORT) | files
    graph = {room: {one for one in allowed if one in MAY_IMPORT} - {room} for room, allowed in MAY_IMPORT.items()}
    assert circles(graph) == []
    order = [*ENGINE, *CONTROLLER, *DOORS]
    for room in (*ENGINE, *CONTROLLER):
        assert {one for one in graph[room] if order.index(one) > order.index(room)} == set(), f"{room} stands too high"
    assert not [one for one in MAY_IMPORT["_rotation"] if one.startswith("_audit")]
    assert not [one for one in MAY_IMPORT["_audit"] | MAY_IMPORT["_audit/formats"] if one.startswith("_rotation")]
    assert not [room for room in (*ENGINE, *CONTROLLER) if MAY_IMPORT[room] & {*DOORS}]


def test_the_table_allows_nothing_that_nobody_needs() -> None:
    """An arrow that is gone stays gone."""
    used: dict[str, set[str]] = {room: set() for room in MAY_IMPORT}
    for source in SOURCES.values():
        for module in filter(None, (module_of(one.name, SOURCES) for one in source.imports)):
            there = SOURCES[module].room
            used[source.room] |= {there, f"{there}/{module.rpartition('.')[2]}"}
    assert {room: allowed - used[room] for room, allowed in MAY_IMPORT.items() if allowed - used[room]} == {}


def test_no_file_needs_itself() -> None:
    """Imports within functions count: they hide a circle, and do not cut it."""
    assert circles(file_graph(SOURCES)) == []


def test_a_room_can_be_seen_at_a_glance() -> None:
    rooms = Counter(source.room for source in SOURCES.values() if source.path.stem not in FOUND_BY_NAME)
    assert {room: number for room, number in rooms.items() if number > MOST_FILES} == {}


def test_the_tests_stand_in_the_same_rooms() -> None:
    rooms = {room.replace("_", "", 1) for room in (*ENGINE, *CONTROLLER)}
    folders = {path for path in Path(__file__).parent.parent.rglob("test_*.py")}
    mine = {str(path.parent.relative_to(Path(__file__).parent.parent)) for path in folders}
    assert mine - rooms - WITHOUT_ROOM == set()


def test_the_map_names_every_room_and_only_files_that_exist() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    named = {one.removeprefix("plugins/") for one in re.findall(r"`([\w/]+)`", page)}
    assert {*MAY_IMPORT} - named == set()
    assert missing_files(page) == set()
    assert len(page.split()) <= 1700


@pytest.mark.parametrize("source", EVERY_FILE)
def test_a_source_speaks_of_files_that_exist(source: Source) -> None:
    assert missing_files(source.text) - {"huggingface_hub/hf_api.py"} == set()


@pytest.mark.parametrize("source", EVERY_FILE)
def test_only_the_doors_and_a_few_files_know_ansible(source: Source) -> None:
    foreign = [one.name for one in source.imports if f"{one.name}.".startswith("ansible.")]
    if source.room not in DOORS and source.name not in KNOW_ANSIBLE:
        assert foreign == []
    if source.name in KNOW_ANSIBLE:
        assert foreign != []


@pytest.mark.parametrize("source", [one for one in SOURCES.values() if one.room in ENGINE], ids=lambda one: one.name)
def test_the_engine_needs_the_standard_library_alone(source: Source) -> None:
    for one in source.imports:
        first = one.name.partition(".")[0]
        assert first in sys.stdlib_module_names | OF_OTHER_PYTHONS or module_of(one.name, SOURCES), one.name


@pytest.mark.parametrize("source", EVERY_FILE)
def test_nobody_imports_a_private_name(source: Source) -> None:
    for one in source.imports:
        module = module_of(one.name, SOURCES)
        if module and not one.name.endswith(f".{module}"):
            assert not one.name.rpartition(".")[2].startswith("_"), f"line {one.line}: {one.name}"


@pytest.mark.parametrize("source", EVERY_FILE)
def test_nobody_reaches_for_a_private_attribute_of_another_file(source: Source) -> None:
    mine = private_names(source.tree)
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Attribute) and is_private(node.attr) and ast.unparse(node.value) not in ("self", "cls"):
            assert node.attr in mine | FOREIGN_PRIVATE, f"line {node.lineno}: {ast.unparse(node)}"
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("getattr", "setattr", "hasattr"):
            name = node.args[1]
            if isinstance(name, ast.Constant) and is_private(str(name.value)):
                assert str(name.value) in BY_NAME.get(source.name, ()), f"line {node.lineno}: {ast.unparse(node)}"


BY_NAME = {  # what a library keeps to itself and is asked for by name, so that its absence does no harm
    "callback.console": {
        "_lock",  # of Ansible's display: our line and its lines share it
        "_inventory",  # of its variable manager: nothing else tells a callback the hosts of a play
    },
    "plugin_utils._secrets.keyring_backend": {"_classes"},  # of the keyring library: the backends there are
}


@pytest.mark.parametrize("source", EVERY_FILE)
def test_a_class_leaves_the_private_names_of_those_above_it_alone(source: Source) -> None:
    for node in ast.walk(source.tree):
        if isinstance(node, ast.ClassDef):
            theirs = {name for tree in above(source, node) for name in private_names(tree)}
            assert theirs & (private_names(node) | used_of_self(node)) - FOREIGN_PRIVATE == set(), node.name


@pytest.mark.parametrize("source", EVERY_FILE)
def test_no_file_is_named_like_a_module_of_python_that_its_room_uses(source: Source) -> None:
    """Started as a script, or sent to an account, one would be taken for the other."""
    siblings = [one for one in SOURCES.values() if one.room == source.room]
    used = {name.name.partition(".")[0] for one in siblings for name in one.imports}
    word = source.name.rpartition(".")[2]
    assert word not in used & sys.stdlib_module_names


FILES = [f"/{path.relative_to(ROOT)}" for top in ("plugins", "tests", "tools") for path in (ROOT / top).rglob("*.py")]


def missing_files(text: str) -> set[str]:
    """The Python files that a text names, by as much of their path as it likes, and that are not there."""
    named = set(re.findall(r"(?<![\w/.])\w[\w/]*\.py\b", text))
    return {one for one in named if not any(file.endswith(f"/{one}") for file in FILES)}


def is_private(name: str) -> bool:
    """Whether a name is its file's own."""
    return name.startswith("_") and not name.startswith("__")


def private_names(tree: ast.AST) -> set[str]:
    """The private methods and attributes that classes of this tree define."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            found.add(node.attr)
        elif isinstance(node, ast.AnnAssign | ast.Assign):
            targets = [node.target] if isinstance(node, ast.AnnAssign) else node.targets
            found |= {one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name)}
    return {name for name in found if is_private(name)}


def used_of_self(tree: ast.AST) -> set[str]:
    """The private names that methods of this tree take from themselves."""
    return {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and is_private(node.attr) and ast.unparse(node.value) in ("self", "super()")
    }


def above(source: Source, node: ast.ClassDef) -> Iterator[ast.ClassDef]:
    """The classes of other files of ours that this one inherits from."""
    for base in node.bases:
        word = ast.unparse(base)
        for module, found in classes_called(source, word):
            if module is not source:
                yield found
            yield from above(module, found)


def classes_called(source: Source, word: str) -> Iterator[tuple[Source, ast.ClassDef]]:
    """The class that a file calls by this word, and the file that defines it."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.ClassDef) and node.name == word:
            yield source, node
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if (alias.asname or alias.name) == word:
                    for one in source.imports:
                        module = module_of(one.name, SOURCES)
                        if module and one.line == node.lineno and one.name.endswith(f".{alias.name}"):
                            yield from classes_called(SOURCES[module], alias.name)
