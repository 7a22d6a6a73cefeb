# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rules of the house that a machine can check."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.plan import KINDS
from ansible_collections.hpc.onboard.plugins.plugin_utils._roles.table import ELSEWHERE

CHECKOUT = Path(__file__).parent.parent.parent.parent
PLUGINS = CHECKOUT / "plugins"
ROLES = sorted(folder for folder in (CHECKOUT / "roles").iterdir() if folder.is_dir())
SOURCES = sorted(PLUGINS.rglob("*.py"))
MODULE_UTILS = sorted((PLUGINS / "module_utils").rglob("*.py"))


def ident(path: Path) -> str:
    """The path as it is shown."""
    return str(path.relative_to(CHECKOUT))


def imports(file: Path) -> set[str]:
    """The full names of what a file imports."""
    package = ["ansible_collections", "hpc", "onboard", *file.relative_to(CHECKOUT).parts[:-1]]
    names = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            stem = ".".join([*above, *([node.module] if node.module else [])])
            names |= {f"{stem}.{alias.name}" for alias in node.names}
    return names


@pytest.mark.parametrize("file", sorted((PLUGINS / "modules").glob("*.py")), ids=ident)
def test_a_module_is_its_documentation_alone(file: Path) -> None:
    """What it does is an action: nothing of it runs from a file on the account."""
    assert imports(file) == {"__future__.annotations"}


def test_generated_files_are_up_to_date() -> None:
    done = subprocess.run([sys.executable, CHECKOUT / "tools/generate.py", "--check"], capture_output=True, text=True)
    assert (done.stdout + done.stderr, done.returncode) == ("", 0)


def test_every_kind_has_a_module_a_class_and_a_table_of_its_own() -> None:
    modules = {file.stem for file in (PLUGINS / "modules").glob("*.py")} - {
        "import_result",
        "audit",
        "connect",
        "converge",
        "doctor",
        "export_script",
        "fix",
        "offboard",
        "preflight",
        "rotate",
        "ssh_config",
        "test_job",
    }
    classes = {file.stem for file in (PLUGINS / "module_utils" / "_resources").glob("*.py")} - {
        "kept_key",
    }
    tables = {file.stem.removeprefix("test_") for file in (CHECKOUT / "tests/unit/resources").glob("test_*.py")}
    assert modules == classes | set(ELSEWHERE) == set(KINDS)
    assert modules <= tables


@pytest.mark.parametrize("file", SOURCES, ids=ident)
def test_a_source_says_its_licence_and_what_it_is_for(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    assert "SPDX-License-Identifier: GPL-3.0-or-later" in text[:400]
    assert len((ast.get_docstring(ast.parse(text)) or "").split()) >= 4
    if file.parent.name in ("modules", "callback", "lookup", "inventory", "action", "filter"):
        assert "GNU General Public License v3.0+" in "".join(text.splitlines(keepends=True)[:20])


@pytest.mark.parametrize("file", SOURCES, ids=ident)
def test_a_source_is_not_too_long(file: Path) -> None:
    assert len(file.read_text(encoding="utf-8").splitlines()) <= 300


@pytest.mark.parametrize("file", MODULE_UTILS, ids=ident)
def test_every_public_name_of_the_engine_has_a_sentence(file: Path) -> None:
    in_resource = {
        "name",
        "check",
        "bound",
        "touches",
        "desired",
        "inspect",
        "obstacle",
        "apply",
        "paths_to_remove",
        "progress",
        "remarks",
        "evidence",
    }
    own = {"work", "pretend", "find", "form", "put", "prepare", "without", "unreadable"}  # in Job, in KeptKey
    kept = in_resource | own
    tree = ast.parse(file.read_text(encoding="utf-8"))
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    for node in [*tree.body, *(member for one in classes for member in one.body)]:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            inherited = node.name in kept or file.name in ("dry_run.py", "isolation.py")
            assert ast.get_docstring(node) or inherited, node.name


@pytest.mark.parametrize("role", ROLES, ids=ident)
def test_a_role_has_a_page(role: Path) -> None:
    page = (role / "README.md").read_text(encoding="utf-8")
    assert "```yaml" in page
    assert role.name in page
    assert "{{" not in (role / "defaults/main.yml").read_text(encoding="utf-8"), "converge reads them as data"


def test_no_committed_file_names_this_machine() -> None:
    words = ("../" + "shared", "/work" + "/main", "/work" + "/wt-")
    try:
        listed = subprocess.run(["git", "ls-files"], cwd=CHECKOUT, capture_output=True, check=True, text=True).stdout
    except (FileNotFoundError, subprocess.CalledProcessError):
        pytest.skip("this is no checkout of git")
    for name in listed.splitlines():
        file = CHECKOUT / name
        if file.is_file():
            text = file.read_bytes().decode("latin-1")
            assert not [word for word in words if word in text], name
