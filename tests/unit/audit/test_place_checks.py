# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which audit checks an account gets, and that they find nothing on an account that the roles have just set up."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from account_scene import KEY
from ansible_collections.hpc.onboard.plugins.module_utils._engine.engine import answer
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.accounts_file import AccountsFile
from ansible_collections.hpc.onboard.plugins.plugin_utils._accounts.host_variables import InventoryHost, build_hosts
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.audit_checks import KINDS as WATCHED
from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.place_checks import plan_place_checks
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.answer import parse
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.payload import build_command, build_payload
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.plan import KINDS, TYPES, Plan
from ansible_collections.hpc.onboard.plugins.plugin_utils._roles.collect import collect_resources
from ansible_collections.hpc.onboard.plugins.plugin_utils._roles.table import ROLES
from audit_check_runs import complete_options

from tests.testbed.pythons import python

FILE = Path(__file__).parents[3] / "inventory" / "practice.yml"


def shipped() -> dict[str, InventoryHost]:
    """The accounts that ship, by name."""
    return {host.name: host for host in build_hosts(AccountsFile.parse(FILE, FILE.read_text(encoding="utf-8")))}


ACCOUNTS = shipped()


def declared(host: InventoryHost) -> list[dict[str, Any]]:
    """What the roles declare for an account, where every program has its token."""
    variables = {**host.variables, "tokens_programs": [{"program": "huggingface"}]}
    return collect_resources(ROLES, host.variables["account"]["without"], [], variables.get).resources


def given(name: str) -> dict[str, dict[str, Any]]:
    """Return the audit checks of an account: options by kind."""
    host = ACCOUNTS[name]
    real = {name: value for name, value in host.variables["account"].items() if name != "sandbox"}
    listed = plan_place_checks(host.variables["cluster"], real, declared(host))
    return {one["kind"]: one["options"] for one in listed}


def test_a_sandbox_has_no_quota_to_look_at() -> None:
    host = next(iter(ACCOUNTS.values()))
    listed = plan_place_checks(host.variables["cluster"], host.variables["account"], declared(host))
    assert "quota" not in [one["kind"] for one in listed]


@pytest.mark.parametrize("name", sorted(ACCOUNTS))
def test_the_checks_get_options_that_they_know(name: str) -> None:
    assert list(given(name)) == [
        "home_caches",
        "conda_traces",
        "areas",
        "quota",
        "slurm_rights",
        "job_requests",
        "startup_files",
        "tool_settings",
    ]
    for kind, options in given(name).items():
        specs = WATCHED[kind].OPTIONS
        assert set(WATCHED[kind].with_defaults(options)) == set(specs)
        assert all(isinstance(value, TYPES[specs[option]["type"]]) for option, value in options.items())
        assert all(value in specs[option].get("choices", [value]) for option, value in options.items())
    assert "{user}" not in json.dumps(given(name))
    assert "{project}" not in json.dumps(given(name))


def test_partitions_that_only_the_job_scripts_name_are_checked() -> None:
    cluster = {**next(iter(ACCOUNTS.values())).variables["cluster"], "scheduler": {"kind": "slurm", "cpu": "--qos=cpu"}}
    script = {
        "path": "~/a.sh",
        "content": "#SBATCH --partition=own\n#SBATCH --qos=long\nsrun --partition=step\ngpu_qos='often'\ncpu_qos=''\n",
    }
    question = {"account": "def-pi", "suffixes": {"gpu": "_gpu"}}
    entries: Any = [
        {"kind": kind, "capability": "job_scripts", "options": options}
        for kind, options in (("scheduler", question), ("path_script", script))
    ]
    (options,) = [one["options"] for one in plan_place_checks(cluster, {}, entries) if one["kind"] == "slurm_rights"]
    assert (options["used"], options["qos"]) == (["own"], ["cpu", "long", "often"])
    assert (options["account"], options["suffixes"]) == ("def-pi", {"gpu": "_gpu"})


