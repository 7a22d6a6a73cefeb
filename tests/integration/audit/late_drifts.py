# SPDX-License-Identifier: GPL-3.0-or-later
"""What can happen on an account beside what was set up there: what only the audit's watches look for."""

from __future__ import annotations

import hashlib

from .drift import ENROOT, JSON, Drift

STRAY = "nvapi-" + hashlib.sha256(b"stray").hexdigest()
OLD = "nvapi-oooo" + "k" * 60
"""A key that was replaced and is dead, as the scene's record of versions knows."""

SEC_004, SEC_008 = "SEC-004 unmanaged hand high", "SEC-008 unmanaged hand high"
USE_003 = "USE-003 at_risk time medium"
SCRATCH = "/capstor/scratch/cscs/{user}"
FULL = """Disk quotas for user someuser (uid 12345):
     Filesystem   space   quota   limit   grace   files   quota   limit   grace
192.168.0.1:/       {space}    100G    105G            {files}    500k   1000k
"""
REPORT = """                             Description                Space           # of files
                     /home (user someuser)              26G/50G             499k/500k
"""


def _quota(name: str, rule: str, printed: str) -> Drift:
    """What the site's command says of a quota."""
    site = f"echo '{printed}' > /var/tmp/quota-{{user}}"
    return Drift(name, (f"{rule} at_risk time medium",), site=site, by_hand="rm /var/tmp/quota-{user}")


def _conda(prefix: str) -> str:
    """What makes a folder a conda."""
    return f"mkdir -p {prefix}/conda-meta {prefix}/bin; touch {prefix}/conda-meta/history {prefix}/bin/conda"


