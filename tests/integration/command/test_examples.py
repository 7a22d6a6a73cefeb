# SPDX-License-Identifier: GPL-3.0-or-later
"""The files that docs/examples gives people to copy: read as their readers do, and run as they stand."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.effort import turns
from tests.integration.command.person import Person
from tests.integration.runs import KEY, PASSPHRASE, REPOSITORY, FileRing

pytestmark = pytest.mark.testbed

EXAMPLES = REPOSITORY / "docs" / "examples"
PAGES = ("audit_in_ci.md", "fleet.md", "own_cluster.md")


def github(values: dict[str, str], _files: dict[str, Path]) -> tuple[str, dict[str, str]]:
    """The commands of the steps, but for the installation, and the environment that they have."""
    steps = document("github-audit.yml")["jobs"]["audit"]["steps"]
    own = {name: text for step in steps for name, text in step.get("env", {}).items()}
    given = {
        name: re.sub(r"\$\{\{ (?:secrets|vars)\.(\w+) \}\}", lambda m: values[m[1]], one) for name, one in own.items()
    }
    return commands([step["run"] for step in steps if "run" in step]), given


def gitlab(values: dict[str, str], files: dict[str, Path]) -> tuple[str, dict[str, str]]:
    """The commands of the job, and the variables: those of type file are paths."""
    return commands(document("gitlab-audit.yml")["audit"]["script"]), {
        "HPC_PASSPHRASE": values["HPC_PASSPHRASE"],
        **{name: str(path) for name, path in files.items()},
    }


def cron(values: dict[str, str], _files: dict[str, Path]) -> tuple[str, dict[str, str]]:
    """The command of the one line; what the table says beside it must be there."""
    (line,) = (row for row in (EXAMPLES / "crontab").read_text().splitlines() if re.match(r"[0-9*]", row))
    assert "%" not in line, "cron takes it for a line end"
    return line.split(None, 5)[5], {}


def document(name: str) -> Any:
    """A YAML file as any reader of YAML 1.1 or 1.2 reads it."""
    return yaml.safe_load((EXAMPLES / name).read_text())


def commands(lines: list[str]) -> str:
    """What a shell of the pipeline runs, without what installs the product."""
    return "\n".join(["set -eu", *(line for line in lines if not line.startswith("pip "))])


@turns(3)
@pytest.mark.parametrize("reader", [github, gitlab, cron])
def test_the_audit_runs_as_the_file_says(bed: Any, short_path: Path, reader: Callable[..., Any]) -> None:
    person, ring, account = Person(bed, short_path), FileRing(short_path), bed.new_account("lrz")
    person.knows("lrz", "lrz", f"User {account.user}")
    text = f"plugin: hpc.onboard.accounts\naccounts:\n  {account.name}: {{ssh: lrz, auth: key}}\n"
    (person.home / "accounts.yml").write_text(text)
    owned = {"KEYRING_PROPERTY_PASSPHRASE_FILE": str(ring.passphrase_file)}
    done = person.types("onboard", **ring.env, **owned)
    assert done.returncode == 0, done.stdout + done.stderr

    pairs = {"HPC_SSH_KEY": person.ssh / "id_ed25519", "HPC_KNOWN_HOSTS": person.ssh / "known_hosts"}
    kept = {**pairs, "HPC_KEYRING": ring.file}
    files = {name: Path(shutil.copy(path, short_path / name)) for name, path in kept.items()}
    values = {name: path.read_text().rstrip("\n") for name, path in files.items()} | {"HPC_PASSPHRASE": PASSPHRASE}
    if reader is cron:
        shutil.copytree(ring.file.parent, person.home / ".local/share/hpc.onboard")
        (person.home / ".config").mkdir(exist_ok=True)
        (person.home / ".config").chmod(0o700)
        shutil.copy(ring.passphrase_file, person.home / ".config/hpc.onboard.pass")
        (person.home / "hpc").mkdir()
        (person.home / "hpc/bin").symlink_to(Path(sys.executable).parent)
    else:
        for path in pairs.values():
            path.unlink()
    order, given = reader(values, files)
    path = "/usr/bin:/bin" if reader is cron else person.environment["PATH"]
    environment = {"HOME": str(person.home), "LOGNAME": "ada", "SHELL": "/bin/sh", "PATH": path, "CI": "true", **given}
    ran = subprocess.run(
        person.command("sh", "-c", order), cwd=person.home, env=environment, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout + ran.stderr
    report = (person.home / "report/audit.junit.xml").read_text()
    assert f"{account.name}" in report
    assert KEY not in report + ran.stdout + ran.stderr


def test_every_file_is_named_by_a_page_and_every_yaml_file_is_one() -> None:
    told = "".join((REPOSITORY / "docs" / page).read_text() for page in PAGES)
    names = sorted(path.name for path in EXAMPLES.iterdir())
    assert [name for name in names if f"examples/{name}" not in told] == []
    assert [name for name in names if name.endswith(".yml") and not isinstance(document(name), dict)] == []
    assert [one for one in re.findall(r"examples/([\w.-]+)", told) if one not in names] == []


def test_every_profile_is_right_and_an_account_of_it_can_be_written(tmp_path: Path) -> None:
    profiles = [path for path in EXAMPLES.glob("*.yml") if "login" in document(path.name)]
    assert len(profiles) == 2
    command = str(Path(sys.executable).with_name("hpc-onboard"))
    (tmp_path / "own").mkdir()
    lines = []
    for path in profiles:
        shutil.copy(path, tmp_path / "own")
        lines.append(f"  ada@{path.stem}: {{project: p1}}\n")
    text = f"plugin: hpc.onboard.accounts\nsandbox: true\nprofiles: [own]\naccounts:\n{''.join(lines)}"
    (tmp_path / "accounts.yml").write_text(text)
    environment = {"HOME": str(tmp_path), "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
    for words in (["profile", "check"], ["onboard"]):
        done = subprocess.run(
            [command, *words], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr


def test_the_credential_type_injects_what_the_keyring_reads() -> None:
    kind = document("awx-keyring-credential.yml")
    fields = {field["id"] for field in kind["inputs"]["fields"]}
    used = re.findall(r"{{ (\w+)", str(kind["injectors"]["file"]))
    assert sorted(used) == sorted(fields) == sorted(kind["inputs"]["required"])
    files = {name.removeprefix("template.") for name in kind["injectors"]["file"]}
    assert set(re.findall(r"tower\.filename\.(\w+)", str(kind["injectors"]["env"]))) == files
