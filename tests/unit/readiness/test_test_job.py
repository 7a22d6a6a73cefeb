# SPDX-License-Identifier: GPL-3.0-or-later
"""What a job tries at each site, from what is declared there, and what is not tried, with the reason."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.plugin_utils._readiness import account_reports
from ansible_collections.hpc.onboard.plugins.plugin_utils._readiness.test_job import (
    JobTestSettings,
    plan_checks,
    plan_job,
    split_outcome,
)

LINK = {"kind": "storage_link", "capability": "storage_links", "options": {"path": "~/work", "target": "/work/ada"}}
KEY = {
    "kind": "enroot_credential",
    "capability": "enroot_credentials",
    "options": {"machine": "nvcr.io", "secret": "ngc", "path": "~/enroot/.credentials"},
}
SCRIPT = {"kind": "path_script", "capability": "launchers", "options": {"path": "~/bin/usrun.sh"}}
ENVIRONMENT = {"kind": "shell_environment", "capability": "tokens", "options": {"section": "tokens"}}
PLAIN = JobTestSettings(False, "", "")
EVERY: Any = [LINK, KEY, SCRIPT, ENVIRONMENT]


def whats(cluster: Any, wishes: JobTestSettings, declared: Any = EVERY) -> tuple[list[str], list[str]]:
    found = plan_checks(cluster, declared, wishes)
    return [one["what"] for one in found.checks], [one.what for one in found.skipped]


def test_what_is_declared_is_tried() -> None:
    checks, skipped = whats({}, JobTestSettings(True, "/i.sqsh", ""))
    assert checks == [
        "~ is writable",
        "/work/ada is writable",
        "~/bin/usrun.sh is readable",
        "~/enroot/.credentials exists and is private",
        "the environment loads",
        "nvcr.io is reachable",
        "a container starts from /i.sqsh",
        "a GPU is visible",
    ]
    assert skipped == []


def test_what_cannot_work_is_not_tried_and_said() -> None:
    cluster = {"compute": {"internet": "none"}, "home": {"on_compute": "ro"}}
    checks, skipped = whats(cluster, PLAIN, [LINK, KEY])
    assert checks == ["/work/ada is writable", "~/enroot/.credentials exists and is private"]
    assert skipped == ["~ is writable", "nvcr.io"]


ENV: Any = {"kind": "python_env", "capability": "python_envs", "options": {"path": "~/envs/ml"}}
OUTPUT: Any = {"kind": "directory", "capability": "job_scripts", "options": {"path": "~/jobs/output"}}
IMPORT: Any = {"kind": "path_script", "capability": "job_scripts", "options": {"path": "~/jobs/import.sh"}}


def test_what_jobs_need_in_a_home_that_they_cannot_read_is_tried_all_the_same() -> None:
    cluster = {"home": {"on_compute": "ticket"}, "container": {"on_login": True}}
    settings = JobTestSettings(False, "/i.sqsh", "/work/ada")
    checks, skipped = whats(cluster, settings, [*EVERY, ENV, OUTPUT])
    assert checks == [
        "/work/ada is writable",
        "~/jobs/output is writable",
        "~/bin/usrun.sh is readable",
        "~/envs/ml/activate is readable",
        "nvcr.io is reachable",
        "a container starts from /i.sqsh",
    ]
    assert skipped == ["~ is writable", "~/enroot/.credentials"]
    assert "~/enroot/.credentials exists and is private" in whats(cluster, settings, [KEY, IMPORT])[0]
    assert "~/enroot/.credentials exists and is private" in whats({"home": cluster["home"]}, settings, [KEY])[0]


def test_a_proxy_stands_for_the_registry() -> None:
    checks, _skipped = whats({"proxies": {"https": "http://proxy.example.org:3128"}}, JobTestSettings(False, "", ""))
    assert "the proxy proxy.example.org is reachable" in checks


def test_the_proxy_of_jobs_goes_before_that_of_login_nodes_and_its_module_before_both() -> None:
    cluster = {"proxies": {"https": "http://login.example.org:1"}, "compute": {"proxy": "http://jobs.example.org:2"}}
    (check,) = [one for one in plan_checks(cluster, EVERY, PLAIN).checks if one["way"] == "reach"]
    assert check["words"] == ["jobs.example.org", "2"]
    by_module: Any = {**cluster, "compute": {"module": "httpproxy", "internet": "none"}}
    (check,) = [one for one in plan_checks(by_module, EVERY, PLAIN).checks if "proxy" in one["what"]]
    assert (check["way"], check["words"]) == ("proxy_module", ["httpproxy"])


def test_what_is_to_be_absent_is_not_tried() -> None:
    gone = [{**one, "options": {**one["options"], "state": "absent"}} for one in EVERY]
    assert whats({}, JobTestSettings(False, "", ""), gone)[0] == ["~ is writable"]


def test_where_no_image_is_usual_the_first_one_that_is_kept_is_started() -> None:
    image: Any = {"kind": "container_image", "capability": "container_images", "options": {"image": "nvcr.io/a/b:1"}}
    assert whats({}, JobTestSettings(False, "", ""), [SCRIPT, image])[0][-1] == "a container starts from nvcr.io/a/b:1"
    assert whats({}, JobTestSettings(False, "/i.sqsh", ""), [SCRIPT, image])[0][-1] == "a container starts from /i.sqsh"


def test_where_the_site_has_a_partition_for_tests_the_job_goes_there() -> None:
    scheduler = {"gpu": "--gpus=1", "cpu": "--partition=cpu", "test": "--partition=debug"}
    jobs = [plan_job({"scheduler": scheduler}, [], [], JobTestSettings(gpu, "", ""))[1] for gpu in (False, True)]
    assert [one["options"]["options"] for one in jobs] == [
        ["--partition=debug", "--account=@slurm_cpu_account@"],
        ["--gpus=1", "--account=@slurm_account@"],
    ]


def test_the_job_asks_for_the_least() -> None:
    scheduler = {"gpu": "--partition=gpu --gres=gpu:1", "cpu": "--partition=cpu"}
    question: Any = {"kind": "scheduler", "capability": "launchers", "options": {"account": "p1"}}
    asked, job = plan_job({"scheduler": scheduler}, [question], [], JobTestSettings(False, "", ""))
    assert asked["options"] == {"account": "p1"}
    assert job["options"]["folder"] == "~/.hpc.onboard-test-job"
    assert job["options"]["options"] == ["--partition=cpu", "--account=@slurm_cpu_account@"]
    job = plan_job({"scheduler": scheduler}, [], [], JobTestSettings(True, "", "/work/ada"))[1]
    assert job["options"]["folder"] == "/work/ada/.hpc.onboard-test-job"
    assert job["options"]["options"] == ["--partition=gpu", "--gres=gpu:1", "--account=@slurm_account@"]


def test_each_check_is_an_outcome() -> None:
    look: Any = {"before": {"a": "yes", "b": "no: the mode is 644"}}
    found = split_outcome({"capability": "try"}, look)  # type: ignore[typeddict-item]
    assert [(one["identity"], one["status"], one["reason"]) for one in found] == [
        ("a", "ok", None),
        ("b", "failed", "the mode is 644"),
    ]


def test_a_report_in_the_folder_of_an_unknown_user_is_refused_and_creates_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(AccountError, match="test_job_output: ~nosuchuser/x: the user 'nosuchuser' is unknown"):
        account_reports.write_report("test_job_output", Path("~nosuchuser/x"), {})
    assert list(tmp_path.iterdir()) == []


def test_the_port_of_a_registry_is_tried() -> None:
    own = {"kind": "registry_auth", "capability": "registry_auth", "options": {"registry": "git.site.org:5050"}}
    reach = [check for check in plan_checks({}, [own], PLAIN).checks if check["way"] == "reach"]
    assert [(check["what"], check["words"]) for check in reach] == [
        ("git.site.org:5050 is reachable", ["git.site.org", "5050"])
    ]


def test_a_report_is_not_written_over_a_folder(tmp_path: Path) -> None:
    with pytest.raises(AccountError, match=r"^preflight_output: .* is a folder\. Add the name of a file$"):
        account_reports.write_report("preflight_output", tmp_path, {})
