# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Variables and PATH for every shell of the account: one generated file per dialect, one line that reads it.

Each capability has a section of its own in the generated files, so several can be kept apart or
together. The line goes into the start-up file that the login shell in use really reads.
"""

import os
from typing import Dict, List, Optional, Tuple

from .._core.edited_file import read_edited_file, why_not_editable, write_edited_file
from .._core.errors import AccountError
from .._core.host import Host
from .._core.resource import Resource, State
from .._core.start_up import EVERY, FOLDER, env_file, login_shell_files, start_up_files
from .._formats import environment, section, startup
from .._options.shell_options import ShellEnvironmentOptions

HEADER = "# Kept by hpc.onboard. Settings of your own belong into your start-up file, below its line.\n"


class ShellEnvironment(ShellEnvironmentOptions, Resource):
    """A section of environment settings, in effect in every new shell of the account."""

    def bound(self, host: Host) -> "ShellEnvironment":
        variables = {
            name: host.expand(value) if value.startswith(("~/", "$")) else value
            for name, value in self.options["variables"].items()
        }
        folders = [host.expand(folder) for folder in self.options["path"]]
        commands = {
            name: {dialect: host.expand(file) for dialect, file in files.items()}
            for name, files in self.options["on_demand"].items()
        }
        resource = ShellEnvironment(dict(self.options, variables=variables, path=folders, on_demand=commands))
        resource.identity = self.identity
        return resource

    KEEPS_USER_EDITS = True

    def touches(self, host: Host) -> List[str]:
        """The files that may be kept, and the folders that they name: settings wait for the folders."""
        files = [env_file(host, dialect) for dialect in environment.DIALECTS] + [host.home + name for name in EVERY]
        named = [value for value in self.options["variables"].values() if value.startswith("/")]
        read = [file for each in self.options["on_demand"].values() for file in each.values()]
        return files + named + list(self.options["path"]) + read

    def _files(self, host: Host) -> List[str]:
        return [env_file(host, dialect) for dialect in environment.DIALECTS] + start_up_files(host)

    # -- states --------------------------------------------------------------------------------

    def desired(self, host: Host) -> State:
        if self.options["state"] == "absent":
            return {}
        state = {host.shown(env_file(host, dialect)): self._body(dialect) for dialect in environment.DIALECTS}
        for path in start_up_files(host):
            state[host.shown(path)] = _line(host)
        return state

    @property
    def _wanted(self) -> Tuple[Dict[str, str], List[str]]:
        return self.options["variables"], self.options["path"]

    def _commands(self, dialect: str) -> Dict[str, str]:
        return {name: files[dialect] for name, files in self.options["on_demand"].items()}

    def _body(self, dialect: str) -> str:
        return environment.render(dialect, *self._wanted, self._commands(dialect))

    def _proved(self, dialect: str) -> str:
        """The lines to be written, read back first: do they say what is wanted?"""
        body = self._body(dialect)
        if environment.parse(dialect, body) != (*self._wanted, self._commands(dialect)):
            raise AccountError("these settings cannot be written for %s" % dialect)
        return body

    def inspect(self, host: Host) -> State:
        state = {}
        for dialect in environment.DIALECTS:
            path = env_file(host, dialect)
            found = section.find(read_edited_file(host, path).text, self.options["section"])
            if found:
                state[host.shown(path)] = found.body
        if self._others_need_the_line(host) if self.options["state"] == "absent" else not state:
            return state
        for path in start_up_files(host):
            line = startup.our_line(read_edited_file(host, path).text)
            if line:
                state[host.shown(path)] = line
        return state

    def _others_need_the_line(self, host: Host) -> bool:
        """Whether a generated file holds another section."""
        texts = [read_edited_file(host, env_file(host, dialect)).text for dialect in environment.DIALECTS]
        return any(section.has_any(section.without(text, self.options["section"])) for text in texts)

    def obstacle(self, before: State, host: Host) -> Optional[str]:
        for path in self._files(host):
            instead = "add this line yourself: %s" % _line(host)
            problem = host.why_blocked(os.path.dirname(path)) or why_not_editable(host, path, instead)
            if problem:
                return problem
        for dialect in environment.DIALECTS:
            path = env_file(host, dialect)
            found = section.find(read_edited_file(host, path).text, self.options["section"])
            if found and not found.untouched:
                return "the section '%s' of %s was changed by hand: delete it there, then run again" % (
                    self.options["section"],
                    host.shown(path),
                )
        for path in start_up_files(host):
            line = startup.our_line(read_edited_file(host, path).text)
            if line and line != _line(host):
                return "our line in %s was changed by hand: delete it there (it ends in '%s'), then run again" % (
                    host.shown(path),
                    startup.MARK,
                )
        return None

    def remarks(self, host: Host) -> List[str]:
        """Lines of the person's own that set a variable of ours to something else: they are not ours to change."""
        said: List[str] = []
        for path in login_shell_files(host) if self.options["state"] == "present" else ():
            try:
                text = read_edited_file(host, path).text
            except AccountError:
                continue  # what cannot be read says nothing of itself
            if any(name in text for name in self.options["variables"]):
                from .._formats.settings import find_overrides  # few start-up files name one

                for one in find_overrides(text, self.options["variables"], host.home):
                    if one.is_certain(host.home):
                        place = "%s:%d" % (host.shown(path), one.line)
                        said.append("%s sets %s anew, and that counts: take it out there" % (place, one.name))
        return said

    # -- changes -------------------------------------------------------------------------------

    def apply(self, host: Host) -> None:
        if self.options["state"] == "absent":
            self._take_out(host)
            return
        files = start_up_files(host)
        if files != start_up_files(host):  # a file server may deny a file once, and then another would get our line
            raise AccountError("the start-up files are changing: run again")
        host.make_folders(os.path.join(host.home, FOLDER), 0o755)
        for dialect in environment.DIALECTS:
            file = read_edited_file(host, env_file(host, dialect))
            new = section.put(file.text or HEADER, self.options["section"], self._proved(dialect))
            write_edited_file(host, file, new)
        for path in files:
            file = read_edited_file(host, path)
            if not startup.our_line(file.text):
                host.make_folders(os.path.dirname(path), 0o755)
                write_edited_file(host, file, startup.insert(file.text, _line(host)))

    def _take_out(self, host: Host) -> None:
        """The lines first: were this interrupted between, the sections would still tell the next run."""
        files = [read_edited_file(host, env_file(host, dialect)) for dialect in environment.DIALECTS]
        texts = [section.without(file.text, self.options["section"]) for file in files]
        if not any(section.has_any(text) for text in texts):
            for path in start_up_files(host):
                file = read_edited_file(host, path)
                write_edited_file(host, file, startup.remove(file.text, _line(host)), keep=file.path != path)
        for file, text in zip(files, texts):
            write_edited_file(host, file, "" if text == HEADER else text)


def _dialect(host: Host) -> str:
    shell = os.path.basename(host.account.shell)
    if shell not in environment.BY_SHELL:
        raise AccountError("the login shell %s is not known: ask for sh, bash, zsh, ksh, tcsh or fish" % shell)
    return environment.BY_SHELL[shell]


def _line(host: Host) -> str:
    dialect = _dialect(host)
    return environment.source_line(dialect, "%s/env.%s" % (FOLDER, dialect), startup.MARK)
