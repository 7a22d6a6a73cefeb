# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names of files and folders of a home directory that programs run or trust: settings of shells, editors and tools.

According to the documentation of the programs, each of these files can start a program, or select the program or
library that is used. Also settings and options that let other users act as the account: logins without a password, and
servers without a token.
"""

import re
from typing import Iterator, Tuple

from .._scan.named_paths import CRONTABS
from .._scan.tool_places import ENROOT
from .._shells.start_up import FOLDER

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
    *CRONTABS,
    *(".bash_completion", ".p10k.zsh", ".fzf.bash", ".fzf.zsh", ".dircolors", ".direnvrc", ".config/starship.toml"),
    *(
        ".config/emacs/init.el",
        ".ipython/profile_default/ipython_config.py",
        ".gvimrc",
        ".exrc",
        ".nanorc",
        ".config/nano/nanorc",
        ".emacs.el",
        ".spacemacs",
        ".byobu/profile",
        ".ghci",
    ),
    *(".config/zellij/config.kdl", ".pythonrc.py", ".config/python/pythonrc", ".matlab/startup.m", ".irbrc", ".pryrc"),
    *("Documents/MATLAB/startup.m", "matlab/startup.m", ".config/gdb/gdbinit", ".conda/condarc", ".conda/.condarc"),
    *(".yarnrc", ".yarnrc.yml", ".pydistutils.cfg", ".cargo/config", ".config/wgetrc", ".config/curlrc"),
    *(".lftprc", ".lftp/rc", ".config/lftp/rc", ".xprofile", ".xinitrc", ".xsession", ".xsessionrc", ".vnc/xstartup"),
    *(".config/tigervnc/xstartup", ".vnc/config", ".vscode-server/server-env-setup", ".config/tmux/tmux.conf.local"),
    *(".config/containers/containers.conf", ".config/lf/lfrc", ".muttrc", ".config/mutt/muttrc", ".latexmkrc"),
    *(".config/latexmk/latexmkrc", ".perldb", ".gemrc", ".tclshrc", ".wishrc", ".ansible.cfg", ".slurm/defaults"),
    *(".openmpi/mca-params.conf", ".nvm/nvm.sh", ".sdkman/bin/sdkman-init.sh", ".asdf/asdf.sh", ".modulerc.lua"),
    *(".config/bash/bashrc", ".envrc"),
    *(".config/pypoetry/config.toml", ".config/dvc/config", ".pixi/config.toml", ".bunfig.toml", ".config/pnpm/rc"),
)
FOLDERS = (  # all files in these folders and their subfolders may run
    *(".ssh", ".gnupg", ".jupyter", ".docker/cli-plugins", ".local/share/jupyter/kernels"),
    *(".local/share/bash-completion", ".R", ".config/snakemake", ".config/easybuild", ".spack", ".lmod.d"),
    *(".config/systemd/user", ".config/autostart", ".config/environment.d", ".config/plasma-workspace/env"),
    *(".bashrc.d", ".profile.d", ".config/bash", ".config/zsh", ".config/fish", ".zsh", ".oh-my-bash"),
    *(".zinit", ".zplug", ".antigen", ".local/share/zinit", ".zim", ".zprezto", ".oh-my-zsh"),
    *(folder + name for folder in ENROOT for name in ("/hooks.d", "/mounts.d", "/environ.d")),
    *(".git-templates", ".config/git", ".ipython/profile_default/startup", ".ipython/extensions"),
    *(
        ".config/ranger",
        ".mutt",
        ".zsh.d",
        ".zshrc.d",
        ".bash.d",
        ".local/share/systemd/user",
        ".doom.d",
        ".config/doom",
    ),
    *(".config/byobu", ".config/lmod", ".easybuild", ".config/dask", ".edf", "privatemodules", ".git_template"),
    *(".githooks", ".git-hooks", ".bash_it", ".bash-it", ".ipython/profile_default", ".ansible/plugins"),
    *(".tmux/plugins", ".config/tmux", ".vim", ".config/nvim", ".emacs.d", ".config/emacs", ".local/share/nvim/site"),
    *(".vscode-server/extensions", ".cursor-server/extensions"),  # large, so they come last
)
PYTHON_FOLDERS = ".local/lib"  # contains a folder with site-packages for each Python version
RUN_BY_PYTHON = re.compile(r"(?:user|site)customize\.py\Z|.*\.pth\Z")  # files of site-packages that Python always runs
SERVICES = (  # folder, and the endings of its files
    (".config/systemd/user", (".service", ".timer", ".socket", ".path", ".conf")),
    (".local/share/systemd/user", (".service", ".timer", ".socket", ".path", ".conf")),
    (".config/autostart", (".desktop",)),
)
READ_FOLDERS = (  # folders whose files name what their programs load or run
    *(".ipython/profile_default/startup", ".config/environment.d", ".local/share/jupyter/kernels"),
    *(folder + name for folder in ENROOT for name in ("/hooks.d", "/mounts.d", "/environ.d")),
)
PROGRAMS = (  # folders of programs; the account's other folders on PATH are checked as well
    *("bin", ".local/bin", ".bin", ".cargo/bin", ".pyenv/bin", ".pyenv/shims", ".rbenv/bin", ".rbenv/shims", "go/bin"),
    *(".fzf/bin", ".npm-global/bin", ".juliaup/bin", ".deno/bin", ".bun/bin", ".pixi/bin", ".nix-profile/bin"),
)

# -- open servers and logins -------------------------------------------------------------------

WITHOUT_TOKEN = "this server accepts connections without a token or a password"
_EMPTY = r"(?:''|\"\"|(?=\\?[ \t]|[|&;)]|\\?$))"
_OPEN_SERVER = re.compile(  # options and variables of Jupyter, and options of VNC servers
    r"^[^#\n]*?(?:--\w*(?:App|Provider)\.token(?:=%s|[ \t]+(?:''|\"\"))|\bJUPYTER_TOKEN(?:=%s|[ \t]+(?:''|\"\"))"
    r"|\b(?:vncserver|Xvnc|x0vncserver|tigervncserver|vncsession)\b[^\n]*-(?i:SecurityTypes[ =][\"']?(?:\w+,)*None)\b"
    r"|\bx11vnc\b[^\n]*\s-nopw\b)" % (_EMPTY, _EMPTY),
    re.MULTILINE,
)
_ANY_HOST = re.compile(r"^[ \t]*\+", re.MULTILINE)
_OPEN_PYTHON = re.compile(
    r"^[ \t]*(?:c|get_config\(\))\.\w+\.(?:token[ \t]*=[ \t]*u?(?:''|\"\")|disable_check_xsrf[ \t]*=[ \t]*True)",
    re.MULTILINE,
)
_OPEN_JSON = re.compile(r"\"token\"[ \t]*:[ \t]*\"\"|\"disable_check_xsrf\"[ \t]*:[ \t]*true")
_OPEN_VNC = re.compile(r"(?i)^[ \t]*\$?SecurityTypes[ \t=]+[^\n#]*\bNone\b", re.MULTILINE)
_OF_VNC = "this remote desktop accepts connections without a password"
OPEN_LOGINS = (  # file, a pattern of the line that lets other users act as the account, and the problem
    *((name, _ANY_HOST, "this line lets users on any host log in as you") for name in (".rhosts", ".shosts")),
    *(
        (".jupyter/jupyter_%sconfig.%s" % (name, end), form, WITHOUT_TOKEN)
        for name in ("", "server_", "notebook_", "lab_", "nbclassic_")
        for end, form in (("py", _OPEN_PYTHON), ("json", _OPEN_JSON))
    ),
    *(
        (name, _OPEN_VNC, _OF_VNC)
        for name in (".vnc/config", ".config/tigervnc/config", ".vnc/tigervnc.conf", ".vnc/turbovncserver.conf")
    ),
    (".x11vncrc", re.compile(r"^[ \t]*-?nopw\b", re.MULTILINE), _OF_VNC),
)


def find_open_servers(text: str) -> Iterator[Tuple[int, str]]:
    """Yield (line number, problem) of each line of a script that starts a server without a token or a password."""
    for found in _OPEN_SERVER.finditer(text):
        yield text.count("\n", 0, found.end()) + 1, WITHOUT_TOKEN