LRZ = [
    Drift("a key in a start-up file", (SEC_004,), f"echo 'MY_KEY={STRAY}' >> .bashrc",
          by_hand="sed -i /MY_KEY/d .bashrc", place="~/.bashrc:"),
    Drift("a key in a history", (SEC_004,), f"echo 'login {STRAY}' > .bash_history",
          by_hand="rm .bash_history", place="~/.bash_history:1"),
    Drift("a key in a job script", (SEC_004,),
          f"mkdir jobs; (echo '#!/bin/sh'; echo 'MY_KEY={STRAY}') > jobs/train.sbatch",
          by_hand="rm -r jobs", place="~/jobs/train.sbatch:2"),
    Drift("a key in a file that git keeps", ("SEC-005 unmanaged hand critical",),
          f"git init -q code; echo 'KEY = \"{STRAY}\"' > code/main.py; git -C code add main.py",
          by_hand="rm -rf code/.git; sed -i 1d code/main.py", place="~/code/main.py:1"),
    Drift("a key in a notebook", (SEC_004,),
          f"mkdir -p notes; echo '{{{{\"source\": [\"k = \\\"{STRAY}\\\"\"]}}}}' > notes/a.ipynb",
          by_hand="rm -r notes", place="~/notes/a.ipynb:1"),
    Drift("a key in a test", ("SEC-011 unmanaged hand info",),
          f"mkdir -p lib/tests; echo 'K = \"{STRAY}\"' > lib/tests/a.py",
          by_hand="rm -r lib", place="~/lib/tests/a.py:1"),
    Drift("a backup copy of a key file", ("SEC-006 unmanaged hand high",),
          f"cp -p {ENROOT} {ENROOT}.bak", place=f"~/{ENROOT}.bak:1"),
    Drift("a store of enroot's tokens", ("SEC-009 unmanaged hand low",),
          "mkdir -p -m 700 .cache/enroot/.tokens.1000; echo t > .cache/enroot/.tokens.1000/nvcr.io"),
    Drift("a key that was replaced", ("KEY-002 stale hand high",) * 2, f"sed -i s/kkkk/oooo/ {ENROOT}"),
    Drift("a file of keys of nobody's that others can read", ("SEC-001 unmanaged hand critical",),
          "chmod 755 {home}; echo 'machine host login me password mine' > .netrc; chmod 644 .netrc", place="~/.netrc"),
    Drift("a start-up file that prints", ("ENV-003 unmanaged hand medium",), "sed -i '1i echo hello' .bashrc",
          by_hand="sed -i 1d .bashrc", place="~/.bashrc"),
    Drift("a start-up file that sleeps", ("ENV-004 unmanaged hand low",), "sed -i '1i sleep 3' .bashrc",
          by_hand="sed -i 1d .bashrc", place="~/.bashrc"),
    Drift("a start-up file that returns at once", ("ENV-007 changed hand medium",), "sed -i '1i return 0' .bashrc",
          by_hand="sed -i 1d .bashrc", place="~/.bashrc:1"),
    Drift("a file that the start-up file reads, which unsets one", ("ENV-007 changed hand medium",),
          "echo '. ~/.more' >> .bashrc; echo 'unset MY_TEAM' > .more",
          by_hand="sed -i '$d' .bashrc", place="~/.more:1"),
    Drift("a file for jobs that unsets a variable", ("ENV-007 changed hand medium",),
          "echo 'unset MY_TEAM' > .job; echo 'export BASH_ENV=$HOME/.job' >> .profile",
          by_hand="rm .job; sed -i '/BASH_ENV/,$d' .profile", place="~/.job:1"),
    Drift("a start-up file that every user can change", ("SEC-010 unmanaged hand critical",), "chmod 666 .bashrc",
          place="~/.bashrc"),
    Drift("a umask that lets every user write", ("ENV-008 unmanaged hand medium",), "echo umask 0 >> .bashrc",
          by_hand="sed -i '$d' .bashrc", place="~/.bashrc:"),
    Drift("a block of conda's", ("PKG-002 unmanaged hand medium",),
          "(echo '# >>> conda initialize >>>'; echo : ; echo '# <<< conda initialize <<<') >> .bashrc",
          by_hand="sed -i '/>>> conda/,/<<< conda/d' .bashrc", place="~/.bashrc:"),
    Drift("Anaconda's channels", ("PKG-003 unmanaged hand medium",),
          "(echo channels:; echo '  - defaults') > .condarc", by_hand="rm .condarc", place="~/.condarc:2"),
    _quota("a quota of space that is nearly used up", "USE-001", FULL.format(space="95G", files="4953")),
    _quota("a quota of files that is nearly used up", "USE-002", FULL.format(space="10G", files="480k")),
    Drift("a dead link", ("LNK-003 broken site high",), "ln -s /gone/at/all gone", place="~/gone"),
    Drift("a link to itself", ("LNK-005 broken hand medium",), "ln -s loop loop", place="~/loop"),
]  # fmt: skip

DFKI = [
    Drift("a key in a script on the storage", (SEC_004,), f"echo 'MY_KEY={STRAY}' > /data/{{user}}/job.sh",
          by_hand="rm /data/{user}/job.sh", place="/data/{user}/job.sh:1"),
    Drift("another program before the script on PATH", ("ENV-005 changed hand medium",),
          "mkdir mine; cp bin/usrun.sh mine; echo 'PATH=$HOME/mine:$PATH' >> .profile",
          by_hand="rm -r mine; sed -i '$d' .profile", place="~/mine/usrun.sh"),
    Drift("containers where the site wants none", ("IMG-004 unmanaged hand medium",),
          "mkdir -p .local/share/enroot; truncate -s 2M .local/share/enroot/layer", place="~/.local/share/enroot",
          by_hand="rm -r .local/share/enroot"),
    Drift("a settings file that names the home", ("ENV-009 unmanaged hand low",),
          "mkdir -p .config/enroot; echo 'ENROOT_DATA_PATH $HOME/c' > .config/enroot/enroot.config",
          by_hand="rm .config/enroot/enroot.config", place="~/.config/enroot/enroot.config:1"),
    Drift("another folder for every command", ("ENV-011 unmanaged hand low",), "sed -i '1i cd /usr' .bashrc",
          by_hand="sed -i 1d .bashrc", place="~/.bashrc:1"),
    Drift("a git that checks no server", ("SEC-012 unmanaged hand medium",),
          "git config --file .gitconfig http.sslVerify false", by_hand="rm .gitconfig", place="~/.gitconfig:2"),
    Drift("a carriage return", ("ENV-010 unmanaged hand medium",), "printf 'A=b\\r\\n' >> .bashrc",
          by_hand="sed -i '$d' .bashrc", place="~/.bashrc:"),
]  # fmt: skip

