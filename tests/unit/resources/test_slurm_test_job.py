# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The job that tries what was set up: what its script says of real files, and what is made of that."""

from __future__ import annotations

import socketserver
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest
from account_scene import Folder, Plain, Scene
from ansible_collections.hpc.onboard.plugins.module_utils._core.account import Account
from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.module_utils._core.host import Host
from ansible_collections.hpc.onboard.plugins.module_utils._core.resource import examine
from ansible_collections.hpc.onboard.plugins.module_utils._slurm import slurm_job
from ansible_collections.hpc.onboard.plugins.module_utils._slurm.slurm_test_job import SlurmTestJob
from resource_tables import Case, judge, table

PLACE = "~/.hpc.onboard-test-job"


@table(
    Case("nothing is taken out twice", {}, {"folder": PLACE, "state": "absent"}, "ok"),
    Case(
        "what a job left is taken out",
        {PLACE: Folder(0o700), f"{PLACE}/tried": Plain(b"")},
        {"folder": PLACE, "state": "absent"},
        "extra",
        left={PLACE: None, f"{PLACE}/tried": None},
    ),
)
def test_try_job(scene: Scene, case: Case) -> None:
    judge(scene, "slurm_test_job", case)


def check(what: str, way: str, *words: str, paths: int = 0) -> dict[str, Any]:
    return {"what": what, "way": way, "words": list(words), "paths": paths}


def said(tmp_path: Path, *checks: dict[str, Any], **environment: str) -> Any:
    """What comes of a job with these checks, whose very script runs here, as Slurm runs it there."""
    home = tmp_path / "home"
    home.mkdir(exist_ok=True)
    host = Host(Account(str(home), "/bin/bash", {}), b"k" * 32)
    job = SlurmTestJob(SlurmTestJob.with_defaults({"folder": "~/.try", "checks": list(checks)})).with_expanded_paths(
        host
    )
    folder = home / ".try"
    folder.mkdir(0o700)
    (folder / slurm_job.MARK).write_text('{"name": "hpc.onboard-test-job-1"}')
    text = slurm_job.render_script(str(folder), "hpc.onboard-test-job-1", job.render_work(host))  # type: ignore[attr-defined]
    given = {"PATH": "/usr/bin:/bin", "HOME": str(home), **environment}
    subprocess.run(["bash", "-c", text], env=given, check=True, timeout=60)
    return examine(job, host)


