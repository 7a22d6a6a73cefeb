# SPDX-License-Identifier: GPL-3.0-or-later
"""What people see of practice accounts: every playbook, every report, every kind of mistake, and the documentation."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.golden.seen import hold, place, plain
from tests.testbed.client import Client

CHECKOUT = Path(__file__).parents[2]
ACCOUNTS = """plugin: hpc.onboard.accounts
sandbox: true
accounts:
  go42tum@lrz:
    project: pr12ab
    storage: {dss: /dss/dssfs04/lwp-dss-0002/pr12ab/pr12ab-dss-0000}
    shell_environment: {variables: {HF_HOME: /dss/dssfs04/lwp-dss-0002/pr12ab/pr12ab-dss-0000/hf}}
  ada@dfki:
    conda: {distribution: miniforge}
  simone@wilson: {project: deep_lgt, tokens: {programs: [{program: wandb}]}}
  ada@narval: {project: def-ada}
  ada@daint: {project: g123, without: [container_caches]}
  away@wilson:
    project: deep_lgt
    sandbox: false
    vars: {ansible_host: 127.0.0.1, ansible_port: 1, ansible_ssh_common_args: ''}
"""
MISTAKES = "defaults:\n  projct: p\n  conda: {wantd: true}\n  ssh: mine\naccounts: {ada@dfki: }"
WISHES = {
    "role-word": ("onboard.yml", "-l", "lrz", "-e", "conda_wantd=true"),
    "rotate-word": ("rotate_ngc.yml", "-e", "rotate_resum=true"),
    "rotate-sandbox": ("rotate_ngc.yml", "-l", "dfki"),
    "diff-of-one": ("onboard.yml", "-l", "wilson", "--check", "--diff", "--tags", "container_caches"),
}


PUBLIC = ("callback", "inventory", "module", "role")


class Desk:
    """A person's machine: a home, a state folder and an accounts file of their own; the checkout's ansible.cfg."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.accounts = folder / "accounts.yml"
        self.accounts.write_text(ACCOUNTS, encoding="utf-8")
        self.client = Client(folder)

    def see(self, program: str, *arguments: str, **environment: str) -> str:
        """Run a program in the checkout; what it printed, plain, and its exit code."""
        own = {"ANSIBLE_CONFIG": str(CHECKOUT / "ansible.cfg"), "HPC_ONBOARD_SSH": "none", **environment}
        done = self.client.run(program, *arguments, cwd=CHECKOUT, env=own, timeout=300)
        return self.plain(f"{done.stdout}---- stderr\n{done.stderr}---- exit {done.returncode}\n")

    def play(self, *arguments: str, **environment: str) -> str:
        """Run a playbook over the accounts file, one account after the other, in the order of the file."""
        return self.see("ansible-playbook", "--forks=1", "-i", str(self.accounts), *arguments, **environment)

    def plain(self, text: str) -> str:
        """The text without what is this run's own."""
        folder = str(self.folder)
        return plain(text, {folder: "<home>", folder[1:]: "<home>", str(CHECKOUT): "<checkout>"})


@pytest.fixture
def desk() -> Iterator[Desk]:
    """A desk in an empty folder."""
    with place() as folder:
        yield Desk(folder)


def test_the_life_of_practice_accounts(desk: Desk) -> None:
    hold("onboard-preview.txt", desk.play("onboard.yml", "--check", "--diff"))
    hold("onboard-first.txt", desk.play("onboard.yml"))
    hold("onboard-second.txt", desk.play("onboard.yml", "-v"))
    hold("onboard-stock.txt", desk.play("onboard.yml", "-v", ANSIBLE_STDOUT_CALLBACK="ansible.builtin.default"))
    drift(desk)
    report = desk.folder / "report"
    hold("audit.txt", desk.play("audit.yml", "-e", f"audit_output={report}"))
    for file in sorted(report.iterdir()):
        hold(f"report-{file.name}", desk.plain(file.read_text(encoding="utf-8")))
    hold("audit-since-nothing.txt", desk.play("audit.yml", "-e", "audit_since=last"))
    further_drift(desk)
    hold("audit-since.txt", desk.play("audit.yml", "-e", "audit_since=last"))
    hold("onboard-drifted.txt", desk.play("onboard.yml"))
    hold("offboard-preview.txt", desk.play("offboard.yml", "--check"))
    hold("offboard.txt", desk.play("offboard.yml", "-e", "offboard_sure=true"))
    hold("offboard-again.txt", desk.play("offboard.yml", "-e", "offboard_sure=true"))


def test_what_is_there_already_is_shown_and_written_into_the_accounts_file(desk: Desk) -> None:
    lay(desk.folder / ".sandbox" / "ada@dfki")
    hold("adopt.txt", desk.play("adopt.yml", "-l", "dfki"))
    hold("adopt-sure.txt", desk.play("adopt.yml", "-l", "dfki", "-e", "adopt_sure=true"))
    hold("adopt-again.txt", desk.play("adopt.yml", "-l", "dfki", "-e", "adopt_sure=true"))


