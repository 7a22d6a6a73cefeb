# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find the paths of files and folders that start-up files and settings of programs name, load or run.

A loaded path is the value of a variable or setting whose program runs or reads everything there. Of all other named
paths, only programs matter: files that can be executed, and files whose names look like those of programs.
"""

import os
import re
from typing import Dict, List, Pattern

PATH_VARIABLES = frozenset(
    (  # noqa: SIM905  # words read better in one text
        # of shells
        "PATH path BASH_ENV ENV ZDOTDIR FPATH fpath module_path ZSH ZSH_CUSTOM INPUTRC fish_user_paths"
        " fish_function_path"
        # of languages
        " PYTHONPATH PYTHONSTARTUP PYTHONUSERBASE PYTHONHOME PERL5LIB R_LIBS R_LIBS_USER R_LIBS_SITE R_PROFILE"
        " R_PROFILE_USER R_ENVIRON R_ENVIRON_USER NODE_PATH JULIA_LOAD_PATH JULIA_DEPOT_PATH RUBYLIB GEM_HOME GEM_PATH"
        " GOBIN GOPATH CARGO_HOME CLASSPATH MATLABPATH OCTAVE_PATH TCLLIBPATH LUA_PATH LUA_CPATH EMACSLOADPATH"
        " VIMRUNTIME LD_LIBRARY_PATH LD_PRELOAD LD_AUDIT"
        # of tools
        " MODULEPATH MODULERCFILE LMOD_RC GIT_CONFIG_GLOBAL GIT_TEMPLATE_DIR GIT_EXEC_PATH GIT_SSH GIT_ASKPASS"
        " GIT_EDITOR GIT_PAGER WGETRC PIP_CONFIG_FILE CONDARC UV_CONFIG_FILE NPM_CONFIG_USERCONFIG"
        " npm_config_userconfig CURL_HOME SCREENRC EDITOR VISUAL PAGER MANPAGER BROWSER SSH_ASKPASS SUDO_ASKPASS"
        " JUPYTER_PATH JUPYTER_CONFIG_DIR JUPYTER_CONFIG_PATH IPYTHONDIR KUBECONFIG ENROOT_CONFIG_PATH"
        " APPTAINER_CONFIGDIR SINGULARITY_CONFIGDIR XDG_CONFIG_HOME SPACK_USER_CONFIG_PATH DOCKER_CONFIG PYENV_ROOT"
        " NVM_DIR"
    ).split()
)
"""Variables of programs or libraries to load, and of settings files."""
_ASSIGNMENT = re.compile(  # the name is in one of the groups
    r"\b(\w+)(?:\[[^\]\n]*\])?\+?=|\b(?:set|setenv)(?: --?[\w-]+)* (\w+)\b|^(\w+)[ \t]+DEFAULT="
)
_ADDS_FOLDER = re.compile(r"\bfish_add_path\b|\b(?:module|ml)[ \t]+(?:--?\w+[ \t]+)*use\b")  # to such a variable
LOOPS = re.compile(r"^[^#\n]*?\bfor(?:each)?[ \t]+\w*([^;\n]*)", re.MULTILINE)  # most loops source files of a folder
ANY_LINE = re.compile(r"^([^#\n]+)", re.MULTILINE)  # a line without comment
RUN_LINES = re.compile(r"^(?![ \t]*(?:#[^(]|//|--|;|\"[ \t]))(.+)", re.MULTILINE)
"""Lines of settings in any language, without comments. In tmux, #(...) runs a command."""
_PROGRAM = re.compile(r".*\.(?:(?:ba|z|c|tc|k|fi)?sh|py|pl|rb|lua|vim|el|R|jl|js|so|service)\Z")
_VIM = r"\bso(?:urce)?\b|\bset? r(?:untime|t)p\b|\bset? runtimepath|\bset? packpath|\bluafile\b|plug#begin|\bPlug\b"
_GIT = (
    r"^[ \t]*(?:\[\w+\][ \t]*)?(?:hooksPath|templateDir|fsmonitor|path|editor|pager|helper|sshCommand|external|askPass"
    r"|program|clean|smudge|process|cmd|driver|textconv|gitProxy|\w+(?=\s*=\s*\"?!))\s*=(.*)$"
)
_EMACS = re.compile(r"^[^;\n]*\b(?:load|load-file|load-path|custom-file)\b(.*)$", re.M)
_TMUX = re.compile(r"^[^#\n]*\b(?:run(?:-shell)?|source(?:-file)?|set\b.*default-(?:command|shell))\b(.*)$", re.M)
_R = re.compile(r"^[^#\n]*(?:\bsource\(|\.libPaths\(|^R_(?:LIBS|PROFILE|ENVIRON)\w*=)(.*)$", re.M)
SETTINGS_LINES: Dict[str, Pattern[str]] = {  # settings file -> its lines that name what its program loads
    **dict.fromkeys((".gitconfig", ".config/git/config"), re.compile(_GIT, re.I | re.M)),
    ".ssh/config": re.compile(
        r"^[ \t]*(?:Include|ProxyCommand|LocalCommand|RemoteCommand|KnownHostsCommand|Match\b.*\bexec"
        r"|UserKnownHostsFile|XAuthLocation|PKCS11Provider|SecurityKeyProvider|IdentityAgent|IdentityFile)\b(.*)$",
        re.I | re.M,
    ),
    ".ssh/authorized_keys": re.compile(r"^[^#\n]*\bcommand=(\"[^\"\n]*\")", re.M),
    **dict.fromkeys((".tmux.conf", ".config/tmux/tmux.conf"), _TMUX),
    **dict.fromkeys(
        (".vimrc", ".vim/vimrc", ".config/nvim/init.vim", ".config/nvim/init.lua"),
        re.compile(r"^(?![ \t]*(?:\"|--))[^\n]*(?:%s|\brtp\b|dofile)(.*)$" % _VIM, re.M),
    ),
    **dict.fromkeys((".emacs", ".emacs.d/init.el", ".config/emacs/init.el"), _EMACS),
    **dict.fromkeys((".Rprofile", ".Renviron"), _R),
    ".julia/config/startup.jl": re.compile(r"^[^#\n]*(?:\binclude\(|LOAD_PATH|DEPOT_PATH)(.*)$", re.M),
    ".forward": re.compile(r"^(.*)$", re.M),
    ".gdbinit": re.compile(r"^[ \t]*(?:source|add-auto-load-\S+)\b(.*)$", re.M),
    ".inputrc": re.compile(r"^[ \t]*\$include\b(.*)$", re.M),
    ".lmodrc.lua": re.compile(r"^[^\n]*MODULEPATH(.*)$", re.M),
    ".condarc": re.compile(r"^[ \t]*-[ \t]*(.*)$", re.M),
    ".config/containers/containers.conf": re.compile(r"^[ \t]*hooks_dir\s*=(.*)$", re.M),
    ".modulerc": re.compile(r"^[^#\n]*\buse\b(.*)$", re.M),
}
CRONTABS = ("crontab", "crontab.txt", ".crontab", "mycron", "cron.txt", "my.crontab", "cron/crontab", ".config/crontab")
UNIT_LINES = re.compile(r"^[ \t]*(?:Exec\w*|EnvironmentFile|WorkingDirectory)=(.*)$", re.M)  # of systemd units
PTH_LINES = re.compile(r"^(/.*)$", re.M)  # of site-packages: folders of modules
ABSOLUTE_PATH = re.compile(
    r"(?:^|[\s:=\"'(\[!@`|<,;&-])((?:~|%h|\$HOME|\$\{HOME\}|@\{HOME\}|)/[\w.,+@%~/-]+)(?=$|[\s:;\"')\],&|`<>]|/\*)"
)
_HOME = re.compile(r"^(?:~|%h|\$HOME|[$@]\{HOME\})(?=/)")
_PATH_SETTING = re.compile(
    r"(?:^|[\s;])(\w+)=[\"']?((?:~|\$HOME|\$\{HOME\}|)/[\w.+@/-]+)[\"']?(?=$|[\s;&])", re.MULTILINE
)
_DEFAULT = re.compile(r"\$\{\w+:?-([^{}\n]*(?:\{HOME\})?[^{}\n]*)\}")  # ${NAME:-default}
_ARRAY = re.compile(r"=[ \t]*\([^()]*\)")
_COMMENT = re.compile(r"(?:^|[ \t])#[^\n]*")
_ANY_TEXT = re.compile(r"(.+)")
MOST_VARIABLES = 40


