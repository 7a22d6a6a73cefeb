# SPDX-License-Identifier: GPL-3.0-or-later
"""What the audit finds and can fix is fixed by fix.yml, in one trip, and nothing else changes: over real ssh."""

from __future__ import annotations

import hashlib
import re
from typing import Any, NamedTuple

import pexpect
import pytest

from tests.integration.runs import COMMAND, KEY, REPOSITORY, Ran, play

from .audit_scene import Audit, Scene, at, by_root, replaced

pytestmark = pytest.mark.testbed

DEAD, FOREIGN = "nvapi-" + "d" * 64, "nvapi-" + hashlib.sha256(b"foreign").hexdigest()
KEYS = [KEY, DEAD, FOREIGN, DEAD, KEY, DEAD]
BASHRC = """# of ours
export APPTAINER_DOCKER_PASSWORD={0}
alias ll='ls -l'
export A=1 SINGULARITY_DOCKER_PASSWORD={1} B='two words'
if true; then
export THIRD={2}
fi
case $- in *i*) ;; *) return;; esac
[ -t 0 ] && export TORCH_HOME=$HOME/.cache/torch   # what only a person's shell reads
last=1
"""


class Plant(NamedTuple):
    """A thing that is found. do: how it comes there; rule; path: what the fix is about; gone: what is no more then."""

    do: str
    rule: str
    path: str
    gone: str = ""


SAFE = [
    Plant("printf 'login {3} twice\\nls\\n' > .bash_history", "SEC-004", "~/.bash_history"),
    Plant("mkdir jobs; printf '#!/bin/sh\\nexport APPTAINER_DOCKER_PASSWORD={4}\\nsrun x\\n' > jobs/a.sh", "SEC-004",
          "~/jobs/a.sh"),
    Plant("cp -p .apptainer/docker-config.json .apptainer/docker-config.json~", "SEC-006",
          "~/.apptainer/docker-config.json~", ".apptainer/docker-config.json~"),
    Plant("printf 'machine h login me password {5}\\n' > .netrc.old", "SEC-006", "~/.netrc.old"),
    Plant("echo 'machine host login me password mine' > .netrc; chmod 644 .netrc", "SEC-001", "~/.netrc"),
    Plant("mkdir -p .aws; echo 'secret: mine1234' > .aws/credentials; chmod 600 .aws/credentials;"
          " setfacl -m u:daemon:r .aws/credentials", "SEC-003", "~/.aws/credentials"),
    Plant("mkdir -p .kaggle; echo '{{\"key\":\"abcdefgh\"}}' > .kaggle/kaggle.json; chmod 600 .kaggle/kaggle.json;"
          " chmod 777 .kaggle", "SEC-002", "~/.kaggle"),
    Plant("ln -s /gone/at/all gone", "LNK-003", "~/gone", "gone"),
    Plant("ln -s loop loop", "LNK-005", "~/loop", "loop"),
    Plant("mkdir -p -m 700 .cache/enroot/.tokens.1; echo t > .cache/enroot/.tokens.1/nvcr.io", "SEC-009",
          "~/.cache/enroot/.tokens.1", ".cache/enroot/.tokens.1"),
    Plant("truncate -s 2M .cache/enroot/layer", "ENV-001", "~/.cache/enroot", ".cache/enroot/layer"),
    Plant("echo 'other line {0}' > .bashrc.bak; chmod 600 .bashrc.bak", "SEC-006", "~/.bashrc.bak"),
    Plant("mkdir -p .cache/pip/http; truncate -s 2M .cache/pip/http/wheel", "ENV-001", "~/.cache/pip",
          ".cache/pip/http"),
    Plant("mkdir -p .cache/huggingface/hub; truncate -s 2M .cache/huggingface/hub/model;"
          " echo t > .cache/huggingface/token;"
          " chmod 600 .cache/huggingface/token", "ENV-001", "~/.cache/huggingface", ".cache/huggingface/hub"),
]  # fmt: skip
LEFT_TO_A_PERSON = [
    Plant("mkdir -p .cache/torch/hub; truncate -s 2M .cache/torch/hub/weights", "ENV-001", "~/.cache/torch"),
    Plant("mkdir -p .local/share/enroot/mine; truncate -s 2M .local/share/enroot/mine/root", "IMG-004",
          "~/.local/share/enroot"),
    Plant("mkdir -p .conda/pkgs; truncate -s 2M .conda/pkgs/a.tar", "ENV-001", "~/.conda/pkgs"),
    Plant("printf '#!/bin/sh\nexport TEAM={2}\nsrun x\n' > jobs/team.sbatch", "SEC-004", "~/jobs/team.sbatch:2"),
    Plant("printf '#!/bin/sh\nexport WANDB_API_KEY={0}\nsrun x\n' > jobs/other.sbatch", "SEC-004",
          "~/jobs/other.sbatch:2"),
    Plant("mkdir app; printf 'DEBUG=1\nKEY={0}\n' > app/.env", "SEC-004", "~/app/.env:2"),
    Plant("echo 'login {2} once' > .python_history", "SEC-004", "~/.python_history:1"),
    Plant("git init -q d; echo 'K={0}' > d/x.sh; git -C d add x.sh", "SEC-005", "~/d/x.sh:1"),
]  # fmt: skip


