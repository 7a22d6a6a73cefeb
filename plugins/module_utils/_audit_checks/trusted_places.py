# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names of files and folders of a home directory that programs run or trust: settings of shells, editors and tools.

According to the documentation of the programs, each of these files can start a program, or select the program or
library that is used.
"""

import re

from .._scan.start_up import FOLDER
from .._scan.tool_places import ENROOT

FILES = (  # in the home directory
    FOLDER + "/env.sh",
    FOLDER + "/env.csh",
    FOLDER + "/env.fish",
    FOLDER + "/receipt.json",
    ".ssh/authorized_keys",
    ".ssh/authorized_keys2",
    ".ssh/config",
    ".ssh/environment",
    ".ssh/rc",
    ".ssh/known_hosts",
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
    ".jupyter/jupyter_lab_config.py",
    ".vscode-server/data/Machine/settings.json",
    ".cursor-server/data/Machine/settings.json",
    ".config/Code/User/settings.json",
    ".config/containers/registries.conf",
    ".config/containers/storage.conf",
    ".config/containers/policy.json",
    ".aws/config",
    ".config/conda/.condarc",
    ".mambarc",
    ".wgetrc",
    ".nextflow/config",
    ".bash_logout",
)
FOLDERS = (  # all files in these folders and their subfolders may run
    *(".ssh", ".gnupg", ".jupyter", ".docker/cli-plugins", ".local/share/jupyter/kernels"),
    *(".local/share/bash-completion", ".R", ".config/snakemake", ".config/easybuild", ".spack", ".lmod.d"),
    *(".config/systemd/user", ".config/autostart", ".config/environment.d", ".config/plasma-workspace/env"),
    *(".bashrc.d", ".profile.d", ".config/bash", ".config/zsh", ".config/fish", ".zsh", ".oh-my-bash"),
    *(".zinit", ".zplug", ".antigen", ".local/share/zinit", ".zim", ".zprezto", ".oh-my-zsh"),
    *(folder + name for folder in ENROOT for name in ("/hooks.d", "/mounts.d", "/environ.d")),
    *(".git-templates", ".config/git", ".ipython/profile_default/startup", ".ipython/extensions"),
    *(".config/ranger", ".mutt"),
    *(".tmux/plugins", ".config/tmux", ".vim", ".config/nvim", ".emacs.d", ".config/emacs", ".local/share/nvim/site"),
    *(".vscode-server/extensions", ".cursor-server/extensions"),  # large, so they come last
)
PYTHON_FOLDERS = ".local/lib"  # contains a folder with site-packages for each Python version
RUN_BY_PYTHON = re.compile(r"(?:user|site)customize\.py\Z|.*\.pth\Z")  # files of site-packages that Python always runs
SERVICES = (  # folder, and the endings of its files
    (".config/systemd/user", (".service", ".timer", ".socket", ".path", ".conf")),
    (".config/autostart", (".desktop",)),
)
OPEN_SERVER = re.compile(  # options of Jupyter and VNC in a script
    r"^[^#\n]*(?:--\w*App\.token=(?:''|\"\"|[ \t]|$)|\bvncserver\b.*-SecurityTypes[ =]None\b)", re.MULTILINE
)
WITHOUT_TOKEN = "this server accepts connections without a token or a password"
OPEN_LOGINS = (  # file, a pattern of the line that lets other users act as the account, and the problem
    (".rhosts", re.compile(r"^[ \t]*\+", re.MULTILINE), "this line lets users on any host log in as you"),
    (".shosts", re.compile(r"^[ \t]*\+", re.MULTILINE), "this line lets users on any host log in as you"),
    *(
        (
            ".jupyter/jupyter_%s_config.%s" % (name, end),
            form,
            WITHOUT_TOKEN,
        )
        for name in ("server", "notebook", "lab")
        for end, form in (
            (
                "py",
                re.compile(r"^[ \t]*c\.\w+\.(?:token|disable_check_xsrf)[ \t]*=[ \t]*(?:''|\"\"|True)", re.MULTILINE),
            ),
            ("json", re.compile(r"\"token\"[ \t]*:[ \t]*\"\"")),
        )
    ),
    (
        ".vnc/config",
        re.compile(r"(?i)^[ \t]*SecurityTypes[ \t=]+.*\bNone\b", re.MULTILINE),
        "this remote desktop accepts connections without a password",
    ),
)
PROGRAMS = ("bin", ".local/bin")  # folders of programs; the account's other folders on PATH are checked as well
