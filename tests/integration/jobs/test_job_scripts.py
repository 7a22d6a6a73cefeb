# SPDX-License-Identifier: GPL-3.0-or-later
"""The scripts of jobs on a real Slurm: it takes every one of them, and they do on its nodes what they are for."""

from __future__ import annotations

import io
import re
import tarfile
import time
from pathlib import Path
from typing import Any

import pytest

from tests.effort import turns
from tests.integration.runs import onboard, until

pytestmark = pytest.mark.testbed

ONLY = ("--tags", "job_scripts")
SITES = ("lrz", "dfki", "pegasus", "wilson", "narval", "daint")
FOLDERS = {"wilson": "/work1/{project}/{user}/jobs"}  # elsewhere in the home
NODES = {"daint": 2, "dfki": 2, "narval": 2}  # with GPUs, which the other stand-ins have one of
GPUS = {"daint": 4}  # of a whole node; elsewhere two
NUMBERED = ("batch", "gpus", "nodes")
PARTITIONS = {"lrz": "lrz-hgx-a100-80x4", "pegasus": "RTX3090"}  # with two GPUs in a node
STEP = b"""#!/bin/bash
IFS=, read -ra gpus <<<"${CUDA_VISIBLE_DEVICES:-}"
echo "step on $SLURMD_NODENAME with ${#gpus[@]} GPUs for $SLURM_JOB_ACCOUNT"
if [ -n "${MASTER_PORT:-}" ]; then echo "master $MASTER_ADDR"; fi
if [ -n "${CHECKPOINT+x}" ]; then sleep 1; echo whole >"$CHECKPOINTS/$SLURM_ARRAY_TASK_ID.pt"; fi
if [ -n "${STANDIN_IMAGE:-}${STANDIN_ENVIRONMENT:-}" ]; then echo "in ${STANDIN_IMAGE:-$STANDIN_ENVIRONMENT}"; fi
if [ -n "${RESULTS:-}" ]; then cp "$DATA/one" "$RESULTS/two"; fi
"""


