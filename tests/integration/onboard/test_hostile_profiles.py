# SPDX-License-Identifier: GPL-3.0-or-later
"""A hostile profile runs nothing on the account, and most of it is refused before the account is entered."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.profiles import read_profile
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.diagnostics import Mistakes

from tests.effort import chance, exhaustive, sample
from tests.hostile_documents import changed, hostile, texts
from tests.hostile_words import DOCUMENTS
from tests.integration.audit.audit_scene import by_root
from tests.integration.runs import COMMAND, REPOSITORY, play

pytestmark = pytest.mark.testbed

MALLORY = 4321  # a user id of nobody else's
SHIPPED = (REPOSITORY / "inventory/clusters/wilson.yml").read_text()
AREA = "  - name: tools\n    path: /wclustre/mallory\n    link: {link}\n    source: filesystems\n\nlinks:\n  by: us"
REFUSED = {  # in the profile -> in its place, and what is wrong
    "name: Fermilab Wilson cluster": ('name: "Evil\\ntouch ~/mark\\n#"', '"name" contains the character \\u000a'),
    "link: work\n": ("link: bin\n", '"link" is invalid'),
    "    note: Meant for about a month.": ('    note: "a\\e]52;c;ZXZpbA==\\a"', "contains the character \\u001b"),
    "gpu: --partition=gpu_gce --gres=gpu:a100:1": (
        "gpu: --gpus=1 python3 -m http.server 8123",
        '"gpu" is invalid',
    ),
    "cpu: --partition=cpu_gce\n": ("cpu: --export=ALL,LD_PRELOAD=/x.so\n", '"cpu" is invalid'),
    "test: --partition=cpu_gce_test": ("test: --wrap=id", '"test" is invalid'),
    "\nhuman_steps:": (
        "\nquota_command: evilquota -x /etc\nmirrors: {pypi: http://evil.example:8080/simple}\n"
        "launchers: [{name: ls}]\n\nhuman_steps:",
        '"quota_command" is invalid',
    ),
}
MORE = (  # on the lines that the last one adds
    '"mirrors" is not supported in your own profile, because a package index supplies programs. Set your index in',
    '"pypi" is invalid',
    '"name" is invalid. Expected: File name of the script. The name must end in .sh',
)


def own_profile(folder: Path, text: str) -> dict[str, Any]:
    """Write a profile that goes before the one that ships; return what an accounts file says of it."""
    (folder / "ours").mkdir(exist_ok=True)
    (folder / "ours" / "wilson.yml").write_text(text)
    return {"profiles": [str(folder / "ours")]}


def edited(text: str, *changes: tuple[str, str]) -> str:
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new, 1)
    return text


@pytest.fixture
def mallorys(bed: Any) -> Iterator[str]:
    """A folder of another user's, with programs that leave a mark, and a Python that keeps what it is sent."""
    folder = "/wclustre/mallory"
    trap = f"printf '#!/bin/sh\\ntouch {folder}/mark; cat >>{folder}/stolen; exit 1\\n'"
    world = bed.cluster("wilson").world
    script = f"mkdir -p {folder}; for one in py usrun.sh ls; do {trap} >{folder}/$one; done"
    world.run("sh", "-ec", f"{script}; chmod -R 755 {folder}; chmod 777 {folder}; chown -R {MALLORY} {folder}")
    yield folder
    world.run("rm", "-rf", folder)


def test_what_a_hostile_profile_creates_on_an_account_runs_nothing_of_another_user(
    bed: Any, mallorys: str, tmp_path: Path
) -> None:
    account = bed.new_account("wilson")
    text = edited(
        SHIPPED,
        ("links:\n  by: us", AREA.format(link="tools")),
        ("\nhuman_steps:", f"\npython: {{value: [{mallorys}/py], source: tutorial}}\n\nhuman_steps:"),
        ("gpu: --partition=gpu_gce --gres=gpu:a100:1", "gpu: -p gpu_gce -G 1"),
    )
    by_root(account, "mkdir -p /wclustre/scripts; echo mine >/wclustre/scripts/usrun.sh")
    own = {
        "links": {"~/bin": "/wclustre/scripts"},
        "job_scripts": {"templates": ["batch"]},
        "launchers": {"folder": "~/bin"},
    }
    inventory = bed.accounts_file([account], own_profile(tmp_path, text), settings={account.name: own})
    ran = play(bed, "-i", str(inventory))
    assert ran.code == 2, ran.text
    assert not os.path.exists(account.path(f"{mallorys}/mark")), "a program of another user was started"
    assert not os.path.exists(account.path(f"{mallorys}/stolen")), "it was sent the plan"
    blocked = {one["identity"]: one["reason"] for one in ran.outcomes(account.name) if one["status"] == "blocked"}
    assert blocked.pop("script ~/bin/usrun.sh").startswith("~/bin/usrun.sh is a file not created by hpc-onboard")
    assert not blocked
    assert account.exists("tools"), "project folders belong to their leader, so a link may lead to another user's"
    script = account.read(f"/work1/{account.project}/{account.user}/jobs/batch.sh").decode()
    assert {"#SBATCH --partition=gpu_gce", "#SBATCH --gpus=1"} <= set(script.splitlines())
    notes = json.loads(account.read(".config/hpc.onboard/receipt.json"))["resources"]
    assert {key for key, note in notes.items() if note["state"] == "intended"} == set(), "it was not going to be made"
    gone = play(bed, "-i", str(inventory), "-e", "offboard_sure=true", playbook="offboard.yml")
    assert gone.code == 0, gone.text
    assert account.path("/wclustre/scripts/usrun.sh").read_text() == "mine\n"


