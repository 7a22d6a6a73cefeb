# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What job scripts and variables of the user request, beside what Slurm offers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible_collections.hpc.onboard.plugins.module_utils._audit_checks import job_requests
from ansible_collections.hpc.onboard.plugins.module_utils._audit_checks.job_requests import JobRequests
from ansible_collections.hpc.onboard.plugins.module_utils._core.account import Account
from ansible_collections.hpc.onboard.plugins.module_utils._core.host import Host
from ansible_collections.hpc.onboard.plugins.module_utils._core.resource import examine

OFFERS = {
    "accounts": [{"name": "p1", "qos": ["opp"]}],
    "partitions": [
        {"name": "gpu", "gpus": ["a100"], "minutes": 1440, "most": 4},
        {"name": "cpu", "gpus": [], "minutes": 60},
    ],
}
HEAD = "#!/bin/bash\n#SBATCH "


def look(home: Path, offers: dict[str, Any], **options: Any) -> dict[str, str]:
    """Return what the check finds in a home."""
    account = Account(str(home), "/bin/bash", {})
    account.facts["slurm"] = {"default": "p1", "missed": [], "fresh": True, **offers}
    host = Host(account, b"k" * 32)
    return examine(JobRequests(JobRequests.with_defaults(options)).with_expanded_paths(host), host).before


