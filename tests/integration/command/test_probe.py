# SPDX-License-Identifier: GPL-3.0-or-later
"""hpc-onboard probe over real ssh and real Slurm: a cluster without a profile, and a profile with wrong facts."""

from __future__ import annotations

import json
import os
import re
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.profiles import SHIPPED, read_profile

from tests.effort import turns
from tests.integration.command.person import Person
from tests.integration.onboard.test_canary import PROGRAMS, recorded, server_of
from tests.integration.onboard.test_code_login import ended

pytestmark = [pytest.mark.testbed, turns(3)]

HOST = "login1.attic.example.org"
WRONG: dict[str, Any] = {  # facts that the cluster's own Slurm, folders and machine contradict
    "home.path": "/homes/{user}",
    "storage.work1.path": "/elsewhere/{user}",
    "container.images": "/elsewhere/images",
    "arch": ["ppc64le"],
    "os": "Rocky Linux 9.6",
    "scheduler.partitions": ["gpu_gce", "gone"],
    "scheduler.hours": 48,
    "scheduler.partition_hours": {"cpu_gce_test": 2},
    "scheduler.gpu": "--partition=gpu --gpus=1",
    "scheduler.test": "--gres=gpu:h100:1",
    "scheduler.gpus_per_node": [1, 2, 8],
    "scheduler.gpu_nodes": {"a100": 3},
    "scheduler.partition_required": True,
}
QUOTA = """#!/bin/sh
cat <<'END'
                             Description                Space           # of files
                     /home (user x)           4 GB/50 GB              489/250k
END
"""
WITHOUT = ("extends", "sources", "verified_on", "status", "human_steps", "formerly")  # of a profile of one's own


@pytest.fixture
def person(bed: Any, tmp_path: Path) -> Person:
    found = Person(bed, tmp_path)
    found.environment["XDG_STATE_HOME"] = tempfile.mkdtemp(prefix="p")  # sockets need a short path
    return found


def test_a_cluster_without_a_profile_is_set_up(bed: Any, person: Person, say: Callable[[str], None]) -> None:
    """Address, probe, three questions; then the account is set up, and a second run changes nothing."""
    begun = time.monotonic()
    account = bed.new_account("dfki")
    bed.slurm("dfki").admit(account)
    area = account.path(f"/data/{account.user}")
    area.mkdir(mode=0o700)
    os.chown(area, account.login_entry.uid, account.login_entry.gid)
    person.knows(HOST, "dfki")
    before = account.tree()
    run = person.at_terminal("init", **person.with_key())
    decisions = 0
    for question, words in (
        ("Where do you have accounts(?s:.*)> ", f"{account.user}@{HOST}"),
        ("is not a known cluster(?s:.*)> ", "y"),
        (r"the full name of the cluster attic\? \[attic\] ", "The attic's cluster"),
        (r"private conda.*\] ", "allowed"),
        ("Write this to(?s:.*)> ", "y"),
        ("Check the login(?s:.*)> ", "n"),
    ):
        run.expect(question)
        run.sendline(words)
        decisions += 1
    code, said = ended(run)
    assert code == 0, said
    asked = time.monotonic() - begun
    assert decisions <= 6
    assert account.tree() == before, "nothing is written there"
    file = person.accounts.parent / "our-clusters" / "attic.yml"
    profile = yaml.safe_load(file.read_text(encoding="utf-8"))
    assert profile["name"] == "The attic's cluster"
    assert profile["scheduler"]["partitions"] == ["batch"]
    assert profile["scheduler"]["gpu"] == "--gres=gpu:a100:1"
    assert profile["scheduler"]["gpus_per_node"] == [1, 2, 3, 4, 5, 6, 7, 8]
    assert profile["scheduler"]["partition_hours"] == {"batch": 72}
    assert profile["storage"] == [{"name": "data", "path": "/data/{user}", "link": "data"}]
    assert profile["conda"] == {"policy": "allowed", "area": "data", "below": "conda"}

    name = f"{account.user}@attic"
    assert yaml.safe_load(person.accounts.read_text(encoding="utf-8"))["accounts"] == {name: None}
    checked = person.types("profile", "check")
    assert checked.returncode == 0, checked.stderr
    for expected in ("created", "1 account: 1 unchanged"):
        onboarded = person.types("onboard", name, "-e", "conda_wanted=false", **person.with_key())
        assert onboarded.returncode == 0, onboarded.stdout + onboarded.stderr
        assert expected in onboarded.stdout
    took = time.monotonic() - begun
    assert took < 300, "ten minutes, of which half are a person's typing"
    say(f"unknown cluster: asked in {asked:.1f} s with {decisions} decisions, set up and unchanged after {took:.1f} s")
    again = person.types("probe", "-v", name)
    assert again.returncode == 0
    assert "differs" not in again.stdout, again.stdout


