# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What Slurm says of an account, and the text that waits for it: in one plan, in their order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from account_scene import Scene
from ansible_collections.hpc.onboard.plugins.module_utils._core.account import Account
from ansible_collections.hpc.onboard.plugins.module_utils._core.host import Host
from ansible_collections.hpc.onboard.plugins.module_utils._core.resource import Outcome, examine
from ansible_collections.hpc.onboard.plugins.module_utils._resources.path_script import PathScript
from ansible_collections.hpc.onboard.plugins.module_utils._slurm.scheduler import Scheduler
from resource_tables import Case, judge, table

TEXT = "#!/bin/sh\necho @slurm_account@\n"


@table(Case("a sandbox has nothing to ask", {}, {"account": "p1", "required": "yes"}, "ok"))
def test_scheduler(scene: Scene, case: Case) -> None:
    judge(scene, "scheduler", case)


def test_a_text_gets_the_chosen_account_in_a_sandbox(scene: Scene) -> None:
    script = {"kind": "path_script", "path": "~/bin/count", "content": TEXT, "found": ["slurm_account"]}
    scene.run({"kind": "scheduler", "account": "p1"}, script)
    assert b"echo p1\n" in scene.at("~/bin/count").read_bytes()


def known_host(tmp_path: Path, accounts: Any) -> Host:
    """An account where these accounts of Slurm are known of today."""
    account = Account(str(tmp_path), "/bin/sh", {"PATH": str(tmp_path / "none")})
    if accounts is not None:
        known = [{"name": name, "qos": [], "default_qos": ""} for name in accounts]
        account.facts["slurm"] = {"accounts": known, "default": "", "partitions": [], "missed": [], "fresh": True}
    return Host(account, b"k" * 32)


def outcomes(tmp_path: Path, accounts: list[str] | None, **options: Any) -> tuple[Outcome, Outcome]:
    """What comes of the question and of a script that names the account, where these accounts are known of today."""
    host = known_host(tmp_path, accounts)
    asked = examine(Scheduler(Scheduler.with_defaults(options)).with_expanded_paths(host), host)
    script = PathScript.with_defaults({"path": "~/bin/count", "content": TEXT, "found": ["slurm_account"]})
    return asked, examine(PathScript(script).with_expanded_paths(host), host)


@pytest.mark.parametrize(
    ("accounts", "options", "line"),
    [
        (["p1"], {}, "echo p1\n"),
        (["p1", "p2"], {"account": "p2", "required": "yes"}, "echo p2\n"),
        (["p1", "p2"], {}, "echo \n"),  # Slurm has a default, and the site wants no name
        (None, {"likely": "p1", "required": "yes"}, "echo p1\n"),
        (None, {"required": "yes"}, "echo \n"),
    ],
)
def test_what_the_script_says(tmp_path: Path, accounts: Any, options: Any, line: str) -> None:
    asked, script = outcomes(tmp_path, accounts, **options)
    assert (asked.status, script.status) == ("ok", "missing")
    assert line in script.after["content"]


@pytest.mark.parametrize(
    ("accounts", "options", "why"),
    [
        (["p1", "p2"], {"required": "yes"}, "several Slurm accounts (p1, p2). Set"),
        (["p1"], {"account": "gone"}, "'gone' is not one of your Slurm accounts"),
        ([], {"required": "yes"}, "you have no Slurm account"),
    ],
)
def test_what_needs_an_account_waits_until_one_is_chosen(tmp_path: Path, accounts: Any, options: Any, why: str) -> None:
    asked, script = outcomes(tmp_path, accounts, **options)
    assert asked.status == "ok"
    assert script.status == "blocked"
    assert why in str(script.reason)


def test_each_script_gets_the_account_of_its_jobs(tmp_path: Path) -> None:
    both = {"gpu": "echo @slurm_account@\n", "cpu": "echo @slurm_cpu_account@\n"}

    def scripts(*accounts: str) -> list[Outcome]:
        host = known_host(tmp_path, accounts)
        Scheduler(Scheduler.with_defaults({"suffixes": {"cpu": "_cpu", "gpu": "_gpu"}})).with_expanded_paths(host)
        found = {"gpu": ["slurm_account"], "cpu": ["slurm_cpu_account"], "both": ["slurm_account", "slurm_cpu_account"]}
        texts = {**both, "both": both["gpu"] + both["cpu"]}
        options = [{"path": f"~/{one}", "content": f"#!/bin/sh\n{texts[one]}", "found": found[one]} for one in texts]
        return [examine(PathScript(PathScript.with_defaults(one)).with_expanded_paths(host), host) for one in options]

    lines = [one.after["content"].splitlines()[-2:] for one in scripts("def-pi_cpu", "def-pi_gpu")]
    assert [line[-1] for line in lines] == ["echo def-pi_gpu", "echo def-pi_cpu", "echo def-pi_cpu"]
    assert lines[2][0] == "echo def-pi_gpu"
    assert [one.status for one in scripts("def-pi_cpu")] == ["blocked", "missing", "missing"]
    assert [one.status for one in scripts("a_cpu", "a_gpu", "b_cpu", "b_gpu")] == ["blocked"] * 3


def test_it_is_said_what_was_not_measured_where_a_job_needs_it(tmp_path: Path) -> None:
    assert "not found: sacctmgr" in outcomes(tmp_path, None, required="yes")[0].remarks[0]
    assert outcomes(tmp_path, None)[0].remarks == []
    assert outcomes(tmp_path, None, likely="p1", required="yes")[0].remarks == []


def test_what_was_asked_is_told_and_what_was_known_is_not(tmp_path: Path) -> None:
    reported = {"accounts", "default", "partitions", "default_partition", "missed"}
    assert set(outcomes(tmp_path, None)[0].evidence["slurm"]) == reported
    assert outcomes(tmp_path, ["p1"])[0].evidence == {}
