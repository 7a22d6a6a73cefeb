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

from ansible_collections.hpc.onboard.plugins.plugin_utils._roles.table import PLACES, ROLES

from tools.rooms import ROOT, Import, Source, file_graph, find_circles, find_module, read_sources

SOURCES = read_sources()
ENGINE = {  # room -> the rooms, or the single files of one, that it may import; each needs those above it alone
    "_formats": set(),
    "_core": {"_formats"},
    "_options": {"_formats/environment", "_core"},
    "_key_search": {"_formats/key_forms"},
    "_shells": {"_formats", "_core"},
    "_scan": {"_formats", "_core", "_key_search", "_shells"},
    "_receipt": {"_formats/hashes", "_core"},
    "_jobs": {"_formats", "_core"},
    "_slurm": {"_formats/lines", "_core", "_options/file_options", "_jobs/job"},
    "_registry": {"_formats", "_options/image_name"},
    "_images": {"_core", "_options", "_scan", "_jobs", "_slurm"},
    "_resources": {
        *("_formats", "_core", "_options", "_receipt", "_shells", "_scan", "_jobs", "_slurm", "_registry", "_images")
    },
    "_fixes": {"_formats", "_core", "_key_search", "_scan", "_shells/start_up"},
    "_audit_checks": {
        *("_formats", "_core", "_shells", "_scan", "_slurm/offers", "_slurm/directives", "_slurm/job_lines", "_fixes")
    },
    "_key_checks": {"_formats", "_core", "_key_search", "_shells", "_scan", "_fixes", "_audit_checks/audit_check"},
    "_storage_checks": {
        *("_formats/quota", "_core", "_scan", "_fixes", "_audit_checks/audit_check", "_audit_checks/site_probe")
    },
    "_engine": {"_core", "_receipt"},
}
CONTROLLER = {
    "_documents": set(),
    "_text": {"_documents"},
    "_input": {"_text/sanitise", "_core"},
    "_state": {"_documents", "_core"},
    "_unlocked": {"_state"},
    "_secrets": {"_input/command_line", "_state", "_unlocked", "_core", "_formats/key_forms"},
    "_validate": {"_text", "_input/command_line", "_secrets/key_faults", "_core", "_formats"},
    "_roles": {"_documents", "_input", "_core", "_formats/condarc", "_options", "_key_search"},
    "_authentication": {"_text", "_input", "_state", "_secrets/prompt", "_core"},
    "_accounts": {"_text/sanitise", "_input", "_state", "_roles", "_authentication/credential"},
    "_ssh_config": {
        *("_documents", "_input", "_state", "_accounts/open_sessions", "_authentication/ssh_login"),
        *("_core", "_formats"),
    },
    "_delivery": {
        *(
            "_documents",
            "_text",
            "_input",
            "_state",
            "_secrets",
            "_roles",
            "_authentication",
            "_ssh_config/texts",
        ),
        *("_core", "_formats/key_files", "_receipt", "_jobs", "_resources"),
    },
    "_rotation": {
        *("_documents", "_input", "_state", "_secrets", "_validate", "_roles"),
        *("_delivery/result", "_core", "_formats"),
    },
    "_state_export": {"_text", "_state", "_secrets", "_rotation/ledger", "_core"},
    "_audit/rules": {"_documents"},
    "_audit/formats": {"_documents", "_audit/rules", "_text", "_core"},
    "_audit": {
        *(
            "_documents",
            "_text",
            "_input",
            "_state",
            "_secrets",
            "_roles",
            "_accounts",
            "_authentication",
            "_delivery",
        ),
        *(
            "_audit/rules",
            "_audit/formats",
            "_core",
            "_formats",
            "_receipt",
            "_key_search",
        ),
    },
    "_export_script": {
        "_documents",
        "_input/command_line",
        "_state",
        "_secrets",
        "_roles",
        "_delivery",
        "_rotation",
        "_core",
    },
    "_terminal": {
        "_documents",
        "_text",
        "_input/command_line",
        "_input/agreement",
        "_accounts/fields",
        "_delivery",
        "_rotation/reminders",
        "_audit/formats",
    },
    "_readiness": {
        *("_documents", "_text", "_input", "_core", "_authentication", "_roles", "_accounts"),
        *("_ssh_config", "_delivery", "_audit"),
    },
    "_init": {"_input", "_secrets/backends", "_secrets/file_errors", "_accounts", "_core"},
    "_adoption": {
        *("_documents", "_input", "_accounts", "_init", "_delivery", "_roles", "_core"),
    },
    "_probe": {
        *("_documents", "_input", "_state", "_accounts", "_init", "_delivery", "_roles/job_request", "_core"),
        "_slurm/directives",
    },
    "_command": {
        *(
            "_text",
            "_input",
            "_state",
            "_unlocked",
            "_secrets",
            "_accounts",
            "_rotation/ledger",
            "_rotation/situation",
            "_state_export",
            "_terminal",
            "_core",
        ),
        "_init",
        "_export_script",
    },
    "_status": {
        *("_documents", "_text", "_input", "_state", "_secrets", "_accounts", "_delivery/manual_steps"),
        *("_rotation/reminders", "_rotation/next_step", "_terminal", "_command"),
    },
}
DOORS = {  # what Ansible and the keyring library load; nothing but an action imports an action
    "modules": set(),
    "inventory": {"_input", "_accounts", "_state/receipts"},
    "action": {
        *("_documents", "_input", "_state", "_secrets", "_roles", "_accounts"),
        *(
            "plugin_utils/account_action",
            "_delivery",
            "_authentication",
            "_ssh_config",
            "_rotation",
            "_audit",
            "_readiness",
            "_core",
        ),
        "_export_script",
        "_adoption",
        "_probe",
    },
    "callback": {"_text", "_input", "_state", "_terminal"},
    "doc_fragments": set(),
    "plugin_utils": {  # keyring_backend.py, the name that people write into keyringrc; the base class of actions
        *("_secrets", "_roles/table", "_delivery", "_core"),
    },
}
MAY_IMPORT: dict[str, set[str]] = {**ENGINE, **CONTROLLER, **DOORS}
KNOW_ANSIBLE = {  # beside the doors
    "plugin_utils._input.extra_vars",  # takes for true what Ansible takes for true
    "plugin_utils._secrets.prompt",  # asks and warns through Ansible's display
}
LATE = {  # a file of these rooms -> what it imports inside a function: each takes milliseconds that few runs need
    "_delivery/account_session": {"_input/spec_sentences"},
    "_delivery/answer": {"_delivery/connection_failure"},
    "_delivery/connection": {"_delivery/connection_failure", "_authentication/login_check"},  # 10 and 6 files more
    "_delivery/conversation": {"_delivery/job_wait", "_delivery/key_rotations"},  # 7 and 6 files more
    "_delivery/delivery": {
        "_delivery/manual_steps",
        "_secrets/key_marks",
        "_input/command_line",
    },  # 14 more
    "_delivery/result": {"_receipt/receipt"},
    "_delivery/payload": {"_delivery/packing"},  # with ast; needed if the sources of the engine have changed
    "_authentication/login_check": {"_secrets/prompt", "_authentication/questions", "_authentication/ssh_login"},  # 30
    "action/converge": {"_rotation/reminders", "_input/spec_sentences"},  # 12 files more; said after a mistake alone
}
LATE_ROOMS = {"_delivery", "_authentication", "_ssh_config"}  # and the actions that are in the table
OF_OTHER_PYTHONS = {"_sha256", "_sha2"}  # modules of their standard library that this Python has no more, or not yet
MOST_FILES = 16  # beside those that are found by the name of what they are for
FOUND_BY_NAME = {*ROLES, *PLACES}
FOREIGN_PRIVATE = {"_requires_connection"}  # looks private, and is documented for Ansible's actions
WITHOUT_ROOM = {"conventions", "inventory"}  # folders of tests/unit: the rules of the house, and a door


