# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files and folders of a home that programs run or trust, by their names: settings of shells, editors and tools.

Each can start a program, or decides which one starts and what it loads, as the documentation of its program says.
"""

import re

from .._scan.start_up import FOLDER

FILES = (  # in the home
    FOLDER + "/env.sh",
    FOLDER + "/env.csh",
    FOLDER + "/env.fish",
    FOLDER + "/receipt.json",
    ".ssh/authorized_keys",
    ".ssh/authorized_keys2",
    ".ssh/config",
    ".ssh/environment",
    ".ssh/rc",
    ".forward",
    ".pam_environment",
    ".k5login",
    ".rhosts",
    ".shosts",
    ".gitconfig",
    ".config/git/config",
    ".zlogout",
    ".logout",
    ".pythonrc",
    ".pdbrc",
    ".gdbinit",
    ".lldbinit",
    ".Rprofile",
    ".julia/config/startup.jl",
    ".vimrc",
    ".vim/vimrc",
    ".config/nvim/init.vim",
    ".config/nvim/init.lua",
    ".emacs",
    ".emacs.d/init.el",
    ".tmux.conf",
    ".screenrc",
    ".mailcap",
    ".procmailrc",
    ".inputrc",
    ".curlrc",
    ".Renviron",
    ".octaverc",
    ".sqliterc",
    ".psqlrc",
    ".lmodrc.lua",
    ".modulerc",
    ".xsessionrc",
    ".condarc",
    ".npmrc",
    ".pip/pip.conf",
    ".config/pip/pip.conf",
    ".config/uv/uv.toml",
    ".cargo/config.toml",
    ".cargo/env",
    ".config/direnv/direnvrc",
    ".config/tmux/tmux.conf",
    ".config/enroot/enroot.config",
    "enroot/enroot.config",
    ".jupyter/jupyter_server_config.py",
    ".jupyter/jupyter_notebook_config.py",
    ".docker/config.json",
    ".kube/config",
)
FOLDERS = (  # whose files run, whatever their names
    ".ssh",
    ".config/systemd/user",
    ".config/autostart",
    ".config/environment.d",
    ".config/fish/conf.d",
    ".config/fish/functions",
    ".bashrc.d",
    ".config/enroot/hooks.d",
    "enroot/hooks.d",
    ".ipython/profile_default/startup",
    ".config/enroot/mounts.d",
    ".config/enroot/environ.d",
    "enroot/mounts.d",
    "enroot/environ.d",
    ".config/plasma-workspace/env",
    ".oh-my-zsh/custom",
    ".vim/plugin",
    ".vim/autoload",
    ".config/nvim/plugin",
    ".docker/cli-plugins",
    ".local/share/bash-completion/completions",
)
PYTHONS = ".local/lib"  # folders of Python versions; these files in their site-packages run in each of its programs
RUN_BY_PYTHON = re.compile(r"(?:user|site)customize\.py\Z|.*\.pth\Z")
SERVICES = ((".config/systemd/user", (".service", ".timer", ".socket")), (".config/autostart", (".desktop",)))
PROGRAMS = ("bin", ".local/bin")  # in the home; other folders on PATH count as well