def lay(account: Path) -> None:
    """Somebody has followed a tutorial by hand."""
    files = {
        "home/ada/.bashrc": "export HF_HOME=/data/ada/hf\nexport PIP_CACHE_DIR=$(mktemp -d)\n",
        "home/ada/bin/usrun.sh": '#!/bin/bash\nsrun -K --mem=64GB -p batch --time=60 "$@"\n',
        "data/ada/hf/hub/models--bert/blobs/1": "weights",
        "data/ada/mc/conda-meta/history": "==> 2024-05-02 10:00:00 <==\n",
        "data/ada/mc/bin/conda": "#!/data/ada/mc/bin/python\n",
        "data/ada/mc/etc/profile.d/conda.sh": "export CONDA_SHLVL=0\n",
        "data/ada/my-image.sqsh": "hsqs-image",
    }
    for name, text in files.items():
        (account / name).parent.mkdir(parents=True, exist_ok=True)
        (account / name).write_text(text, encoding="utf-8")
        (account / name).chmod(0o755)
    (account / "home/ada/data").symlink_to("../../data/ada")


def drift_of_one(desk: Desk) -> None:
    """Somebody takes a file away."""
    for file in (desk.folder / ".sandbox" / "ada@narval").rglob("docker-config.json"):
        file.unlink()


def drift(desk: Desk) -> None:
    """Somebody works on the accounts by hand."""
    lrz, dfki = (
        next(file.parent for file in (desk.folder / ".sandbox" / name).rglob(".bashrc"))
        for name in ("go42tum@lrz", "ada@dfki")
    )
    shutil.rmtree(lrz / ".config/hpc.onboard")
    with (dfki / ".bashrc").open("a") as file:
        file.write("export WANDB_API_KEY=" + hashlib.sha256(b"of hand").hexdigest()[:40] + "\n")
    for script in dfki.rglob("usrun.sh"):
        script.write_text("#!/bin/sh\necho mine\n")


def further_drift(desk: Desk) -> None:
    """Somebody tidies up one account, and edits a file of ours on two others."""
    for start_up in (desk.folder / ".sandbox" / "ada@dfki").rglob(".bashrc"):
        start_up.write_text("".join(line for line in start_up.open() if "WANDB" not in line))
    for name in ("ada@narval", "ada@daint"):
        for file in (desk.folder / ".sandbox" / name).rglob("env.sh"):
            lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
            lines[-1:] = ["export EDITOR=vi\n", "export MY_TOKEN=" + "0123456789" * 4 + "\n"]
            file.write_text("".join(lines), encoding="utf-8")


def test_several_mistakes_in_the_accounts_file(desk: Desk) -> None:
    """Each mistake alone is on docs/mistakes.md (test_mistakes.py)."""
    desk.accounts.write_text(f"plugin: hpc.onboard.accounts\nsandbox: true\n{MISTAKES}\n", encoding="utf-8")
    hold("mistake-default.txt", desk.play("onboard.yml"))


@pytest.mark.parametrize("wish", WISHES)
def test_a_run_of_one_thing(desk: Desk, wish: str) -> None:
    hold(f"wish-{wish}.txt", desk.play(*WISHES[wish]))


@pytest.mark.parametrize("name", ["", "ledger", "keyring", "rekey"])
def test_the_command_says_what_it_takes(desk: Desk, name: str) -> None:
    hold(f"help{name and '-'}{name}.txt", desk.see("hpc-onboard", *name.split(), "--help"))


@pytest.mark.parametrize("name", ["onboard", "rotate", "cheatsheet", "profile"])
def test_the_command_says_the_same_under_every_python(desk: Desk, name: str) -> None:
    """Before 3.13 '-i FILE, --inventory FILE', since then '-i, --inventory FILE', and other columns."""
    said = re.sub(r"(-\w) ([A-Z=]+), (--[\w-]+) \2", r"\1, \3 \2", desk.see("hpc-onboard", name, "--help"))
    hold(f"help-{name}.txt", "\n\n".join(" ".join(part.split()) for part in said.split("\n\n")) + "\n")


def test_the_command_is_told_again_as_it_was_typed(desk: Desk) -> None:
    hold("command-onboard.txt", desk.see("hpc-onboard", "wilson", "narval", "-i", str(desk.accounts), "--forks=1"))
    drift_of_one(desk)
    hold("command-audit.txt", desk.see("hpc-onboard", "audit", "ada@narval", "-i", str(desk.accounts)))


def test_the_documentation_of_everything_public(desk: Desk) -> None:
    seen = desk.see("ansible-doc", "--metadata-dump", "--no-fail-on-errors", "hpc.onboard")
    text, _line, rest = seen.partition("---- stderr")
    assert "hpc/onboard" not in rest, rest
    ours = {kind: named for kind, named in json.loads(text)["all"].items() if kind in PUBLIC and named}
    del ours["callback"]["hpc.onboard.console"]["doc"]["options"]  # Ansible's own, others with each version
    hold("documentation.json", json.dumps(ours, indent=1, sort_keys=True) + "\n")