@pytest.mark.parametrize("name", sorted(ACCOUNTS))
def test_an_account_that_was_just_set_up_is_in_order(name: str, tmp_path: Path) -> None:
    host = ACCOUNTS[name]
    sandbox = {**host.variables["account"]["sandbox"], "root": str(tmp_path)}
    entries = Plan.of(declared(host), lambda secret: "hf_" + "A" * 34 if secret == "huggingface" else "k" * 40).entries
    plan = {"resources": entries, "work": "reconcile", "fingerprint_key": KEY, "sandbox": sandbox}
    assert {one["status"] for one in answer(plan, KINDS)["outcomes"]} <= {"missing", "ok", "different"}
    listed = plan_place_checks(host.variables["cluster"], host.variables["account"], declared(host))
    said = answer({**plan, "resources": listed, "work": "examine"}, WATCHED)["outcomes"]
    slow = {key for one in said for key in one["before"] if key.startswith("ENV-004")}  # of a busy machine
    assert [(one["identity"], set(one["before"]) - slow) for one in said if set(one["before"]) - slow] == []
    assert {one["reason"] for one in said} == {None}


def test_what_the_site_says_arrives() -> None:
    wilson, lrz = given("simone@wilson"), given("go42tum@lrz")
    assert wilson["home_caches"]["wanted"]["*"].startswith("/work1/")
    assert wilson["home_caches"]["big_bytes"] == 250_000_000
    assert "/wclustre/" in wilson["home_caches"]["wanted"]["apptainer"]
    assert wilson["conda_traces"]["belongs"].startswith("/work1/")
    assert lrz["conda_traces"]["policy"] == "refused"
    assert lrz["quota"]["command"] == "dssusrinfo all"
    assert [one["name"] for one in lrz["quota"]["places"]] == ["home", "dss"]
    assert lrz["areas"]["own"] == [{"path": "~/dss"}]


def test_the_shells_of_the_audit_can_be_turned_off() -> None:
    host = next(iter(ACCOUNTS.values()))
    listed = plan_place_checks(host.variables["cluster"], {}, declared(host), may_start_shells=False)
    assert [one["options"]["shells"] for one in listed if one["kind"] == "startup_files"] == [False]


def test_a_purged_area_is_watched_by_its_clock() -> None:
    name = next(name for name in ACCOUNTS if name.endswith("@daint"))
    assert given(name)["areas"]["purged"] == [{"name": "scratch", "path": "$SCRATCH", "days": 30, "clock": "atime"}]
    assert given(name)["conda_traces"]["purged"] == [{"name": "scratch", "path": "$SCRATCH", "days": 30}]


@pytest.mark.parametrize("python", [str(python(3, 6) or "python3"), sys.executable])
def test_the_checks_travel_with_all_that_they_need(python: str, tmp_path: Path) -> None:
    """The account gets only the modules that a kind names; it must be able to import them all."""
    listed = [
        {"kind": kind, "capability": "watch", "options": complete_options(cls, {})}
        for kind, cls in WATCHED.items()
        if not any(spec.get("required") for spec in cls.OPTIONS.values())
    ]
    (tmp_path / ".bashrc").write_text("export HF_TOKEN=hf_" + hashlib.sha256(b"hf").hexdigest()[:34] + "\n")
    sandbox = {"root": "", "home": str(tmp_path), "shell": "/bin/sh", "environment": {}}
    plan = {"resources": listed, "work": "examine", "fingerprint_key": KEY, "sandbox": sandbox}
    command = ["/bin/sh", "-c", build_command(python, [])]
    done = subprocess.run(
        command, input=build_payload(plan, WATCHED.places), capture_output=True, timeout=120, check=False
    )
    said = parse(done.stdout.decode(), done.stderr.decode(), done.returncode, "simone@dfki")
    assert said["error"] is None
    assert [one["reason"] for one in said["outcomes"] if "a bug" in str(one["reason"])] == []
    assert "SEC-004 ~/.bashrc:1" in [place for one in said["outcomes"] for place in one["before"]]


def test_the_scripts_of_jobs_are_not_looked_for_on_path() -> None:
    host = next(iter(ACCOUNTS.values()))
    variables = {**host.variables, "job_scripts_templates": ["all"]}
    entries = collect_resources(["launchers", "job_scripts"], [], [], variables.get).resources
    assert len([one for one in entries if one["kind"] == "path_script"]) > 1
    listed = plan_place_checks(host.variables["cluster"], host.variables["account"], entries)
    (programs,) = (one["options"]["programs"] for one in listed if one["kind"] == "startup_files")
    assert programs == [{"path": "~/bin/usrun.sh"}]
