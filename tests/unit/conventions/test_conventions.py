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


def ident(path: Path) -> str:
    """Return the path below the checkout."""
    return str(path.relative_to(CHECKOUT))


def is_import(node: ast.AST) -> bool:
    """Return True for both forms of an import."""
    return isinstance(node, ast.Import | ast.ImportFrom)


def test_a_module_is_its_documentation_alone() -> None:
    """An action does the work: nothing of a module runs from a file on the account."""
    for file in (PLUGINS / "modules").glob("*.py"):
        nodes = [node for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))) if is_import(node)]
        assert [ast.unparse(node) for node in nodes] == ["from __future__ import annotations"], file


def test_generated_files_are_up_to_date() -> None:
    done = subprocess.run([sys.executable, CHECKOUT / "tools/generate.py", "--check"], capture_output=True, text=True)
    assert (done.stdout + done.stderr, done.returncode) == ("", 0)


def test_every_kind_has_a_module_a_class_and_a_table_of_its_own() -> None:
    modules = {file.stem for file in (PLUGINS / "modules").glob("*.py")} - {
        "import_result",
        "adopt",
        "probe",
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


def test_a_source_says_its_licence_and_what_it_is_for() -> None:
    for file in SOURCES:
        text = file.read_text(encoding="utf-8")
        assert "SPDX-License-Identifier: GPL-3.0-or-later" in text[:400], file
        assert ast.get_docstring(ast.parse(text)), file
        if file.parent.name in ("modules", "callback", "lookup", "inventory", "action", "filter"):
            assert "GNU General Public License v3.0+" in "".join(text.splitlines(keepends=True)[:20]), file


def test_a_source_is_not_too_long() -> None:
    lines = {ident(file): len(file.read_text(encoding="utf-8").splitlines()) for file in SOURCES}
    assert {name: count for name, count in lines.items() if count > 300} == {}


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