@pytest.mark.parametrize(
    ("file", "text", "field"),
    [
        ("jobs/a.sbatch", HEAD + "--partition=gpu,gone\n", "JOB-002 ~/jobs/a.sbatch:2"),
        ("a.sh", HEAD + "-p gone\n", "JOB-002 ~/a.sh:2"),
        ("a.slurm", HEAD + "-Agone -p gpu\n", "JOB-001 ~/a.slurm:2"),
        ("a.slurm", HEAD + "--account P1\n", ""),
        ("a.job", HEAD + "--qos=long\n", "JOB-003 ~/a.job:2"),
        ("a.job", HEAD + "--partition=$P\nsrun true\n#SBATCH -p gone\n", "JOB-006 ~/a.job:4"),
        ("a.job", HEAD + "-p gpu\nsbatch <<E\n#SBATCH -p gpu\nE\n", ""),
        ("a.job", "#SBATCH -p gpu\n", "JOB-006 ~/a.job:1"),
        ("a.job", HEAD + "-p cpu\n#SBATCH --time=2:00:00\n", "JOB-006 ~/a.job:3"),
        ("a.job", HEAD + "-p cpu,gpu\n#SBATCH --time=2:00:00\n", ""),
        ("a.job", HEAD + "-p gpu\nP=gone\nsrun -p $P true\n", "JOB-002 ~/a.job:4"),
        ("a.job", HEAD + "-p gpu\nsource /home/gone/bin/activate\n", "JOB-006 ~/a.job:3"),
        ("a.job", HEAD + "-p gpu\nsource /gone/bin/activate\n. /opt/gone/setup.sh\n", ""),
        ("a.py", '#!/usr/bin/env python3\nT = """\n#SBATCH -p gpu\n"""\n', ""),
        ("a.job", HEAD + "--container-mounts=/home:/h,/home/gone:/x\n", "JOB-006 ~/a.job:2"),
        ("a.job", HEAD + "--chdir=/home/gone\n", "JOB-006 ~/a.job:2"),
        ("a.job", HEAD + "-p gpu\nexport GIT_SSL_NO_VERIFY=1\n", "SEC-012 ~/a.job:3"),
        ("p/uv.toml", 'cache-dir = "/gone/uv"\n', "ENV-009 ~/p/uv.toml:1"),
        ("a.job", HEAD + "-p gpu\nexport TMPDIR=/home/gone/tmp\n", "ENV-009 ~/a.job:3"),
        ("a.job", HEAD + "-p gpu\nexport TMPDIR=/home/gone/tmp\nmkdir -p $TMPDIR\n", ""),
        ("p/.envrc", "export PIP_TRUSTED_HOST=pypi.org\n", "SEC-012 ~/p/.envrc:1"),
        ("p/uv.toml", '[[index]]\nurl = "http://pypi.example.org"\n', "SEC-012 ~/p/uv.toml:2"),
        ("a.job", HEAD + "-p gpu\nwget --no-check-certificate https://a.org/x\n", "SEC-012 ~/a.job:3"),
        ("p/a.job", HEAD + "--output=logs/%j.out\n", "JOB-006 ~/p/a.job:2"),
        ("logs/a.job", HEAD + "--output=logs/%j.out\n", ""),
        ("a/b/c/d/a.job", HEAD + "-p gone\n", "JOB-002 ~/a/b/c/d/a.job:2"),
        ("jobs/submit", HEAD + "-p gone\n", "JOB-002 ~/jobs/submit:2"),
        (
            "p/.vscode/settings.json",
            '{"python.defaultInterpreterPath": "/gone/python"}',
            "ENV-009 ~/p/.vscode/settings.json:1",
        ),
        ("a.sh", "#!/bin/bash\nsbatch <<EOF\n#!/bin/bash\n#SBATCH -p gone\nEOF\n", "JOB-002 ~/a.sh:4"),
        ("a.sh", "#!/bin/bash\nsbatch -p gpu <<'E'\n#!/bin/bash\n#SBATCH -n 1\ncd ~/x\nE\n", "JOB-005 ~/a.sh:5"),
        ("a.sh", '#!/bin/bash\nI=/home/gone.sif\nsrun apptainer exec "$I" true\n', "JOB-006 ~/a.sh:3"),
        ("run.py", "os.system('sbatch -p gone a.sh')\n", "JOB-002 ~/run.py:1"),
        ("Makefile", "run:\n\tsbatch -p gone a.sh\n", "JOB-002 ~/Makefile:2"),
        ("a.job", HEAD + "--time=10\r\n", "ENV-010 ~/a.job:2"),
        ("a.job", HEAD + "--chdir=$HOME/x\n", "JOB-005 ~/a.job:2"),
        ("notes.txt", HEAD + "-p gone\n", ""),
        (".hidden/a.sh", HEAD + "-p gone\n", ""),
        ("a.job", HEAD + "--gres=gpu:v100:2\n", "JOB-006 ~/a.job:2"),
        ("a.job", HEAD + "--gres=gpu:a100:8\n", "JOB-006 ~/a.job:2"),
        ("a.job", HEAD + "--gpus-per-node=8\n", "JOB-006 ~/a.job:2"),
        ("a.job", HEAD + "--gpus=8 --gres=gpu:4\n", ""),
        ("a.job", HEAD + "-G A100:2\n#SBATCH --gpus=2 --gres=gpu:1\n", ""),
        ("a.job", HEAD + "-t 3-00:00\n", "JOB-006 ~/a.job:2"),
        ("a.job", HEAD + "--time=24:00:00 --output=%j.out\n", ""),
        ("a.job", HEAD + "--output=/nowhere/logs/%j.out\n", "JOB-006 ~/a.job:2"),
        ("a.job", HEAD + "--output=/dev/null\n", ""),
        ("a.job", HEAD + "-e ~/a.err\n", "JOB-005 ~/a.job:2"),
        ("a.job", HEAD + "-p gpu\ncd $HOME/project\n", "JOB-005 ~/a.job:3"),
        ("a.job", HEAD + "-p gpu\nsource ~/venvs/torch/bin/activate\n", "JOB-005 ~/a.job:3"),
        ("a.job", HEAD + "-p gpu\ncd /gone/p; cat ~/notes\n", "JOB-005 ~/a.job:3"),
        ("a.job", HEAD + "-p gpu\ncd\n", "JOB-005 ~/a.job:3"),
        ("a.job", HEAD + "-p gpu\nW=/home/gone/w\nmkdir -p $W\ncd $W\n", ""),
        ("a.job", HEAD + "-p gpu\nW=/home/gone/w\nsource $W/activate\n", "JOB-006 ~/a.job:4"),
        ("a.job", HEAD + "-p gpu\nsrun -n 2 /home/gone/sim --x\n", "JOB-006 ~/a.job:3"),
        ("a.job", HEAD + "-p gpu\ncp /home/gone/x .\n", "JOB-006 ~/a.job:3"),
        ("a.job", HEAD + "-p gpu\ncp x /home/gone/y\n", ""),
        ("a.job", HEAD + "-p gpu\ntorchrun --nproc_per_node 4 /home/gone/train.py\n", "JOB-006 ~/a.job:3"),
        ("a.job", HEAD + "-p gpu\nexport APPTAINER_BIND=/home/gone:/data\n", "JOB-006 ~/a.job:3"),
        ("go.sh", "#!/bin/bash\nO='-p gone -N 1'\nsbatch $O a.job\n", "JOB-002 ~/go.sh:3"),
        (".nextflow/config", "process.executor='slurm'\nprocess.queue='gone'\n", "JOB-002 ~/.nextflow/config:2"),
        ("main.nf", "executor 'slurm'\n  queue 'gone'\n", "JOB-002 ~/main.nf:2"),
        ("main.nf", "executor 'slurm'\n  time = '99h'\n  queue params.queue\n", "JOB-006 ~/main.nf:2"),
        ("launch.py", "import submitit\nex.update(slurm_account=cfg.account, slurm_qos=qos)\n", ""),
        ("launch.py", "import submitit\npartition: str = None\n", ""),
        (".config/environment.d/a.conf", "SBATCH_ACCOUNT=gone\n", "JOB-001 ~/.config/environment.d/a.conf:1"),
        ("a.job", HEAD + "-p gpu\ncd $HOME\n", "JOB-005 ~/a.job:3"),
        ("a.job", HEAD + "-p gpu\npython3 a.py >~/log\n", "JOB-005 ~/a.job:3"),
        ("a.job", HEAD + "-p gpu\ncd /home/gone/x\n", "JOB-006 ~/a.job:3"),
        ("a.job", HEAD + "-p gpu\nmkdir -p /home/gone/x\ncd /home/gone/x\n", ""),
        ("a.job", HEAD + "-p gpu\nsrun /home/gone/env/bin/python train.py\n", "JOB-006 ~/a.job:3"),
        ("a.job", HEAD + "-p gpu\npython3 -u /home/gone/train.py --lr 1\n", "JOB-006 ~/a.job:3"),
        ("a.job", HEAD + "-p gpu\nconda activate /home/gone/env\n", "JOB-006 ~/a.job:3"),
        ("a.job", HEAD + "-p gpu\nconda activate torch\npython3 train.py\n", ""),
        ("a.job", HEAD + "-p gpu\napptainer exec --bind /home/gone:/data /x.img true\n", "JOB-006 ~/a.job:3"),
        ("a.job", HEAD + "-p gpu\nI=/home/gone/a.simg\napptainer run $I\n", "JOB-006 ~/a.job:4"),
        ("a.job", HEAD + "-p gpu\n#SBATCH --input=/home/gone/in\n", "JOB-006 ~/a.job:3"),
        ("a.job", "#!/bin/bash\n  # of the lab\n#SBATCH -p gpu\n", ""),
        ("a.csh", "#!/bin/tcsh\n#SBATCH -p gone\n", "JOB-002 ~/a.csh:2"),
        ("a.R", "#!/usr/bin/env Rscript\n#SBATCH -p gone\n", "JOB-002 ~/a.R:2"),
        ("go.sh", "#!/bin/bash\nsbatch --nodes=1 \\\n  --partition=gone a.sh\n", "JOB-002 ~/go.sh:3"),
        ("go.sh", "#!/bin/bash\nexport SBATCH_ACCOUNT=gone\nsbatch a.sh\n", "JOB-001 ~/go.sh:2"),
        ("go.sh", "#!/bin/bash\nsrun python3 \\\n  --partition=gone a.sh\n", ""),
        ("p/.envrc", "export SBATCH_PARTITION=gone\n", "JOB-002 ~/p/.envrc:1"),
        ("p/Snakefile", "rule a:\n  resources:\n    slurm_partition='gone'\n", "JOB-002 ~/p/Snakefile:3"),
        ("p/config.yaml", "default-resources:\n  - slurm_partition=gone\n", "JOB-002 ~/p/config.yaml:2"),
        ("p/config.yaml", "set-resources:\n  - align:slurm_partition=gone\n", "JOB-002 ~/p/config.yaml:2"),
        ("p/config.yaml", "cluster: sbatch --partition={resources.partition}\n", ""),
        ("p/config.yaml", "executor: slurm\nport: '-p 8080'\n", ""),
        ("nextflow.config", "process.executor = 'slurm'\nprocess.queue = 'gone'\n", "JOB-002 ~/nextflow.config:2"),
        ("main.nf", "executor 'slurm'\nclusterOptions = '-A gone'\n", "JOB-001 ~/main.nf:2"),
        ("submit.py", 'run(["sbatch", "-p", "gone", "a.job"])\n', "JOB-002 ~/submit.py:1"),
        ("launch.py", 'import submitit\nex.update(slurm_time="9-00:00:00")\n', "JOB-006 ~/launch.py:2"),
        ("launch.py", "import submitit\nself.queue = Queue()\nqueue = Queue(3)\n", ""),
        (".bashrc", "[ -r ~/.mine ] && . ~/.mine\nexport SBATCH_GPUS_PER_NODE=8\n", "JOB-006 ~/.bashrc:2"),
        ("a.job", HEAD + "-p gpu\n[ -f ~/notes ] && cat ~/notes\n", ""),
        ("a.job", HEAD + "-p gpu\necho see ~/notes\nexport PATH=~/bin:$PATH\n", ""),
        ("setup.sh", "#!/bin/bash\ncd ~/src\n", ""),
        ("a.job", HEAD + "--container-image=/nowhere/a.sqsh\n", "JOB-006 ~/a.job:2"),
        ("a.job", HEAD + "-p gpu\nsrun apptainer exec --nv /nowhere/a.sif python3\n", "JOB-006 ~/a.job:3"),
        ("submit.py", 'run(["sbatch", "--partition=gone", "a.job"])\n', "JOB-002 ~/submit.py:1"),
        ("launch.py", 'import submitit\nex.update(slurm_partition="gone", timeout=1)\n', "JOB-002 ~/launch.py:2"),
        ("job.py", "#!/usr/bin/env python3\n#SBATCH -p gone\n", "JOB-002 ~/job.py:2"),
        ("nextflow.config", "process {\n executor = 'slurm'\n queue = 'gone'\n}\n", "JOB-002 ~/nextflow.config:3"),
        (
            ".config/snakemake/x/config.yaml",
            "executor: slurm\nslurm_account: gone\n",
            "JOB-001 ~/.config/snakemake/x/config.yaml:2",
        ),
        ("a.job", HEAD + "-p gpu\njupyter lab \\\n  --ServerApp.token='' --port=8899\n", "SEC-010 ~/a.job:4"),
        ("a.job", HEAD + "-p gpu\njupyter lab --ServerApp.token=$TOKEN\n", ""),
        (".config/dask/jobqueue.yaml", "jobqueue:\n slurm:\n  queue: null\n  account: None\n", ""),
        (".edf/a.toml", 'image = "/nowhere/a.sqsh"\n', "JOB-006 ~/.edf/a.toml:1"),
        (".edf/a.toml", 'image = "a"\nmounts = [\n  "/home/gone:/x",\n]\n', "JOB-006 ~/.edf/a.toml:3"),
        (".edf/a.toml", 'image = "nvcr.io#nvidia/pytorch:24.03-py3"\n', ""),
        ("p/.vscode/settings.json", '{"env": {"HF_HOME": "/gone/hf"}}', "ENV-009 ~/p/.vscode/settings.json:1"),
        ("a.job", HEAD + "-p gpu\nexport HF_HOME=/gone/hf DATA_DIR=/gone/x\n", "ENV-009 ~/a.job:3"),
        ("paper/.envrc", "export HF_HOME=/gone/hf\nexport EDITOR=/gone/vi\n", "ENV-009 ~/paper/.envrc:1"),
        ("disks.py", 'partition = "sda1"\naccount = "gone"\n', ""),
        ("go.sh", "#!/bin/bash\nsrun -p gone --pty bash -c 'ls -p x'\n", "JOB-002 ~/go.sh:2"),
        ("go.sh", "#!/bin/bash\n# srun -p gone\necho -p gone\nsrun -p $P --gpus=$N a.out -t 9-00:00\n", ""),
        ("go.sh", "#!/bin/bash\necho 'use srun -p gone'; srun -p gpu true\nprintf 'sbatch -A gone\\n' >x\n", ""),
        ("go.sh", "#!/bin/bash\necho 'hostname' | sbatch -p gone\n", "JOB-002 ~/go.sh:2"),
        ("a.job", HEAD + "-p gpu  # or -p gone\n", ""),
        ("a.job", HEAD + "--clusters=inter\n#SBATCH -p gone\n", ""),
        ("go.sh", "#!/bin/bash\nsalloc -M inter -p gone -A gone\n", ""),
        (".bashrc", "alias gpu='srun --partition=gone --pty bash'\n", "JOB-002 ~/.bashrc:1"),
        (".bashrc", "export SBATCH_TIMELIMIT=9-00:00:00\n", "JOB-006 ~/.bashrc:1"),
        (".bashrc", "export SBATCH_ACCOUNT=gone\n", "JOB-001 ~/.bashrc:1"),
        (".bashrc", "# srun -p gone --pty bash\n", ""),
        (".bashrc", "# export SBATCH_PARTITION=gone\nexport SLURM_PARTITION=gpu\n", ""),
        (".slurm/defaults", "# of all\npartition=gpu\nsbatch:*:partition = gone\n", "JOB-002 ~/.slurm/defaults:3"),
        (".slurm/defaults", "time=9-00:00:00\n", "JOB-006 ~/.slurm/defaults:1"),
    ],
)
def test_what_slurm_does_not_offer_is_found(tmp_path: Path, file: str, text: str, field: str) -> None:
    path = tmp_path / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    assert list(look(tmp_path, OFFERS, home_in_jobs="ticket")) == ([field] if field else [])


