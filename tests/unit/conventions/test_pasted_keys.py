# SPDX-License-Identifier: GPL-3.0-or-later
"""The examples of pipelines and AWX store a key file as it was, whatever newlines the pasted text ends with."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from jinja2.sandbox import ImmutableSandboxedEnvironment

EXAMPLES = Path(__file__).resolve().parents[3] / "docs" / "examples"
TEXT = "one\ntwo\n"
PASTED = pytest.mark.parametrize("pasted", ["one\ntwo", "one\ntwo\n", "one\ntwo\n\n"])


def document(name: str) -> Any:
    return yaml.safe_load((EXAMPLES / name).read_text(encoding="utf-8"))


def stored(script: str, home: Path, variables: dict[str, str]) -> list[str]:
    """Run a script in an empty home directory, and return the texts of the ssh key and of the keyring."""
    environment = {"HOME": str(home), "PATH": "/usr/bin:/bin", **variables}
    subprocess.run(["bash", "-euc", script], cwd=home, env=environment, check=True)
    return [(home / name).read_text() for name in (".ssh/id_ed25519", ".local/share/hpc.onboard/keyring")]


@PASTED
def test_github(pasted: str, tmp_path: Path) -> None:
    steps = document("github-audit.yml")["jobs"]["audit"]["steps"]
    (script,) = (step["run"] for step in steps if "KEYRING" in step.get("env", {}))
    values = {"SSH_KEY": pasted, "KEYRING": pasted, "KNOWN_HOSTS": pasted}
    assert stored(script, tmp_path, values) == [TEXT, TEXT]


@PASTED
def test_gitlab(pasted: str, tmp_path: Path) -> None:
    (tmp_path / "pasted").write_text(pasted)
    lines = [line for line in document("gitlab-audit.yml")["audit"]["script"] if "hpc-onboard " not in line]
    values = dict.fromkeys(("HPC_SSH_KEY", "HPC_KEYRING", "HPC_KNOWN_HOSTS"), str(tmp_path / "pasted"))
    assert stored("\n".join(lines), tmp_path, {**values, "HPC_PASSPHRASE": "p"}) == [TEXT, TEXT]


@PASTED
def test_awx(pasted: str) -> None:
    template = document("awx-keyring-credential.yml")["injectors"]["file"]["template.keyring"]
    assert ImmutableSandboxedEnvironment().from_string(template).render(keyring=pasted) == TEXT
