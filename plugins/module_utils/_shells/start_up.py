# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The start-up files of the login shell, and the settings file in which hpc-onboard sets its environment variables.

hpc-onboard adds one line to start-up files, which reads the settings file. "The line" in this module is that line.
"""

import os
from typing import List

from .._core.edited_file import read_text_if_possible
from .._core.errors import AccountError
from .._core.host import Host
from .._formats import startup
from .._formats.settings import find_settings

FOLDER = ".config/hpc.onboard"
OTHER_LOGIN_FILES = {  # files of login shells that do not get the line
    "zsh": ("/.zprofile", "/.zshrc", "/.zlogin"),
    "tcsh": ("/.login",),
    "csh": ("/.login",),
    "ksh": ("/.kshrc",),
}
LOGIN_FILES = ("/.bash_profile", "/.bash_login", "/.profile")  # bash reads the first one that exists
EVERY = ("/.config/fish/config.fish", "/.zshenv", "/.tcshrc", "/.cshrc", "/.bashrc", *LOGIN_FILES)
"""All start-up files that may get the line, for any shell."""


def env_file(host: Host, dialect: str) -> str:
    """Return the path of hpc-onboard's settings file for the shells of a dialect: sh, csh or fish."""
    return os.path.join(host.home, FOLDER, "env." + dialect)


def start_up_files(host: Host) -> List[str]:
    """Return the start-up files that get the line, so that login shells and the shells of ssh commands run the line.

    bash reads .bashrc for a command over ssh, and the first of .bash_profile, .bash_login and .profile at a login. The
    file that bash reads at a login does not get the line if the file reads .bashrc.
    """
    shell = os.path.basename(host.account.shell)
    home = host.home
    if shell == "zsh":
        return [home + "/.zshenv"]
    if shell == "fish":
        return [home + "/.config/fish/config.fish"]
    if shell in ("tcsh", "csh"):
        tcshrc = home + "/.tcshrc"
        return [tcshrc if shell == "tcsh" and host.entry(tcshrc) else home + "/.cshrc"]
    if shell != "bash":  # sh, dash, ksh, or an unknown shell
        return [home + "/.profile"]
    login_file = _bash_login_file(host)
    return [home + "/.bashrc"] + ([] if _reads_bashrc(host, login_file) else [login_file])


def _reads_bashrc(host: Host, login_file: str) -> bool:
    """Return True if bash's login file reads .bashrc, directly or through .profile."""
    text = read_text_if_possible(host, login_file)
    if startup.refers_to(text, ".bashrc"):
        return True
    profile = host.home + "/.profile"
    return login_file != profile and startup.refers_to(text, ".profile") and _reads_bashrc(host, profile)


def _bash_login_file(host: Host) -> str:
    """Return the file that bash reads at a login; .profile if no such file exists."""
    paths = [host.home + name for name in LOGIN_FILES]
    return next((path for path in paths if is_present(host, path)), paths[-1])


def is_present(host: Host, path: str) -> bool:
    """Return True if a start-up file exists, or is a link into a folder that the account cannot enter."""
    try:
        return host.resolved_kind(path) != "nothing"
    except AccountError:
        return True  # bash reads no other file in its place


def login_shell_files(host: Host) -> List[str]:
    """Return all files of the home that the login shell reads: at a login, for a command, or at a terminal."""
    shell = os.path.basename(host.account.shell)
    files = start_up_files(host)
    if shell == "bash":
        others = [_bash_login_file(host)]
    else:
        folder = _read_zdotdir(host) if shell == "zsh" else host.home
        others = [folder + name for name in OTHER_LOGIN_FILES.get(shell, ())]
    return files + [path for path in others if path not in files]


def _read_zdotdir(host: Host) -> str:
    """Return the folder of zsh's other files, which ~/.zshenv may set with ZDOTDIR; by default the home directory."""
    text = read_text_if_possible(host, host.home + "/.zshenv")
    folders = [setting.value(host.home) for setting in find_settings(text) if setting.name == "ZDOTDIR"]
    return next((folder.rstrip("/") for folder in folders if folder.startswith("/")), host.home)
