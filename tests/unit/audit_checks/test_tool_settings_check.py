# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings of tools that compete with hpc-onboard's, and those that are nobody's concern."""

from __future__ import annotations

import pytest
from account_scene import Folder, Plain, Scene, Thing
from ansible_collections.hpc.onboard.plugins.module_utils._audit_checks.tool_settings import ToolSettings
from audit_check_runs import run_check

from tests.effort import turns

OURS = {"HF_HUB_CACHE": "/work/hub", "PIP_CACHE_DIR": "/work/pip", "ENROOT_DATA_PATH": "/work/data"}
ENTRY = {"kind": "shell_environment", "section": "own", "variables": OURS, "path": []}
UNCHECKED = "this line turns off the verification of servers"
PYTHON_OFF = "ssl._create_default_https_context = ssl._create_unverified_context"
OUTRANKS = "is set here, but hpc-onboard's HF_HUB_CACHE takes precedence"


@turns(4)
@pytest.mark.parametrize(
    ("file", "line", "finding"),
    [
        (".bashrc", "export HF_HOME=$HOME/hf", f"HF_HOME {OUTRANKS}, so the content of ~/hf is no longer used"),
        (".bashrc", "export TRANSFORMERS_CACHE=/x", f"TRANSFORMERS_CACHE {OUTRANKS}"),
        (".bashrc", "export HUGGINGFACE_HUB_CACHE=/work/hub", ""),
        (".bashrc", "export XDG_CACHE_HOME=~/hf", "XDG_CACHE_HOME is set to ~/hf in the home directory, but this site"),
        (".bashrc", "export XDG_CACHE_HOME=$HOME/.cache", ""),
        (".bashrc", "export XDG_CACHE_HOME=~/", "XDG_CACHE_HOME is set here"),
        (".bashrc", "export SINGULARITY_CACHEDIR=~/x", "SINGULARITY_CACHEDIR is set to ~/x in the home directory, but"),
        (".bashrc", "# export HF_HOME=~/hf", ""),
        (".bashrc", "export A=b\r", "this line ends with a carriage return"),
        (
            "enroot/enroot.config",
            "ENROOT_DATA_PATH ${HOME}/containers",
            "is set to ~/containers, but hpc-onboard's ENROOT_",
        ),
        ("enroot/enroot.config", "ENROOT_TEMP_PATH /tmp", ""),
        (
            "enroot/enroot.config",
            "ENROOT_DATA_PATH ${XDG_DATA_HOME:-~/.local/share}/enroot",
            "is set to ~/.local/share/enroot",
        ),
        (".wgetrc", "check-certificate = off", UNCHECKED),
        ("enroot/enroot.config", "ENROOT_MOUNT_HOME yes", ""),
        ("enroot/enroot.config", "ENROOT_CACHE_PATH ~/e", "ENROOT_CACHE_PATH is set to ~/e in the home directory"),
        ("enroot/environ.d/1.env", "PIP_CACHE_DIR=/tmp/pip", "PIP_CACHE_DIR is set to /tmp/pip"),
        (".config/environment.d/c.conf", "PIP_CACHE_DIR=/work/pip", ""),
        (".config/environment.d/c.conf", "JAVA_HOME=~/jdk", ""),
        (".pip/pip.conf", "target = /gone/site-packages", "target refers to /gone/site-packages, which does not exist"),
        (".pip/pip.conf", "target = ~/new", ""),
        (".config/pip/pip.conf", "cache-dir = ~/pip", "cache-dir is set to ~/pip, but hpc-onboard's PIP_CACHE_DIR is"),
        (
            ".condarc",
            "pkgs_dirs: [~/pkgs]",
            "pkgs_dirs is set to ~/pkgs in the home directory, but this site wants this folder in /work",
        ),
        (".condarc", "envs_dirs: [/tmp/envs, ~/envs]", ""),
        (".condarc", "envs_dirs: [/gone/envs]", "envs_dirs is set to /gone/envs, which does not exist and which you"),
        (".bashrc", "export TORCH_HOME=/gone/torch", "TORCH_HOME is set to /gone/torch, which does not exist"),
        (".bashrc", "  export TORCH_HOME=/gone/torch", ""),
        (".bashrc", "export CARGO_HOME=/gone/cargo JAVA_HOME=/opt/jdk-9", "CARGO_HOME is set to /gone/cargo, which"),
        (".bashrc", "export APPTAINER_NOHTTPS=1", UNCHECKED),
        (".config/environment.d/c.conf", "SSL_CERT_FILE=/gone/ca", "SSL_CERT_FILE refers to /gone/ca, which does not"),
        ("enroot/hooks.d/1.sh", "export HF_HOME=/gone/hf", "HF_HOME is set to /gone/hf, which does not exist"),
        (".config/dask/local.yaml", "temporary-directory: /gone/d", "temporary-directory is set to /gone/d, which"),
        (
            ".spack/config.yaml",
            "  build_stage:\n  - $tempdir/s  # mine\n  - /gone/s # x",
            "build_stage is set to /gone/s,",
        ),
        (".config/lftp/rc", "set ssl:verify-certificate no", UNCHECKED),
        (".s3cfg", "use_https = False", UNCHECKED),
        (".bashrc", "export APPTAINERENV_PIP_CACHE_DIR=/x", "in a container, this line overrides hpc-onboard's PIP_"),
        (".config/pypoetry/config.toml", 'cache-dir = "/gone/poetry"', "cache-dir is set to /gone/poetry, which does"),
        (
            ".npmrc",
            "cache=~/npm",
            "cache is set to ~/npm in the home directory, but this site wants this folder in /work",
        ),
        (".npmrc", "prefix=~/npm", ""),
        (
            ".yarnrc.yml",
            "cacheFolder: ~/y",
            "cacheFolder is set to ~/y in the home directory, but this site wants this folder in /work",
        ),
        (".spack/config.yaml", "  build_stage: ~/s", "build_stage is set to ~/s in the home directory"),
        (".config/pypoetry/config.toml", 'path = "{cache-dir}/virtualenvs"', ""),
        (
            ".vscode-server/data/Machine/settings.json",
            '{"x": {"PIP_CACHE_DIR": "/x"}}',
            "this line sets PIP_CACHE_DIR to",
        ),
        (".config/systemd/user/a.service", "ExecStart=/gone/x -v", "this file starts /gone/x, which does not exist"),
        (".config/systemd/user/a.service", "ExecStart=%h/bin/x", "this file starts ~/bin/x, which does not exist"),
        (".config/systemd/user/a.service", "WorkingDirectory=/gone/x", "this line refers to /gone/x, which does not"),
        (".config/systemd/user/a.service", "EnvironmentFile=-/gone/x", ""),
        (".bashrc", "export TMPDIR=$SCRATCH/gone", "TMPDIR refers to /work/gone, which does not exist"),
        (".bashrc", "export FFTW_PATH=/gone/a:/gone/b", ""),
        (".bashrc", "export MPLCONFIGDIR=/gone/mpl", "MPLCONFIGDIR is set to /gone/mpl, which does not exist"),
        (".bashrc", "set --global --export CARGO_HOME /gone/cargo", "CARGO_HOME is set to /gone/cargo, which does"),
        (".bashrc", "export TRITON_HOME=~/triton", ""),
        (".spack/config.yaml", "  build_stage:\n    - ~/s", "build_stage is set to ~/s in the home directory"),
        (
            ".config/containers/storage.conf",
            'additionalimagestores = [\n  "/gone/c",\n]',
            "additionalimagestores is set to /gone/c, which does not exist",
        ),
        (".spack/config.yaml", "  install_tree: ~/s", "install_tree is set to ~/s in the home directory"),
        (".vimrc", "set undodir=/gone/undo", "this line refers to /gone/undo, which does not exist"),
        (".vimrc", "set undodir=~/.vim/undo", ""),
        (".spack/config.yaml", "  modules:\n    - ~/s", ""),
        (".ccache/ccache.conf", "cache_dir = /gone/cc", "cache_dir is set to /gone/cc, which does not exist"),
        (".config/pixi/config.toml", 'detached-environments = "~/px"', "detached-environments is set to ~/px in the"),
        (".npmrc", "prefix=/gone/npm", "prefix is set to /gone/npm, which does not exist"),
        (".curlrc", 'cacert = "/gone/ca.pem"', "this line refers to /gone/ca.pem, which does not exist"),
        (".gitconfig", "  hooksPath = /gone", "this line refers to /gone, which does not exist"),
        (".gitconfig", "  hooksPath = ~/.githooks", ""),
        (".gitconfig", "  template = ~/.gitmessage", ""),
        (".Rprofile", '.libPaths(c("/gone/R"))', "this line refers to /gone/R, which does not exist"),
        (
            ".jupyter/jupyter_lab_config.json",
            '{"ServerApp": {"root_dir": "/gone"}}',
            "this line refers to /gone, which",
        ),
        (".config/Code/User/settings.json", '"git.path": "/gone/git"', "this file starts /gone/git, which does not"),
        (".vimrc", "set shell=/gone/zsh", "this file starts /gone/zsh, which does not exist"),
        (".config/emacs/init.el", '(setq explicit-shell-file-name "/gone/zsh")', "this file starts /gone/zsh, which"),
        (".tmux.conf", "set -g default-shell /gone/fish", "this file starts /gone/fish, which does not exist"),
        (".tmux.conf", "set -g status-left /gone/fish", ""),
        (".screenrc", "shell -/gone/zsh", "this file starts /gone/zsh, which does not exist"),
        (".config/nvim/init.lua", 'vim.g.python3_host_prog = "/gone/python"', "this file starts /gone/python, which"),
        (".vimrc", "let g:python3_host_prog='/gone/python'", "this file starts /gone/python, which does not exist"),
        (".emacs", '(setq python-shell-interpreter "/gone/python")', "this file starts /gone/python, which does"),
        (".emacs", ';; (setq python-shell-interpreter "/gone/python")', ""),
        (
            ".local/share/jupyter/kernels/a/kernel.json",
            '{"argv": ["/gone/python", "-m"]}',
            "this file starts /gone/python, which does not exist",
        ),
        (".local/share/jupyter/kernels/a/kernel.json", '{"argv": ["/local/job/python", "-m"]}', ""),
        (".config/conda/condarc", "pkgs_dirs: [~/pkgs]", "pkgs_dirs is set to ~/pkgs in the home directory"),
        (".gitconfig", "  sslVerify = false", UNCHECKED),
        (".gitconfig", '[url "http://git.example.org/"]', UNCHECKED),
        (".config/wandb/settings", "base_url = http://wandb.example.org:8080", UNCHECKED),
        (".bashrc", "export WANDB_BASE_URL=http://wandb.example.org", UNCHECKED),
        (".gitconfig", "  sslVerify = true", ""),
        (".condarc", "ssl_verify: false", UNCHECKED),
        (".curlrc", "insecure", UNCHECKED),
        (".ssh/config", "StrictHostKeyChecking no", UNCHECKED),
        (".ssh/config", "StrictHostKeyChecking accept-new", ""),
        (".ssh/config", "UserKnownHostsFile /dev/null", UNCHECKED),
        (".curlrc", "insecure = true", UNCHECKED),
        (".pip/pip.conf", "trusted_host: pypi.org", UNCHECKED),
        (".pip/pip.conf", "index-url = http://localhost:3141", ""),
        (".gitconfig", "  sshCommand = ssh -o StrictHostKeyChecking=no", UNCHECKED),
        (".config/containers/registries.conf.d/a.conf", "insecure = true", UNCHECKED),
        (".bashrc", "alias curl='curl -sk'", UNCHECKED),
        (".bashrc", "alias curl='curl -sS'", ""),
        (".config/environment.d/c.conf", "PYTHONHTTPSVERIFY=0", UNCHECKED),
        (".local/lib/python3.9/site-packages/usercustomize.py", f"import ssl; {PYTHON_OFF}", UNCHECKED),
        (".bashrc", "alias wget='wget --no-check-certificate'", UNCHECKED),
        (".config/wandb/settings", "cache_dir = /tmp/x", ""),
        (".config/pip/pip.conf", "cache-dir = .pip", "cache-dir is a relative path"),
        (".conda/condarc.d/a.yml", "pkgs_dirs: [~/pkgs]", "pkgs_dirs is set to ~/pkgs in the home directory"),
        (".tmux.conf", "set-environment -g PIP_CACHE_DIR '/x'", "this line sets PIP_CACHE_DIR to"),
        ("enroot/hooks.d/a.sh", 'echo "PIP_CACHE_DIR=$HOME/x" >>"$ENROOT_ENVIRON"', "this line sets PIP_CACHE_DIR to"),
        (
            "enroot/mounts.d/a.fstab",
            "/home/gone /sets none bind",
            "this line refers to /home/gone, which does not exist",
        ),
        ("enroot/mounts.d/a.fstab", "/dev/gone /dev/gone none bind", ""),
        (".Renviron", "R_LIBS_USER=/opt/R/%V", ""),
        (".bashrc", "export ZDOTDIR=~/zsh", ""),
        (".gitconfig", "  helper = !/gone/gh auth", "this line refers to /gone/gh, which does not exist"),
        (".bashrc", "export SSL_CERT_FILE=/gone/ca.pem", "SSL_CERT_FILE refers to /gone/ca.pem, which does not exist"),
        (
            ".bashrc",
            "export A=1 SSL_CERT_FILE='/gone/ca.pem' B=2",
            "SSL_CERT_FILE refers to /gone/ca.pem, which does not",
        ),
        (".config/pip/pip.conf", "cache-dir = ./.pip", "cache-dir is a relative path"),
        ("bin/q", "#!/opt/gone/python", "this script refers to /opt/gone/python, which does not exist"),
        ("bin/q", "#!/gone/python/3.9/bin/python3", "this script refers to /gone/python/3.9/bin/python3, which does"),
        (".config/wandb/settings", "root_dir = ~/runs", "root_dir is set to ~/runs in the home directory, but this"),
        ("bin/q", "#!/usr/bin/env\r", "a carriage return ends this line"),
        (".bashrc", "export CONDA_PKGS_DIRS=~/pkgs", "CONDA_PKGS_DIRS is set to ~/pkgs in the home directory"),
        (".bashrc", "export NODE_TLS_REJECT_UNAUTHORIZED=0", UNCHECKED),
        (".bashrc", "if false; then\n  export HF_HOME=/models\nfi", ""),
        (".bashrc", "help() { cat <<END\nexport HF_HOME=/models\nEND\n}", ""),
        (".bashrc", "export TMPDIR=/gone/tmp", "TMPDIR refers to /gone/tmp, which does not exist"),
        (".bashrc", "export TMPDIR=/gone/tmp; mkdir -p $TMPDIR", ""),
        (".bashrc", "export CONDA_PKGS_DIRS=~/pkgs; mkdir -p ~/pkgs", "CONDA_PKGS_DIRS is set to ~/pkgs in the home"),
        (".bashrc", "export CURL_CA_BUNDLE=", UNCHECKED),
        (".bashrc", "alias ssh='ssh -o StrictHostKeyChecking=no'", UNCHECKED),
        (".Rprofile", 'options(repos = c(CRAN = "http://cran.r-project.org"))', UNCHECKED),
        (".npmrc", "registry=http://npm.example.org/", UNCHECKED),
        (".condarc", "channels: [defaults]\nchannel_alias: https://conda.example.org", ""),
        (".condarc", "channel_alias: http://conda.example.org", UNCHECKED),
        (".s3cfg", "check_ssl_certificate = False", UNCHECKED),
        ("enroot/environ.d/1.env", "HF_HOME=/models", f"HF_HOME {OUTRANKS}"),
    ],
)
def test_what_competes_is_found(scene: Scene, file: str, line: str, finding: str) -> None:
    scene.run(ENTRY)
    path = scene.root / f"home/simone/{file}"
    path.parent.mkdir(parents=True, exist_ok=True)
    before = path.read_bytes().splitlines(keepends=True) if path.exists() else []
    path.write_bytes(b"".join(before) + f"{line}\n".encode())
    tree: dict[str, Thing] = {
        "/opt": Folder(),
        "~/hf": Folder(),
        "~/hf/hub": Plain(b""),
        "~/pip": Folder(),
        "~/pip/x": Plain(b""),
    }
    scene.make(tree)
    scene.environment = {"SCRATCH": "/work"}
    report = run_check(scene, ToolSettings, off_home="/work")
    rule = "ENV-010" if "carriage" in finding else "SEC-012" if finding == UNCHECKED else "ENV-009"
    assert list(report.found) == (
        [f"{rule} ~/{file}:{len(before) + len(line.rstrip(']').splitlines())}"] if finding else []
    )
    assert [text for text in report.found.values() if finding not in text] == []