def archive() -> bytes:
    """Data of one file, as an archive."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as made:
        one = tarfile.TarInfo("one")
        one.size = 4
        made.addfile(one, io.BytesIO(b"data"))
    return content.getvalue()


def submitted(account: Any, folder: str, line: str) -> str:
    """Submit a script as the user does; its number."""
    node = "export SLURM_TMPDIR=/tmp/$USER"  # the site's Slurm sets it in its jobs
    done = account.login_shell(f"{node} && cd {folder} && sbatch --parsable {line}", timeout=60)
    assert done.returncode == 0, done.stderr
    return str(done.stdout.strip())


def outputs(account: Any, folder: str, pattern: str, number: int = 1) -> list[str]:
    """What so many jobs printed, when Slurm says that none is left."""
    until(lambda: not account.login_shell("squeue -h -u $USER").stdout.strip())
    files = sorted(account.path(f"{folder}/output").glob(pattern))
    assert len(files) == number, pattern
    return [file.read_text() for file in files]


@pytest.mark.parametrize("site", [pytest.param(site, marks=turns(len(SITES))) for site in SITES])
def test_slurm_takes_every_script_and_each_does_what_it_is_for(bed: Any, site: str) -> None:
    slurm = bed.slurm(site)
    account = bed.new_account(site, files={"step": STEP, "a.sqsh": b"image"})
    account.ssh("chmod 755 . step")
    slurm.admit(account)
    folder = FOLDERS.get(site, "{home}/jobs").format(user=account.user, project=account.project, home=account.home)
    nodes, gpus = NODES.get(site, 1), GPUS.get(site, 2)
    wishes = {"templates": ["all"], "command": f"{account.home}/step", "nodes": nodes, "links": 2, "ask_slurm": True}
    wishes |= {"image": "none", "partition": PARTITIONS.get(site, ""), "minutes": 30}
    said = {account.name: {"job_scripts": {**wishes, "account": account.project}}}
    before = account.tree()
    ran = onboard(bed, account, more=ONLY, settings=said)
    assert ran.code == 0, ran.text
    remarks = [one for outcome in ran.outcomes(account.name) for one in outcome["remarks"]]
    assert len(remarks) >= 5
    assert [one for one in remarks if not one.startswith("Slurm would accept ")] == []
    assert not onboard(bed, account, more=ONLY, settings=said).of(account.name)["changed"]

    account.path(f"{folder}/data.tar").write_bytes(archive())
    for name in NUMBERED:
        submitted(account, folder, f"{name}.sh")
    submitted(account, folder, "staging.sh data.tar")
    submitted(account, "/", f"{folder}/chain.sh")
    batch = outputs(account, folder, "batch-*.out")[0]
    assert batch.endswith(f"with 1 GPUs for {account.project}\n")
    assert f"with {gpus} GPUs for" in outputs(account, folder, "gpus-*.out")[0]
    several = outputs(account, folder, "nodes-*.out")[0]
    assert several.count(f"with {gpus} GPUs for") == nodes
    assert len({line.split()[2] for line in several.splitlines() if line.startswith("step on")}) == nodes
    first, second = outputs(account, folder, "chain-*.out", 2)
    assert first.startswith("job 1 of the chain starts from the beginning\n")
    assert re.match(r"job 2 of the chain starts from /\S+/checkpoints/\d+/1.pt\n", second)
    outputs(account, folder, "staging-*.out")
    (results,) = account.path(f"{folder}/output").glob("results-*.tar")
    with tarfile.open(results) as made:
        assert "./two" in made.getnames()

    shell = account.login_shell(f"{folder}/interactive.sh {account.home}/step", timeout=60)
    assert "with 1 GPUs for" in shell.stdout, shell.stderr
    assert set(before) <= set(account.tree())


class Scripts:
    """Scripts of one account at DFKI, which run a command there."""

    def __init__(self, bed: Any, command: str, **wishes: Any) -> None:
        bed.slurm("dfki")
        self.bed, self.slurm = bed, bed.slurm("dfki")
        self.account = bed.new_account("dfki", files={"a.sqsh": b"image"})
        self.account.ssh("chmod 755 .")
        self.slurm.admit(self.account)
        self.settings = {"templates": ["all"], "command": command, "image": "none", "minutes": 30, **wishes}
        ran = onboard(bed, self.account, more=ONLY, settings={self.account.name: {"job_scripts": self.settings}})
        assert ran.code == 0, ran.text

    def types(self, line: str) -> str:
        """Return what a login shell prints of a line."""
        done = self.account.login_shell(line, timeout=60)
        assert done.returncode == 0, f"{line}: {done.stdout}{done.stderr}"
        return str(done.stdout).strip()

    def submit(self, line: str, options: str = "") -> str:
        """Submit a script from another folder than its own; return the job's number."""
        return self.types(f"cd / && sbatch --parsable {options} ~/jobs/{line}")

    def output(self, name: str) -> str:
        """Return what a script's jobs printed, when no job is left."""
        files = self.account.path("jobs/output").glob(f"{name}-*.out")
        until(lambda: not self.types("squeue -h -u $USER"))
        return "".join(file.read_text() for file in sorted(files))

    def left_on_the_node(self) -> str:
        """Return the user's folders on the node's own disk."""
        return self.types("ls -d /tmp/$USER-* 2>/dev/null || true")


@turns(6)
def test_a_submitted_script_needs_nothing_of_the_shell_that_submits_it(bed: Any) -> None:
    scripts = Scripts(
        bed, "bash -c 'echo $SLURM_NTASKS tasks, $OMP_NUM_THREADS threads, $SLURM_CPUS_PER_TASK CPUs'", cpus=4
    )
    scripts.submit("batch.sh", "--export=NONE")
    assert scripts.output("batch") == "1 tasks, 4 threads, 4 CPUs\n"
    scripts.submit("nodes.sh", "--export=NONE")
    assert scripts.output("nodes") == "2 tasks, 2 threads, 4 CPUs\n" * 2