PEGASUS = [
    Drift("a start-up file of zsh's that prints", ("ENV-003 unmanaged hand medium",), "echo 'echo hello' >> .zshenv",
          by_hand="sed -i '$d' .zshenv", place="~/.zshenv"),
]  # fmt: skip

WILSON = [
    Drift("a variable that goes before the login file", (SEC_008,),
          "echo 'setenv APPTAINER_DOCKER_PASSWORD mine' >> .cshrc",
          by_hand="sed -i /DOCKER_PASSWORD/d .cshrc", place="~/.cshrc:"),
    Drift("a cache where the site wants none", ("ENV-001 unmanaged hand medium",),
          "mkdir -p .cache/pip; truncate -s 2M .cache/pip/wheel", place="~/.cache/pip"),
    Drift("a variable of ours that a tutorial's line sets anew", ("ENV-007 changed hand medium",),
          "echo 'setenv APPTAINER_CACHEDIR $HOME/.apptainer/cache' >> .cshrc", place="~/.cshrc:"),
    Drift("a copy of a login file", ("SEC-006 unmanaged hand high",), f"cp -p {JSON} {JSON}~", place=f"~/{JSON}~:1"),
]  # fmt: skip

DAINT = [
    Drift("a key file where enroot does not look here", ("KEY-009 unmanaged hand medium",),
          "mkdir -m 700 .enroot; echo 'machine nvcr.io login me password mine' > .enroot/.credentials;"
          " chmod 600 .enroot/.credentials", by_hand="rm .enroot/.credentials", place="~/.enroot/.credentials"),
    Drift("a big cache", ("ENV-001 unmanaged hand medium",),
          "mkdir -p .cache/pip; truncate -s 5G .cache/pip/wheel", place="~/.cache/pip"),
    Drift("a conda on storage that is purged", ("PKG-001 unmanaged hand medium", "PKG-003 unmanaged hand medium"),
          _conda(f"{SCRATCH}/miniconda3"), by_hand=f"rm -r {SCRATCH}/miniconda3", place=f"{SCRATCH}/miniconda3"),
    Drift("a tree that was purged", (USE_003,), f"mkdir -p {SCRATCH}/run/a/b",
          by_hand=f"rm -r {SCRATCH}/run", place=f"{SCRATCH}/run"),
    Drift("a file that will be purged", (USE_003,), f"touch -d '28 days ago' {SCRATCH}/sample",
          by_hand=f"rm {SCRATCH}/sample", place=SCRATCH),
    Drift("a link from what should last to what does not", ("LNK-005 broken hand medium",),
          f"mkdir {SCRATCH}/venv; ln -s {SCRATCH}/venv venv", by_hand="rm venv", place="~/venv"),
]  # fmt: skip

NARVAL = [
    Drift("a key in a variable that goes before its file", (SEC_004, SEC_008),
          f"mkdir -p .config/fish; echo 'set -gx NGC_API_KEY {STRAY}' >> .config/fish/config.fish",
          by_hand="sed -i /NGC_API_KEY/d .config/fish/config.fish", place="~/.config/fish/config.fish:"),
    Drift("a conda where the site wants none", ("PKG-001 unmanaged hand medium", "PKG-003 unmanaged hand medium"),
          _conda("miniconda3"), by_hand="rm -r miniconda3", place="~/miniconda3"),
    _quota("a quota that is nearly used up, in the site's own table", "USE-002", REPORT),
]  # fmt: skip

LATE = {"lrz": LRZ, "dfki": DFKI, "pegasus": PEGASUS, "wilson": WILSON, "daint": DAINT, "narval": NARVAL}