def find_named(lines: Pattern[str], text: str, home: str) -> List[str]:
    """Return the absolute paths that certain lines of a text name.

    lines: a pattern whose group is the part of a line with paths. home: replaces ~, %h and $HOME.
    """
    if not text:
        return []  # without compiling the patterns
    paths = [path for line in lines.findall(text) for path in ABSOLUTE_PATH.findall(line)]
    return [os.path.normpath(_HOME.sub(lambda _match: home, path)) for path in paths]


def find_loaded(text: str, home: str) -> List[str]:
    """Return the absolute paths in the values that a start-up file sets for PATH_VARIABLES. home: see find_named()."""
    values = []  # the rest of each line after the first of these variables
    for line in text.split("\n"):
        without_comment = line.partition("#")[0]
        matches = [match for match in _ASSIGNMENT.finditer(line) if not PATH_VARIABLES.isdisjoint(match.groups())]
        starts = [match.end() for match in [*matches, *_ADDS_FOLDER.finditer(line)]]
        if starts and min(starts) <= len(without_comment):
            values.append(line[min(starts) :])
    return find_named(_ANY_TEXT, "\n".join(values), home)


def is_named_as_program(path: str) -> bool:
    """Return True if a path has the suffix of a script or library."""
    return _PROGRAM.match(path) is not None


def resolve_variables(text: str) -> str:
    """Return a start-up file with each array on one line, and with paths in place of the variables that it sets."""
    # Join continued lines and the lines of arrays, then replace ${NAME:-default} and variables by their values.
    text = _ARRAY.sub(lambda match: _COMMENT.sub("", match.group()).replace("\n", " "), text.replace("\\\n", " "))
    text = _DEFAULT.sub(r"\1", text)
    for name, path in _PATH_SETTING.findall(text)[:MOST_VARIABLES]:
        if name != "HOME":  # find_named() replaces $HOME
            text = re.sub(r"\$(?:%s\b|\{%s\})(?=/)" % (name, name), path, text)
    return text