@turns(6)
def test_two_nodes_meet_where_the_script_says(bed: Any) -> None:
    program = """import os, socket, time
place = ("127.0.0.1", int(os.environ["MASTER_PORT"]))  # the nodes of the testbed are one machine
if os.environ["SLURM_PROCID"] == "0":
    other, _ = socket.create_server(place).accept()
    print(other.recv(99).decode())
else:
    time.sleep(2)
    socket.create_connection(place).sendall(b"met at " + os.environ["MASTER_ADDR"].encode())
"""
    scripts = Scripts(bed, "python3 meet.py")
    scripts.account.path("jobs/meet.py").write_text(program)
    scripts.submit("nodes.sh")
    assert scripts.output("nodes") == "met at serv-9200\n"


@turns(6)
def test_data_are_on_the_disk_of_each_node_while_the_job_lasts(bed: Any) -> None:
    scripts = Scripts(bed, """bash -c 'cat "/tmp/${USER:-$UID}-$SLURM_JOB_ID/one"; sleep 1'""", templates=["nodes"])
    scripts.account.path("jobs/DATA.tar").write_bytes(archive())
    scripts.types('sed -i -E "s/^# (trap|srun --ntasks-per-node=1 sh)/\\1/" ~/jobs/nodes.sh')
    scripts.submit("nodes.sh")
    assert scripts.output("nodes") == "datadata"
    assert scripts.left_on_the_node() == ""


@turns(6)
def test_staging_leaves_nothing_on_the_node_whatever_comes_of_the_job(bed: Any) -> None:
    work = "bash -c 'cp $DATA/one $RESULTS/; echo began; [ ! -e ~/fail ] || exit 3; sleep 60'"
    scripts = Scripts(bed, work)
    account = scripts.account
    account.path("data.tar").write_bytes(archive())
    began = lambda: any("began" in file.read_text() for file in account.path("jobs/output").glob(f"*-{job}.out"))  # noqa: E731

    job = scripts.types("cd ~ && sbatch --parsable jobs/staging.sh data.tar")
    until(began)
    assert scripts.left_on_the_node() == f"/tmp/{account.user}-{job}"
    scripts.types(f"scancel {job}")
    scripts.output("staging")
    until(lambda: scripts.left_on_the_node() == "")
    assert account.path(f"jobs/output/results-{job}.tar").exists()

    job = scripts.types("cd ~ && sbatch --parsable jobs/staging.sh data.tar")
    until(began)
    scripts.types(f"scancel --batch --signal=USR1 {job}")  # as Slurm does before the time limit
    scripts.output("staging")
    assert scripts.left_on_the_node() == ""
    assert account.path(f"jobs/output/results-{job}.tar").exists()

    account.path("fail").touch()
    job = scripts.types("cd ~ && sbatch --parsable jobs/staging.sh data.tar")
    scripts.output("staging")
    assert scripts.left_on_the_node() == ""
    assert account.path(f"jobs/output/results-{job}.tar").exists()


@turns(6)
def test_a_chain_ends_with_the_first_link_that_fails(bed: Any) -> None:
    scripts = Scripts(bed, "false", links=4)
    scripts.submit("chain.sh")
    said = scripts.output("chain")
    assert said.count("starts from the beginning") == 1
    assert "job 1 of the chain: the command failed with exit code 1. The remaining jobs are cancelled" in said


@turns(6)
def test_a_chain_goes_on_after_its_time_is_up_from_the_newest_whole_checkpoint(bed: Any) -> None:
    waits = 'while [ -z "$CHECKPOINT" ]; do sleep 0.2; done'
    work = f"""bash -c 'trap "echo whole >$CHECKPOINTS/late.pt; exit 1" USR1; echo began; {waits}'"""
    scripts = Scripts(bed, work, links=2)
    account = scripts.account
    job = scripts.submit("chain.sh mine")
    output = account.path(f"jobs/output/chain-{job}_1.out")
    until(lambda: output.exists() and "began" in output.read_text())
    (account.path("jobs/checkpoints/mine") / "torn.pt").write_bytes(b"PK\3\4 cut off")
    other = scripts.submit("chain.sh mine")
    until(lambda: account.path(f"jobs/output/chain-{other}_1.out").exists())
    time.sleep(1)
    assert "another chain uses the folder" in account.path(f"jobs/output/chain-{other}_1.out").read_text()
    scripts.types(f"scancel --batch --signal=USR1 {job}_1")
    said = scripts.output("chain")
    assert "job 1 of the chain ends with" in said
    assert re.search(r"job 2 of the chain starts from \S+/checkpoints/mine/late.pt\n", said)


