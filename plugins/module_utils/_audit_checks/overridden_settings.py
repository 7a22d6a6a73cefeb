# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Variables that hpc-onboard's file of settings sets, and that a shell has with another value all the same.

Mostly a tutorial of the site had users write a line into a start-up file. The check compares with what the file says on
the account, whatever is desired by now: what is desired and missing there is another finding.
"""

from typing import Dict, List

from .._core.account import Account
from .._core.errors import AccountError
from .._core.host import Host
from .._fixes import offers
from .._formats import environment
from .._formats.settings import Setting, find_overrides
from .._scan.start_up import env_file, login_shell_files
from .audit_check import AuditCheck, read_text


class OverriddenSettings(AuditCheck):
    """The effect of the start-up files of the login shell, and of the site, on the variables of hpc-onboard."""

    KIND = "overridden_settings"
    TITLE = "settings of hpc-onboard in the shell"
    NEEDS_SHELL = True

    def run(self, host: Host) -> None:
        dialect = environment.BY_SHELL.get(host.account.shell.rpartition("/")[2])
        text = read_text(self, host, env_file(host, dialect)) if dialect else ""
        ours = environment.parse(dialect, text).variables if dialect and text else {}
        if not ours:
            return
        actual = dict(ours, **_environment(host.account))
        explained: List[str] = []
        for path in login_shell_files(host):
            for setting in find_overrides(read_text(self, host, path), ours, host.home):
                name = setting.name
                if setting.is_certain(host.home) or actual[name] != ours[name]:
                    explained.append(name)
                    text = _describe(name) + _describe_folder(host, actual[name], ours[name], setting)
                    fix = offers.offer_variable_fix(host, path, name)
                    self.report("ENV-007", "%s:%d" % (host.shown(path), setting.line), text, "", fix)
        for name in sorted(ours):
            if name not in explained and actual[name] != ours[name]:
                self.report("ENV-007", "$" + name, _describe(name))


def _environment(account: Account) -> Dict[str, str]:
    try:
        return account.environment()
    except AccountError:
        return {}  # another check says why the shell did not answer


def _describe(name: str) -> str:
    return "%s has another value than hpc-onboard sets" % name


def _describe_folder(host: Host, actual: str, ours: str, setting: Setting) -> str:
    """Return a warning about the folder that no program uses once the line is gone; empty if there is none."""
    folder = actual if actual != ours else setting.value(host.home)
    try:
        is_used = folder.startswith("/") and host.resolved_kind(folder) == "folder" and bool(host.names(folder))
    except AccountError:
        return ""
    return "; %s stays, and without this line no program uses it" % host.shown(folder) if is_used else ""
