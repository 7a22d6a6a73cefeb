"""The installed collection, and the playbooks that the pages show, as tools of other people judge them.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.effort import exhaustive
from tools.sanity_cores import ROOT

from .conftest import Environment

FENCED = re.compile(r"^ *```ya?ml\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)


def shown_playbooks() -> Iterator[str]:
    """Yield the playbooks that the pages show, for readers to put into files."""
    for page in (ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md")), *sorted(ROOT.glob("roles/*/README.md"))):
        for block in map(textwrap.dedent, FENCED.findall(page.read_text(encoding="utf-8"))):
            if re.match(r"(---\n)?- (name|hosts|import_playbook):", block):
                yield f"---\n{block.removeprefix('---' + chr(10))}"


def lint(installed: Environment, folder: Path, *paths: str) -> str:
    """Return what ansible-lint says of files in a folder, with the collection as it is installed and no inventory."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ANSIBLE_")}
    collections = str(installed.path / "home" / ".ansible" / "collections")
    done = subprocess.run(
        [
            str(Path(sys.executable).with_name("ansible-lint")),
            "--offline",
            "--nocolor",
            "--profile",
            "production",
            *paths,
        ],
        cwd=folder,
        env={**kept, "PATH": path, "HOME": str(installed.path / "home"), "ANSIBLE_COLLECTIONS_PATH": collections},
        capture_output=True,
        text=True,
    )
    return "" if done.returncode == 0 else done.stdout + done.stderr


def test_a_playbook_that_imports_ours_passes_lint(from_tarball: Environment) -> None:
    folder = from_tarball.folder / "their-project"
    (folder / "playbooks").mkdir(parents=True)
    own = "---\n- name: Audit my accounts\n  ansible.builtin.import_playbook: hpc.onboard.audit\n"
    shown = [own, *shown_playbooks()]
    assert len(shown) > 10
    for number, text in enumerate(shown):
        (folder / "playbooks" / f"{number}.yml").write_text(text)
    assert lint(from_tarball, folder) == ""


@exhaustive  # of the checkout, each run looks at the same files
def test_the_installed_collection_passes_lint(from_tarball: Environment) -> None:
    folder = from_tarball.path / "home" / ".ansible" / "collections" / "ansible_collections" / "hpc" / "onboard"
    assert lint(from_tarball, folder, "playbooks", "roles") == ""


@exhaustive
def test_galaxy_would_take_it(tarball: Path, environment: Callable[[str], Environment]) -> None:
    made = environment("importer")
    made.pip("galaxy-importer~=0.4.44")
    settings = made.folder / "importer.cfg"
    settings.write_text("[galaxy-importer]\nCHECK_REQUIRED_TAGS = True\n")  # ansible-test has its own stage
    said = made.must("python", "-m", "galaxy_importer.main", tarball, GALAXY_IMPORTER_CONFIG=str(settings))
    assert "Importer processing completed successfully" in said
    assert re.findall(r"^(?:ERROR|WARNING).*", said, re.MULTILINE) == []