def test_a_hostile_profile_is_refused_by_file_and_line_before_the_account_is_entered(bed: Any, tmp_path: Path) -> None:
    account = bed.new_account("wilson")
    before = account.tree()
    text = edited(SHIPPED, *((old, new) for old, (new, _said) in REFUSED.items()))
    settings = {account.name: {"without": ["launchers"], "job_scripts": {"templates": ["batch"]}}}
    inventory = bed.accounts_file([account], own_profile(tmp_path, text), settings=settings)
    ran = play(bed, "-i", str(inventory), environment={"COLUMNS": "900"})
    assert ran.code == 2, ran.text
    assert (account.logins(), account.tree()) == (0, before)
    assert "\x1b]52" not in ran.text
    said = [line.partition("wilson.yml:")[2] for line in ran.text.splitlines() if "wilson.yml:" in line]
    for wrong in (*(wrong for _new, wrong in REFUSED.values()), *MORE):
        assert any(wrong in one and one.partition(":")[0].isdigit() for one in said), (wrong, ran.text)


def command(folder: Path, *words: str) -> str:
    """Return what the command prints; it ends with 2, in seconds."""
    environment = {**os.environ, "HOME": str(folder), "COLUMNS": "500"}
    environment.pop("HPC_ONBOARD_ACCOUNTS", None)
    done = subprocess.run(
        [COMMAND, *words], cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=20
    )
    assert done.returncode == 2, (words, done.returncode, done.stdout[-500:] + done.stderr[-2000:])
    return done.stdout + done.stderr


@pytest.mark.parametrize("is_profile", [True, False])
def test_a_document_without_bounds_is_one_error_with_its_line(tmp_path: Path, is_profile: bool) -> None:
    (tmp_path / "ours").mkdir()
    sound = "plugin: hpc.onboard.accounts\nprofiles: [ours]\naccounts: {ada@attic: {}}\n"
    verbs = (["cheatsheet", "attic"], ["profile", "check", "ours/attic.yml"], ["plan"])
    if not is_profile:
        verbs = (["status"], ["cheatsheet", "attic"], ["plan"])
    for name in sample(list(DOCUMENTS), 2, "documents without bounds", is_profile):
        file = tmp_path / ("ours/attic.yml" if is_profile else "accounts.yml")
        (tmp_path / "accounts.yml").write_text(sound)
        file.write_text(f"id: attic\n{DOCUMENTS[name]}" if is_profile else DOCUMENTS[name])
        for verb in verbs:
            said = command(tmp_path, *verb)
            assert "Traceback" not in said, (name, verb)
            assert f"{file.name}:" in said, (name, verb, said)
            assert said.partition(f"{file.name}:")[2][0].isdigit(), (name, verb, said)


TRAPS = ("curl", "pip", "evilquota", "srun")
BESIDE = re.compile(
    r"/\.config(/hpc\.onboard(/(receipt\.json|env\.\w+))?|/fish.*)?|/\.(profile|\w*sh\w*|hpc\.onboard\.lock)"
)


def accepted(mark: str) -> list[str]:
    """Return profiles with a hostile word in one field, of those that the schema takes."""
    document = json.loads(json.dumps(yaml.safe_load(SHIPPED), default=str))
    document["python"] = {"value": ["/opt/python/bin/python3"], "source": "tutorial"}
    document["quota_command"] = {"value": "quota", "source": "tutorial"}
    document["launchers"] = [{"name": "usrun.sh", "image": "/x.sqsh", "source": "tutorial"}]
    every = [(way, word) for way in texts(document) for word in hostile(document, way, mark)]
    taken = []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "wilson.yml")
        for way, word in chance("profiles with a hostile word").sample(every, 1000):
            file.write_text(json.dumps(changed(document, way, word)))
            with contextlib.suppress(Mistakes):
                read_profile(file)
                taken.append(file.read_text())
    return taken


@exhaustive
def test_no_accepted_profile_with_a_hostile_word_starts_a_program_or_leaves_a_file_outside_the_plan(
    bed: Any, tmp_path: Path, count: Any
) -> None:
    account = bed.new_account("wilson")
    mark = "/tmp/mark-of-a-profile"
    trap = f"printf '#!/bin/sh\\necho \"$0 $*\" >>{mark}\\n'"
    by_root(account, f"cd /usr/local/bin; for one in {' '.join(TRAPS)}; do {trap} >$one; chmod 755 $one; done")
    own = {"job_scripts": {"templates": ["all"], "command": "true"}}
    taken = accepted(mark)[:15]
    for text in taken:
        inventory = bed.accounts_file([account], own_profile(tmp_path, text), settings={account.name: own})
        before = account.tree()
        ran = play(bed, "-i", str(inventory))
        planned = (
            [one["identity"].replace("~", account.home) for one in ran.outcomes(account.name)] if ran.results else []
        )
        for path in account.tree().keys() - before.keys():
            is_planned = any(path in one for one in planned)
            assert is_planned or BESIDE.fullmatch(path.removeprefix(account.home)), (path, planned)
        account.login_shell("for one in ~/bin/*.sh; do $one --show --image=none true; done")
        assert not os.path.exists(account.path(mark)), account.path(mark).read_text()
        assert not account.processes()
    count("accepted hostile profiles", len(taken), 0)