def test_a_folder_in_the_home_is_fine_where_the_site_has_no_wish(scene: Scene) -> None:
    scene.make({"~/.condarc": Plain(b"pkgs_dirs: [~/pkgs]\n"), "~/.npmrc": Plain(b"cache=~/npm\n")})
    assert run_check(scene, ToolSettings).found == {}


def test_a_file_that_a_start_up_file_reads_counts_as_one(scene: Scene) -> None:
    scene.run(ENTRY)
    scene.make({"~/.mine": Plain(b"export A=b\r\nexport HF_HOME=/x\n"), "~/.bash_profile": Plain(b". ~/.mine\n")})
    assert list(run_check(scene, ToolSettings).found) == ["ENV-009 ~/.mine:2", "ENV-010 ~/.mine:1"]


def test_of_ssh_only_what_holds_for_every_host_counts(scene: Scene) -> None:
    text = b"Host vm\n  StrictHostKeyChecking no\n  Include lab\nHost *\n  StrictHostKeyChecking no\n"
    scene.make({"~/.ssh": Folder(), "~/.ssh/config": Plain(text), "~/.ssh/lab": Plain(b"StrictHostKeyChecking no\n")})
    assert list(run_check(scene, ToolSettings).found) == ["SEC-012 ~/.ssh/config:5"]