INNOCENT = (  # what is no finding, each with what a place of one would begin with
    ("printf '[pypi]\\nusername = me\\n' > .pypirc; chmod 644 .pypirc", "~/.pypirc"),
    ("ln -s 127.0.0.1:+4242 lock", "~/lock"),
    ("ln -s /run/user/1/podman.sock podman.sock; ln -s /tmp/ssh-1/agent .ssh_auth_sock", "~/podman.sock"),
    ("ln -s /local/job_123 jobtmp", "~/jobtmp"),
    ("echo 'export NGC_API_KEY=nvapi-{x}' > jobs/b.sh; echo 'export WANDB_RUN_ID={run}' >> jobs/b.sh", "~/jobs/b.sh"),
    ("echo 'K=hf_{x}' > .zshrc; echo 'echo {run} wandb.whl | sha1sum -c' >> .zshrc", "~/.zshrc"),
    (
        "mkdir -p enroot; echo 'machine nvcr.io login me password YOUR_KEY' > enroot/.credentials;"
        " chmod 600 enroot/.credentials",
        "~/enroot/",
    ),
    ("target=$(readlink work); ln -sfn $(dirname $target)/../$(basename $(dirname $target))/$USER_IS work", "~/work"),
)


class Fixed(NamedTuple):
    """What was found, what was shown, and what is found after the fixing; the home before and after."""

    account: Any
    scene: Scene
    found: Audit
    shown: Ran
    done: Ran
    again: Audit
    before: dict[str, str]
    after: dict[str, str]


def tree(account: Any) -> dict[str, str]:
    """Each path of the home: kind, mode, owner, and content as a sum."""
    listed = account.cluster.world.run(
        "sh", "-ec", f"cd {account.home}; find . -path ./.config/hpc.onboard -prune -o -printf '%p\\t%y %m %u %g %l\\n'"
    )
    sums = account.cluster.world.run("sh", "-ec", f"cd {account.home}; find . -type f -exec sha256sum {{}} +")
    found = dict(line.split("\t", 1) for line in listed.splitlines() if "\t" in line)
    for line in sums.splitlines():
        total, path = line.split("  ", 1)
        if path in found:
            found[path] += f" {total}"
    return found


@pytest.fixture(scope="module")
def fixed(bed: Any, tmp_path_factory: pytest.TempPathFactory) -> Fixed:
    account = bed.new_account("wilson")
    scene = Scene(bed, tmp_path_factory.mktemp("fix"), [account])
    assert scene.onboard().code == 0
    replaced(scene.environment["XDG_STATE_HOME"], DEAD)
    by_root(account, f"chmod 755 {account.home}")
    at(account, "mkdir dotfiles; [ ! -e .bashrc ] || mv .bashrc dotfiles/bashrc; ln -sfn dotfiles/bashrc .bashrc")
    at(account, f"cat >> dotfiles/bashrc <<'END'\n{BASHRC.format(*KEYS)}END\nchmod 640 dotfiles/bashrc")
    for plant in (*SAFE, *LEFT_TO_A_PERSON):
        at(account, plant.do.format(*KEYS))
    for command, _place in INNOCENT:
        at(account, command.format(x="x" * 64, run="0a1b" * 10).replace("$USER_IS", account.user))
    before = tree(account)
    found = scene.audit()
    order = ("-i", str(scene.inventory))
    shown = play(bed, *order, "--check", playbook="fix.yml", environment=scene.environment)
    assert tree(account) == before
    done = play(bed, *order, "-e", "fix_sure=true", playbook="fix.yml", environment=scene.environment)
    return Fixed(account, scene, found, shown, done, scene.audit(), before, tree(account))