def test_what_works_is_said_to(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("canary")
    (tmp_path / "key").chmod(0o600)
    seen = said(
        tmp_path,
        check("home", "writes", "~", paths=1),
        check("key", "key", str(tmp_path / "key"), paths=1),
        check("gpu", "gpu"),
        CUDA_VISIBLE_DEVICES="0",
    )
    assert (seen.status, seen.before) == ("ok", {"home": "yes", "key": "yes", "gpu": "yes"})
    assert not list((tmp_path / "home").glob(".hpc.onboard-test-job*"))
    assert "canary" not in (tmp_path / "home/.try/log").read_text()


@pytest.mark.parametrize(
    ("one", "why"),
    [
        (check("x", "writes", "/nowhere at all/x"), "no: mktemp: failed to create file"),
        (check("x", "key", "/nowhere"), "no: the file does not exist in the job"),
        (check("x", "reads", "/no where"), "no: the path does not exist in the job"),
        (check("x", "key", "/etc/passwd"), "no: the mode is 644, not 600 or 400"),
        (check("x", "gpu"), "no: the job has no GPU"),
        (check("x", "reach", "127.0.0.1", "9"), "no: could not connect within 10 s"),
        (check("x", "environment"), "no: the file does not exist in the job"),
        (check("x", "container", "/no where", "image"), "no: /no where: line 1: /no where: No such file or directory"),
    ],
)
def test_what_does_not_work_is_said_with_its_reason(tmp_path: Path, one: Any, why: str) -> None:
    seen = said(tmp_path, one, check("home", "writes", "~", paths=1))
    assert seen.status == "blocked"
    assert seen.before["x"].startswith(why)
    assert seen.before["home"] == "yes"


PYXIS = """srun: job 44 queued and waiting for resources
slurmstepd: error: pyxis: failed to create container filesystem
slurmstepd: error: pyxis:     [ERROR] /data/x.sqsh is corrupt
srun: error: n1: task 0: Exited with exit code 1
srun: launch/slurm: _step_signal: Terminating StepId=44.0"""


@pytest.mark.parametrize(
    ("printed", "result"),
    [
        (PYXIS, "no: pyxis: failed to create container filesystem | pyxis: [ERROR] /data/x.sqsh is corrupt"),
        ("srun: error: n1: task 0: Exited with exit code 2", "no: srun: error: n1: task 0: Exited with exit code 2"),
        ("slurmstepd: error: execve(): true: No such file or directory", "yes"),
        ('FATAL:   "true": executable file not found in $PATH', "yes"),
        ("slurmstepd: error: execve(): bash: No such file or directory", "no: execve(): bash: No such file"),
    ],
)
def test_a_container_that_does_not_start_is_reported_with_its_cause(tmp_path: Path, printed: str, result: str) -> None:
    launcher = tmp_path / "usrun.sh"
    launcher.write_text(f"#!/bin/sh\ncat <<'EOF' >&2\n{printed}\nEOF\nexit 1\n")
    launcher.chmod(0o755)
    before = said(tmp_path, check("x", "container", str(launcher), "image")).before["x"]
    assert " ".join(before.split()).startswith(result)


@pytest.mark.parametrize(
    ("said", "limit"),
    [
        ("sbatch: error: AssocMaxSubmitJobLimit\nsbatch: error: Batch job submission failed", "AssocMaxSubmitJobLimit"),
        ("sbatch: error: QOSMaxSubmitJobPerUserLimit", "QOSMaxSubmitJobPerUserLimit"),
        ("QOSMaxJobsPerUserLimit", "QOSMaxJobsPerUserLimit"),
        ("AssocGrpSubmitJobsLimit", "AssocGrpSubmitJobsLimit"),
        ("sbatch: error: QOSMaxWallDurationPerJobLimit", None),
        ("QOSMinGRES", None),
        ("Priority", None),
    ],
)
def test_a_limit_of_how_many_jobs_there_may_be_is_told_from_others(said: str, limit: str | None) -> None:
    found = slurm_job.LIMIT.search(said)
    assert (found.group(0) if found else None) == limit


def test_the_proxy_of_a_module_is_looked_for_where_the_module_says(tmp_path: Path) -> None:
    with socketserver.TCPServer(("127.0.0.1", 0), socketserver.BaseRequestHandler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        here = f"http://127.0.0.1:{server.server_address[1]}/"
        module = f"() {{ [ $2 != none ] || return 0; export https_proxy={here}; }}"
        one, none = (check(name, "proxy_module", name) for name in ("httpproxy", "none"))
        seen = said(tmp_path, one, none, **{"BASH_FUNC_module%%": module})
        server.shutdown()
    assert seen.before == {"httpproxy": "yes", "none": "no: the module sets no proxy"}


def test_words_are_no_commands(tmp_path: Path) -> None:
    seen = said(tmp_path, check("$(touch a); 'b'", "writes", f"{tmp_path}/$(touch c)"))
    assert list(seen.before) == ["$(touch a); 'b'"]
    assert not list(tmp_path.rglob("[ac]"))


def test_a_job_that_said_less_has_not_come_to_it(tmp_path: Path) -> None:
    seen = said(tmp_path, check("home", "writes", "~", paths=1))
    assert seen.before == {"home": "yes"}
    (tmp_path / "home/.try/tried").write_text("garbage\n")
    host = Host(Account(str(tmp_path / "home"), "/bin/bash", {}), b"k" * 32)
    options = {"folder": "~/.try", "checks": [check("home", "writes", "~", paths=1)]}
    again = examine(SlurmTestJob(SlurmTestJob.with_defaults(options)).with_expanded_paths(host), host)
    assert again.before == {"home": "no: the job ended before this check"}


@pytest.mark.parametrize("given", [check("x", "rm -rf"), {"what": "x", "way": "gpu"}, {"way": "gpu", "words": []}])
def test_only_what_a_job_can_try_is_taken(given: dict[str, Any]) -> None:
    with pytest.raises(AccountError, match="is not a valid check"):
        SlurmTestJob(SlurmTestJob.with_defaults({"folder": "~/x", "checks": [given]}))