def test_wrong_facts_of_a_profile_are_shown_and_corrected(bed: Any, person: Person, tmp_path: Path) -> None:
    account = bed.new_account("wilson")
    bed.slurm("wilson").admit(account)
    person.knows("wc.fnal.gov", "wilson")
    own = person.home / "our-clusters"
    own.mkdir()
    profile = {key: one for key, one in read_profile(SHIPPED / "wilson.yml").items() if key not in WITHOUT}
    for fact, value in WRONG.items():
        _set(profile, fact.split("."), value)
    (own / "wilson.yml").write_text(yaml.safe_dump(profile), encoding="utf-8")
    settings = {account.name: {"auth": "key", "ssh": "wc.fnal.gov", "project": account.project}}
    accounts = {"plugin": "hpc.onboard.accounts", "profiles": ["our-clusters"], "accounts": settings}
    (person.home / "accounts.yml").write_text(yaml.safe_dump(accounts), encoding="utf-8")
    account.reset_sessions()
    with recorded(server_of(account), PROGRAMS, tmp_path / "programs"):
        ran = person.types("probe", ANSIBLE_SSH_ARGS="-o ControlMaster=no")
    traced = (tmp_path / "programs").read_text(encoding="utf-8", errors="replace")
    _session, _engine, started = traced.partition('"-I", "-S", "-c"')
    commands = re.findall(
        r'execve\("/usr/bin/(?:sinfo|sacctmgr|scontrol|sshare|quota|lfs)", (\[[^]]*\]).*= 0$', started, re.MULTILINE
    )
    assert 2 < len(commands) == len(set(commands)), "each program of the site is started once"
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert account.sessions() == 1
    shown = {line.split()[2].rstrip(":") for line in ran.stdout.splitlines() if line.startswith("  ! differs")}
    expected = {
        "scheduler.partition_hours.cpu_gce_test" if fact.endswith("partition_hours") else fact for fact in WRONG
    }
    assert shown >= expected, expected - shown

    written = person.types("probe", "--write")
    assert written.returncode == 0, written.stdout + written.stderr
    corrected = read_profile(own / "wilson.yml")
    assert corrected["scheduler"]["gpu_nodes"] == {"a100": 1, "v100": 1}
    assert corrected["scheduler"]["partition_hours"] == {"cpu_gce_test": 4}
    assert corrected["home"]["path"] == account.home.replace(account.user, "{user}")
    left = {line.split()[2].rstrip(":") for line in person.types("probe").stdout.splitlines() if "! differs" in line}
    assert left == {"storage.work1.path", "container.images", "scheduler.gpu", "scheduler.test"}, "none has a value"


def test_modules_and_quotas_are_those_that_a_login_shell_has(bed: Any, person: Person) -> None:
    """Lmod itself, and the site's quota command in the form that the Alliance documents."""
    account = bed.new_account("narval")
    bed.modules("narval").add_module("apptainer/1.3.5", "")
    tool = account.cluster.world.root / "usr/local/bin/diskusage_report"
    tool.write_text(QUOTA, encoding="ascii")
    tool.chmod(0o755)
    person.knows("narval.alliancecan.ca", "narval")
    entry = {"auth": "key", "ssh": "narval.alliancecan.ca", "project": account.project}
    accounts = {"plugin": "hpc.onboard.accounts", "accounts": {account.name: entry}}
    (person.home / "accounts.yml").write_text(yaml.safe_dump(accounts), encoding="utf-8")
    tried = {"what": "nvcr.io is reachable", "way": "reach", "works": True, "why": ""}
    jobs = person.home / "jobs.json"
    jobs.write_text(json.dumps({"accounts": [{"name": account.name, "checks": [tried]}]}), encoding="utf-8")
    ran = person.types("probe", "-v", "--jobs", str(jobs))
    assert ran.returncode == 0, ran.stdout + ran.stderr
    rows = {words[2].rstrip(":"): words[1] for line in ran.stdout.splitlines() if len(words := line.split()) > 2}
    assert rows["container.module"] == "agrees"
    assert rows["home.bytes"] == "agrees"
    assert rows["home.files"] == "differs", ran.stdout
    assert rows["compute.internet"] == "differs", "Narval's jobs have none, says the profile"
    jobs.write_text("[]", encoding="utf-8")
    wrong = person.types("probe", "--jobs", str(jobs))
    assert wrong.returncode == 2
    assert "was not written by `hpc-onboard test-job" in " ".join((wrong.stdout + wrong.stderr).split())


def _set(node: Any, steps: list[str], value: Any) -> None:
    """Set a fact; an area of a list is found by its name, and gets another root."""
    step, *rest = steps
    if isinstance(node, list):
        node = next(one for one in node if one["name"] == step)
        node["root"] = "/elsewhere"
        step, *rest = rest
    if rest:
        _set(node[step], rest, value)
    else:
        node[step] = value