def offers(audit: Audit) -> set[tuple[str, str]]:
    """Rule and path of each finding that can be fixed."""
    return {(one["rule"], re.sub(r":\d+$", "", one["place"])) for one in audit.findings if is_fixed(one)}


def is_fixed(finding: dict[str, Any]) -> bool:
    """Whether fix.yml is what fixes it."""
    return any("fix.yml" in step.get("command", ()) for step in finding["fix"])


def test_what_can_be_fixed_is_offered_and_nothing_else(fixed: Fixed) -> None:
    rc = {("SEC-004", "~/.bashrc"), ("SEC-008", "~/.bashrc")}
    assert offers(fixed.found) == {*rc, *((one.rule, one.path) for one in SAFE)}, fixed.found.ran.text
    places = {(one["rule"], one["place"]) for one in fixed.found.findings}
    assert {(one.rule, one.path) for one in LEFT_TO_A_PERSON} <= places


def test_what_is_no_key_and_no_dead_link_is_not_found(fixed: Fixed) -> None:
    places = [one["place"] or one["resource"] for one in fixed.found.findings]
    for _command, place in INNOCENT:
        assert [one for one in places if one.startswith(place)] == []
    assert [one["text"] for one in fixed.found.findings if "work" in one["resource"]] == []


def test_it_is_shown_before_it_is_done(fixed: Fixed) -> None:
    for one in SAFE:
        assert one.path in fixed.shown.text, fixed.shown.text
    assert "to fix" in fixed.shown.text


def test_afterwards_only_the_rest_is_found(fixed: Fixed) -> None:
    assert offers(fixed.again) == set(), fixed.done.text
    gone = {(one["rule"], one["place"]) for one in fixed.found.findings if is_fixed(one)}
    places = {(one["rule"], one["place"]) for one in fixed.again.findings}
    assert not places & gone, fixed.done.text
    assert {(one.rule, one.path) for one in LEFT_TO_A_PERSON} <= places


def test_nothing_else_changes(fixed: Fixed) -> None:
    changed = {path for path in fixed.before if fixed.before[path] != fixed.after.get(path)}
    about = {"./" + one.path[2:] for one in SAFE} | {"./dotfiles/bashrc"}
    taken = {"./" + one.gone for one in SAFE if one.gone}
    stray = {path for path in changed if path not in about and not any(path.startswith(one) for one in taken)}
    assert stray == set()
    assert {*fixed.after} <= {*fixed.before}
    assert {path for path in fixed.before if path not in fixed.after} == {
        path for path in fixed.before if any(path == one or path.startswith(one + "/") for one in taken)
    }
    assert fixed.after["./.bashrc"] == fixed.before["./.bashrc"]


def test_of_the_start_up_file_two_variables_go_and_every_other_byte_stays(fixed: Fixed) -> None:
    text = fixed.account.cluster.world.run("cat", f"{fixed.account.home}/dotfiles/bashrc")
    assert text.endswith(
        BASHRC.format(*KEYS)
        .replace(f"export APPTAINER_DOCKER_PASSWORD={KEYS[0]}\n", "")
        .replace(f" SINGULARITY_DOCKER_PASSWORD={KEYS[1]}", "")
    )


def test_without_a_terminal_nothing_is_done_that_nobody_agreed_to(fixed: Fixed) -> None:
    at(fixed.account, "ln -s /gone/again gone2")
    assert fixed.scene.audit().ran.code == 2
    order = ("-i", str(fixed.scene.inventory))
    ran = play(fixed.scene.bed, *order, playbook="fix.yml", environment=fixed.scene.environment)
    assert ran.code == 2
    assert "fix_sure=true" in ran.text
    at(fixed.account, "test -L gone2")
    assert at_terminal(fixed, "n") == 0
    at(fixed.account, "test -L gone2")
    at_terminal(fixed, "y")
    at(fixed.account, "test ! -L gone2")


def at_terminal(fixed: Fixed, answer: str) -> int:
    """The exit code of the command, where a person is shown what it is about and answers so."""
    scene = fixed.scene
    environment = {**scene.bed.client.environment(), **scene.environment, "TERM": "dumb"}
    program = COMMAND
    order = ["fix", "-i", str(scene.inventory)]
    run = pexpect.spawn(program, order, cwd=str(REPOSITORY), env=environment, encoding="utf-8", timeout=60)
    run.expect("gone2")
    run.expect("Apply the fixes listed above")
    run.send(f"{answer}\r")
    run.expect(pexpect.EOF)
    run.close()
    return int(run.exitstatus or 0)