@turns(6)
def test_an_array_has_a_job_for_each_line_of_a_file(bed: Any) -> None:
    scripts = Scripts(bed, "printf '%s|' run", templates=["array"])
    scripts.account.path("jobs/rates").write_text("# rate, name\n\n0.1 'two words' $HOME\n0.2 \"x y\" *\n")
    said = scripts.types("cd ~/jobs && ./array.sh rates --array=1-2%1 --parsable")
    assert said.isdigit(), said
    assert scripts.output("array") == (
        "line 1: 0.1 'two words' $HOME\nrun|0.1|two words|$HOME|line 2: 0.2 \"x y\" *\nrun|0.2|x y|*|"
    )
    scripts.submit("array.sh ~/jobs/rates")
    assert "array.sh must not be submitted. Run it on a login node" in scripts.output("array")


@turns(6)
def test_a_farm_runs_each_command_until_it_succeeds_and_none_twice(bed: Any) -> None:
    scripts = Scripts(bed, "hostname", templates=["farm"])
    account = scripts.account
    lines = ["# mine", *(f"sleep 0.2; echo {number} >>ran" for number in range(30)), "[ -e ready ] && echo 30 >>ran"]
    account.ssh("mkdir work")
    account.path("work/commands").write_text("\n".join(lines) + "\n")
    scripts.submit("farm.sh ~/work/commands")
    assert "failed commands: 1. To run them again, submit the job again" in scripts.output("farm")
    account.ssh("touch work/ready")
    scripts.submit("farm.sh ~/work/commands")
    scripts.output("farm")
    assert sorted(int(one) for one in account.read("work/ran").split()) == list(range(31))


JUPYTER = """#!/usr/bin/env python3
import http.server, os, sys
class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path == "/lab?token=" + os.environ["JUPYTER_TOKEN"] else 403)
        self.end_headers()
    def log_message(self, *_words):
        pass
options = dict(one.split("=") for one in sys.argv[2:] if "=" in one)
http.server.HTTPServer((options["--ip"], int(options["--port"])), Page).serve_forever()
"""


@turns(6)
def test_jupyter_is_reached_by_who_can_read_the_note_and_ends_with_its_job(bed: Any) -> None:
    """Stand-in: a web server in place of JupyterLab; it takes the token where JupyterLab does."""
    scripts = Scripts(bed, "hostname", templates=["jupyter"], environment="~/env")
    account = scripts.account
    account.path("env/bin").mkdir(parents=True)
    account.path("env/bin/activate").write_text('export PATH="$HOME/env/bin:$PATH"\n')
    account.path("env/bin/jupyter").write_text(JUPYTER)
    account.path("env/bin/jupyter").chmod(0o755)
    job = scripts.submit("jupyter.sh")
    note = f"~/jobs/jupyter-{job}.txt"
    until(lambda: account.exists(f"jobs/jupyter-{job}.txt"))
    assert scripts.types(f"stat -c %a {note}") == "600"
    words = scripts.types(f"cat {note}").split()
    port = words[words.index("-L") + 1].rpartition(":")[2]
    token = next(word for word in words if "token=" in word).rpartition("=")[2]
    assert f"{account.user}@" in words[words.index("-L") + 2]

    def answer(token: str) -> str:
        place = f"http://127.0.0.1:{port}/lab?token={token}"
        return scripts.types(f"curl -s -o /dev/null -w '%{{http_code}}' '{place}' || true")

    until(lambda: answer(token) == "200")
    assert answer("wrong") == "403"
    assert token not in scripts.types("ps -ef; cat ~/jobs/output/jupyter-*.out")
    scripts.types(f"scancel {job}")
    scripts.output("jupyter")
    until(lambda: not account.exists(f"jobs/jupyter-{job}.txt"))
    assert answer(token) == "000"