def test_a_job_script_that_every_user_can_replace_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_requests, "traversal_bits", lambda _host, _folder: 0o011)  # pytest's folders are closed
    for name, mode in (("open", 0o777), ("sticky", 0o1777)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.job").write_text(HEAD + "-p gpu\n")
        (tmp_path / name).chmod(mode)
    assert list(look(tmp_path, OFFERS)) == ["SEC-010 ~/open"]


def test_a_home_that_jobs_can_read_may_be_read(tmp_path: Path) -> None:
    (tmp_path / "a.job").write_text(HEAD + "-o ~/a.out\nsource ~/venv/bin/activate\n")
    assert list(look(tmp_path, OFFERS, home_in_jobs="ro")) == ["JOB-005 ~/a.job:2"]
    assert list(look(tmp_path, OFFERS, home_in_jobs="absent")) == ["JOB-005 ~/a.job:2", "JOB-005 ~/a.job:3"]


def test_scripts_in_the_storage_area_of_the_user_count_too(tmp_path: Path) -> None:
    area = tmp_path / "data"
    (area / "run").mkdir(parents=True)
    (area / "run" / "a.sbatch").write_text(HEAD + "-p gone\n")
    home = tmp_path / "home"
    home.mkdir()
    assert list(look(home, OFFERS, areas=[{"path": str(area)}])) == [f"JOB-002 {area}/run/a.sbatch:2"]


def test_one_name_is_one_problem_and_what_is_unknown_is_none(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / f"{name}.sh").write_text(HEAD + "-p gone\n")
    (text,) = look(tmp_path, OFFERS).values()
    assert "(and 1 more line) requests partition gone" in text
    assert look(tmp_path, {"accounts": None, "partitions": None}) == {}


def test_a_time_is_compared_in_minutes(tmp_path: Path) -> None:
    (tmp_path / "a.job").write_text(HEAD + "--time=1470\n")
    text = "this line requests 1470 minutes, but no partition allows more than 1440 minutes"
    assert look(tmp_path, OFFERS) == {"JOB-006 ~/a.job:2": text}


def test_a_path_with_letters_of_other_languages_exists(tmp_path: Path) -> None:
    (tmp_path / "M\u00fcller\u00e4").mkdir()
    (tmp_path / "M\u00fcller\u00e4" / "a.sif").touch()
    script = HEAD + f"-o {tmp_path}/M\u00fcller\u00e4/o\nsrun apptainer exec {tmp_path}/M\u00fcller\u00e4/a.sif true\n"
    (tmp_path / "a.job").write_text(script, encoding="utf-8")
    assert look(tmp_path, OFFERS) == {}
