# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The start-up files of a site, which all its users' shells read."""

from typing import Collection, Iterator, Tuple

from .._core.errors import AccountError
from .._core.host import Host
from .._formats.settings import Setting, find_settings

SITE_FILES = (
    *("/etc/environment", "/etc/profile", "/etc/bash.bashrc", "/etc/bashrc", "/etc/zshenv", "/etc/zsh/zshenv"),
    *("/etc/zprofile", "/etc/zsh/zprofile", "/etc/zshrc", "/etc/zsh/zshrc", "/etc/csh.cshrc", "/etc/csh.login"),
    *("/etc/fish/config.fish", "/etc/ksh.kshrc"),
)
SITE_FOLDERS = ("/etc/profile.d", "/etc/fish/conf.d")
MOST = 50  # files of one folder


def find_site_settings(host: Host, names: Collection[str]) -> Iterator[Tuple[str, Setting]]:
    """Yield (path, setting) for each line in the site's start-up files that sets one of these variables."""
    if not names:  # no file needs to be read
        return
    files = list(SITE_FILES)
    for folder in SITE_FOLDERS:
        files += [folder + "/" + name for name in host.names(folder)[:MOST]]
    for path in files:
        try:
            text = host.read(path).decode("latin-1") if host.resolved_kind(path) == "file" else ""
        except AccountError:  # the user's shells cannot read the file either
            continue
        for setting in find_settings(text):
            if setting.name in names:
                yield path, setting