def test_a_package_imports_those_below_it_alone() -> None:
    """Imports for type checkers count: who names a thing knows it."""
    wrong = []
    for source in SOURCES.values():
        allowed = MAY_IMPORT[source.room] | {source.room}
        for imported, module in imported_modules(source):
            file = f"{SOURCES[module].room}/{module.rpartition('.')[2]}"
            if not {SOURCES[module].room, file} & allowed:
                wrong.append(f"{source.name}:{imported.line} imports {imported.name}")
    assert wrong == []


def test_only_what_few_runs_need_is_imported_inside_a_function() -> None:
    late: dict[str, set[str]] = {}
    for name, source in SOURCES.items():
        file = f"{source.room}/{name.rpartition('.')[2]}"
        if source.room in LATE_ROOMS or file in LATE:
            functions = [node for node in ast.walk(source.tree) if isinstance(node, ast.FunctionDef)]
            inner = {node.lineno for one in functions for node in ast.walk(one) if isinstance(node, ast.ImportFrom)}
            modules = {module for imported, module in imported_modules(source) if imported.line in inner}
            late[file] = {f"{SOURCES[module].room}/{module.rpartition('.')[2]}" for module in modules}
    assert {file: modules for file, modules in late.items() if modules} == LATE


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
    assert find_circles(graph) == []
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
        for module in filter(None, (find_module(one.name, SOURCES) for one in source.imports)):
            there = SOURCES[module].room
            used[source.room] |= {there, f"{there}/{module.rpartition('.')[2]}"}
    assert {room: allowed - used[room] for room, allowed in MAY_IMPORT.items() if allowed - used[room]} == {}