def test_files_that_others_name_count_as_well(scene: Scene) -> None:
    scene.run(ENTRY)
    scene.make({
        "~/.bash_profile": Plain(b"export PIP_CONFIG_FILE=~/pip.ini\nexport CONDARC=$HOME/condarc\n"),
        "~/pip.ini": Plain(b"cache-dir = /x\ntrusted-host = example.org\n"),
        "~/condarc": Plain(b"pkgs_dirs: [~/pkgs]\n"),
        "~/.gitconfig": Plain(b"[include]\n path = ~/git-lab\n"),
        "~/git-lab": Plain(b"[http]\n sslVerify = 0\n"),
        "~/.ssh": Folder(),
        "~/.ssh/config": Plain(b"Include config.d/*\n"),
        "~/.ssh/config.d": Folder(),
        "~/.ssh/config.d/all": Plain(b"StrictHostKeyChecking no\n"),
    })  # fmt: skip
    found = ["ENV-009 ~/condarc:1", "ENV-009 ~/pip.ini:1", "SEC-012 ~/.ssh/config.d/all:1", "SEC-012 ~/git-lab:2"]
    found.append("SEC-012 ~/pip.ini:2")
    assert list(run_check(scene, ToolSettings, off_home="/work").found) == found


def test_a_variable_of_the_site_is_found_in_the_files_of_the_site(scene: Scene) -> None:
    scene.run(ENTRY)
    scene.environment = {"HF_HOME": "/models"}
    scene.make(
        {"/etc": Folder(), "/etc/profile.d": Folder(), "/etc/profile.d/hf.sh": Plain(b"export HF_HOME=/models\n")}
    )
    assert list(run_check(scene, ToolSettings).found) == ["ENV-009 /etc/profile.d/hf.sh:1"]
    scene.environment = {"TRANSFORMERS_CACHE": "/models"}
    assert list(run_check(scene, ToolSettings).found) == ["ENV-009 $TRANSFORMERS_CACHE"]
    scene.environment = {}
    assert run_check(scene, ToolSettings).found == {}


