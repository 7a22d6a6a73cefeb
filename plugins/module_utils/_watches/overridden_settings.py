# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Variables that our file of settings sets, and that a shell has with another value all the same.

Mostly it is a line that a tutorial of the site had people write into a start-up file. Looked at is what our file says
on the account, whatever is wanted by now: what is wanted and not there is a finding of its own.
"""

from typing import Any, Dict, List, Optional

from .._core.account import Account
from .._core.errors import AccountError
from .._core.host import Host
from .._core.start_up import env_file, login_shell_files
from .._formats import environment
from .._formats.settings import Setting, find_overrides
from .base import Look, text_behind


class OverriddenSettings(Look):
    """What the start-up files of the login shell, and the login shell itself, make of our variables."""

    KIND = "overridden_settings"
    KNOWS_SHELL = True

    def name(self) -> str:
        return "settings of ours in the shell"

    def look(self, host: Host) -> None:
        """The lines of the start-up files first; then what the login shell has, which no line of theirs explains."""
        dialect = environment.BY_SHELL.get(host.account.shell.rpartition("/")[2])
        text = text_behind(self, host, env_file(host, dialect)) if dialect else ""
        ours = environment.parse(dialect, text)[0] if dialect and text else {}
        has = _environment(host.account) if ours else {}
        set_by: List[str] = []
        for path in login_shell_files(host) if ours else ():
            for one in find_overrides(text_behind(self, host, path), ours, host.home):
                if one.is_certain(host.home) or has.get(one.name, ours[one.name]) != ours[one.name]:
                    set_by.append(one.name)
                    text = _said(one.name) + _left(host, has.get(one.name, ours[one.name]), ours[one.name], one)
                    self.find("ENV-007", "%s:%d" % (host.shown(path), one.line), text, "", _fix(host, path, one))
        for name in sorted(ours):
            if name not in set_by and has.get(name, ours[name]) != ours[name]:
                self.find("ENV-007", "$" + name, _said(name))


def _environment(account: Account) -> Dict[str, str]:
    try:
        return account.environment()
    except AccountError:
        return {}  # another watch says why the shell did not answer


def _said(name: str) -> str:
    return "%s is set anew, and not what our file sets" % name


def _left(host: Host, has: str, our: str, one: Setting) -> str:
    """Return what is said of a folder that no program uses once the line is gone; empty if there is none."""
    folder = has if has != our else one.value(host.home)
    try:
        is_used = folder.startswith("/") and host.resolved_kind(folder) == "folder" and bool(host.names(folder))
    except AccountError:
        return ""
    text = "; %s stays as it is, and without the line no program uses it"
    return text % host.shown(folder) if is_used else ""


def _fix(host: Host, path: str, one: Setting) -> Optional[Dict[str, Any]]:
    from .._fixes import offers  # few accounts have such lines

    return offers.cautious(offers.of_variable, host, path, one.name)