def test_no_file_needs_itself() -> None:
    """Imports within functions count: they hide a circle, and do not cut it."""
    assert find_circles(file_graph(SOURCES)) == []


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


def test_a_source_speaks_of_files_that_exist() -> None:
    foreign = {"huggingface_hub/hf_api.py"}
    missing = {source.name: missing_files(source.text) - foreign for source in SOURCES.values()}
    assert {name: files for name, files in missing.items() if files} == {}


def test_only_plugins_and_a_few_files_know_ansible() -> None:
    users = {
        source.name
        for source in SOURCES.values()
        if source.room not in DOORS and any(f"{one.name}.".startswith("ansible.") for one in source.imports)
    }
    assert users == KNOW_ANSIBLE


def test_the_engine_needs_the_standard_library_alone() -> None:
    known = sys.stdlib_module_names | OF_OTHER_PYTHONS
    foreign = [
        f"{source.name}:{imported.line} imports {imported.name}"
        for source in SOURCES.values()
        if source.room in ENGINE
        for imported in source.imports
        if imported.name.partition(".")[0] not in known and not find_module(imported.name, SOURCES)
    ]
    assert foreign == []


def test_no_file_imports_a_private_name_of_another() -> None:
    private = [
        f"{source.name}:{imported.line} imports {imported.name}"
        for source in SOURCES.values()
        for imported, module in imported_modules(source)
        if not imported.name.endswith(f".{module}") and imported.name.rpartition(".")[2].startswith("_")
    ]
    assert private == []


def test_no_file_asks_by_name_for_a_private_attribute_of_another() -> None:
    """Ruff (SLF001) finds all that do not ask by name."""
    asked = {
        name: {asked_by_name(node) for node in ast.walk(source.tree) if is_private(asked_by_name(node))}
        for name, source in SOURCES.items()
    }
    assert {name: attributes for name, attributes in asked.items() if attributes} == BY_NAME


def asked_by_name(node: ast.AST) -> str:
    """Return the attribute that getattr, setattr or hasattr is called with, if it is a constant."""
    if isinstance(node, ast.Call) and ast.unparse(node.func) in ("getattr", "setattr", "hasattr"):
        return str(node.args[1].value) if isinstance(node.args[1], ast.Constant) else ""
    return ""


BY_NAME = {  # what a library keeps to itself and is asked for by name, so that its absence does no harm
    "callback.console": {
        "_lock",  # of Ansible's display: its lines and those of hpc-onboard share it
        "_inventory",  # of its variable manager: nothing else gives a callback the hosts of a play
    },
    "plugin_utils._secrets.keyring_backend": {"_classes"},  # of the keyring library: the backends there are
}


def test_a_class_leaves_the_private_names_of_its_bases_alone() -> None:
    wrong = {}
    for source in SOURCES.values():
        for node in ast.walk(source.tree):
            if isinstance(node, ast.ClassDef) and node.bases:
                inherited = {name for tree in above(source, node) for name in private_names(tree)}
                shared = inherited & (private_names(node) | used_of_self(node)) - FOREIGN_PRIVATE
                if shared:
                    wrong[f"{source.name}.{node.name}"] = shared
    assert wrong == {}


def test_no_file_is_named_like_a_module_of_python_that_its_package_uses() -> None:
    """Started as a script, or sent to an account, one would be taken for the other."""
    used: dict[str, set[str]] = {room: set() for room in MAY_IMPORT}
    for source in SOURCES.values():
        used[source.room] |= {imported.name.partition(".")[0] for imported in source.imports}
    names = [source for source in SOURCES.values() if source.name.rpartition(".")[2] in sys.stdlib_module_names]
    assert [one.name for one in names if one.name.rpartition(".")[2] in used[one.room]] == []


def imported_modules(source: Source) -> Iterator[tuple[Import, str]]:
    """Yield each import of a module of the house, and that module's name in SOURCES."""
    for imported in source.imports:
        module = find_module(imported.name, SOURCES)
        if module:
            yield imported, module


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
                        module = find_module(one.name, SOURCES)
                        if module and one.line == node.lineno and one.name.endswith(f".{alias.name}"):
                            yield from classes_called(SOURCES[module], alias.name)