def test_a_path_with_letters_of_other_languages_exists(scene: Scene) -> None:
    scene.make(
        {"~/M\u00fcller": Folder(), "~/M\u00fcller/rc.py": Plain(b""), "~/M\u00e4": Folder(), "~/.pip": Folder()}
    )
    scene.make({"~/.bashrc": Plain("export PYTHONSTARTUP=~/M\u00fcller/rc.py\n".encode())})
    scene.make({"~/.pip/pip.conf": Plain("find-links = ~/M\u00e4\n".encode()), "~/bin": Folder()})
    scene.make({"/\u00fc": Folder(), "/\u00fc/sh": Plain(b""), "~/bin/x": Plain("#!/\u00fc/sh\n".encode())})
    assert run_check(scene, ToolSettings).found == {}


def test_hidden_files_are_not_included_by_a_wildcard(scene: Scene) -> None:
    scene.make({"~/.ssh": Folder(0o700), "~/.ssh/d": Folder(), "~/.ssh/config": Plain(b"Include d/*\n")})
    line = Plain(b"StrictHostKeyChecking no\n")
    scene.make({"~/.ssh/d/.work.swp": line, "~/.ssh/d/work": line})
    assert list(run_check(scene, ToolSettings).found) == ["SEC-012 ~/.ssh/d/work:1"]
