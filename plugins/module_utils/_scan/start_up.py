# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The start-up files of the account's login shell, and the generated file with the settings for it."""

import os
from typing import Collection, Iterator, List, Tuple

from .._core.edited_file import read_edited_file
from .._core.host import Host
from .._formats import startup
from .._formats.settings import Setting, find_settings

FOLDER = ".config/hpc.onboard"
READ_TOO = {  # in addition to those that get the line
    "zsh": ("/.zprofile", "/.zshrc", "/.zlogin"),
    "tcsh": ("/.login",),
    "csh": ("/.login",),
    "ksh": ("/.kshrc",),
}
LOGIN_FILES = ("/.bash_profile", "/.bash_login", "/.profile")  # of bash, which reads the first one there is
EVERY = ("/.config/fish/config.fish", "/.zshenv", "/.tcshrc", "/.cshrc", "/.bashrc", *LOGIN_FILES)
"""All files that may get the line that reads the generated file."""

SITE = ("/etc/environment", "/etc/profile", "/etc/bash.bashrc", "/etc/bashrc", "/etc/zshenv", "/etc/zsh/zshenv")
SITE_FOLDERS = ("/etc/profile.d", "/etc/fish/conf.d")
MOST = 50  # files of one folder


def site_settings(host: Host, names: Collection[str]) -> Iterator[Tuple[str, Setting]]:
    """Yield the settings of these variables in the site's start-up files, and the paths of those."""
    files = list(SITE if names else ())
    for folder in SITE_FOLDERS if names else ():
        files += (
            [folder + "/" + one for one in host.names(folder)[:MOST]] if host.resolved_kind(folder) == "folder" else []
        )
    for path in files:
        text = host.read(path).decode("latin-1") if host.resolved_kind(path) == "file" else ""
        yield from ((path, one) for one in find_settings(text) if one.name in names)


def env_file(host: Host, dialect: str) -> str:
    """Return the path of the generated file for the shells of a dialect."""
    return os.path.join(host.home, FOLDER, "env." + dialect)


def start_up_files(host: Host) -> List[str]:
    """Return the files that get the line, so that both a login and a command over ssh read it.

    bash reads .bashrc for a command over ssh, and the first of .bash_profile, .bash_login and .profile at a login; that
    one is not needed if it reads .bashrc itself.
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
    if shell != "bash":
        return [home + "/.profile"]
    login = _login_file(host)
    return [home + "/.bashrc"] + ([] if _reads_bashrc(host, login) else [login])


def _reads_bashrc(host: Host, login: str) -> bool:
    """Return True if bash's file for a login reads .bashrc, or .profile that does."""
    text = read_edited_file(host, login).text if host.resolved_kind(login) == "file" else ""
    profile = host.home + "/.profile"
    follows = login != profile and not startup.refers_to(text, ".bashrc") and startup.refers_to(text, ".profile")
    return _reads_bashrc(host, profile) if follows else startup.refers_to(text, ".bashrc")


def _login_file(host: Host) -> str:
    """Return the one file that bash reads at a login."""
    names = [host.home + name for name in LOGIN_FILES]
    return next((name for name in names if host.resolved_kind(name) != "nothing"), names[-1])


def login_shell_files(host: Host) -> List[str]:
    """Return all files of the home that the login shell reads: at a login, for a command, or at a terminal."""
    shell = os.path.basename(host.account.shell)
    more = [_login_file(host)] if shell == "bash" else [host.home + name for name in READ_TOO.get(shell, ())]
    files = start_up_files(host)
    return files + [path for path in more if path not in files]