@turns(3)
@pytest.mark.parametrize("site", ["dfki", "wilson", "daint"])
def test_every_script_runs_its_command_in_the_image(bed: Any, site: str) -> None:
    slurm = bed.slurm(site)
    account = bed.new_account(site, files={"step": STEP})
    account.ssh("chmod 755 . step")
    slurm.admit(account)
    folder = FOLDERS.get(site, "{home}/jobs").format(user=account.user, project=account.project, home=account.home)
    image = f"{Path(folder).parent}/a.sqsh"
    wishes = {"templates": ["all"], "command": f"{account.home}/step", "image": image, "links": 1, "minutes": 30}
    said = {account.name: {"job_scripts": {**wishes, "nodes": 1, "account": account.project}}}
    ran = onboard(bed, account, more=ONLY, settings=said)
    assert ran.code == 0, ran.text
    account.path(image).write_text("image")
    account.path(f"{folder}/data.tar").write_bytes(archive())
    for line in ("batch.sh", "gpus.sh", "nodes.sh", "chain.sh", "staging.sh data.tar"):
        submitted(account, folder, line)
        assert f"in {image}\n" in outputs(account, folder, f"{line.partition('.')[0]}-*.out")[0], line
    shell = account.login_shell(f"cd {folder} && ./interactive.sh {account.home}/step", timeout=60)
    assert f"in {image}\n" in shell.stdout, shell.stderr


@turns(3)
def test_who_names_no_account_has_scripts_that_name_the_one_that_slurm_knows(bed: Any) -> None:
    slurm = bed.slurm("daint")
    account = bed.new_account("daint", files={"step": STEP})
    account.ssh("chmod 755 . step")
    slurm.admit(account, ["lattice"])
    said = {account.name: {"job_scripts": {"templates": ["batch", "interactive"], "command": f"{account.home}/step"}}}
    ran = onboard(bed, account, more=ONLY, settings=said)
    assert ran.code == 0, ran.text
    assert b"#SBATCH --account=lattice\n" in account.read("jobs/batch.sh")
    submitted(account, "jobs", "batch.sh")
    assert outputs(account, "jobs", "batch-*.out")[0].endswith("for lattice\n")
    assert "for lattice" in account.login_shell(f"jobs/interactive.sh {account.home}/step", timeout=60).stdout

    other = bed.new_account("daint")
    slurm.admit(other, ["lattice", "optics"])
    must = {"job_scripts_account_required": True, "launchers_account_required": True}  # as if the profile said so
    said = {other.name: {"job_scripts": {"templates": ["batch"]}, "vars": must}}
    waits = onboard(bed, other, more=ONLY, settings=said)
    assert waits.code == 2
    assert "you have several Slurm accounts (lattice, optics). Set" in " ".join(waits.text.split())
    assert not other.exists("jobs/batch.sh")
    said[other.name]["scheduler"] = {"account": "optics"}
    assert onboard(bed, other, more=ONLY, settings=said).code == 0
    assert b"#SBATCH --account=optics\n" in other.read("jobs/batch.sh")


@turns(3)
def test_a_script_that_slurm_would_not_take_is_said_in_words(bed: Any) -> None:
    slurm = bed.slurm("narval")
    account = bed.new_account("narval")
    slurm.admit(account)
    wishes = {"templates": ["batch"], "ask_slurm": True, "account": account.project, "qos": "nosuch"}
    ran = onboard(bed, account, more=ONLY, settings={account.name: {"job_scripts": wishes}})
    assert ran.code == 0, ran.text
    words = " ".join(ran.text.split())
    assert "Slurm would reject ~/jobs/batch.sh: " in words
    assert slurm.jobs(account) == []


@turns(3)
def test_a_script_that_was_changed_there_is_the_persons_and_stays(bed: Any) -> None:
    account = bed.new_account("narval")
    said = {account.name: {"job_scripts": {"templates": ["batch", "chain"]}}}
    assert onboard(bed, account, more=ONLY, settings=said).code == 0
    account.ssh("sed -i s/hostname/mine/ jobs/batch.sh")
    mine = account.read("jobs/batch.sh")
    said[account.name]["job_scripts"]["minutes"] = 90
    ran = onboard(bed, account, more=ONLY, settings=said)
    assert ran.code == 2
    assert "jobs/batch.sh was changed by hand since hpc-onboard wrote it" in " ".join(ran.text.split())
    assert account.read("jobs/batch.sh") == mine
    assert b"--time=90" in account.read("jobs/chain.sh")
