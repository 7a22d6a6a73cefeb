# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Variables and PATH for every shell of the account: one generated file for each shell syntax, and one line to read it.

Each role has its own section in the generated files. The line is in the start-up file that the login shell actually
reads.

A run compares the states from inspect() and desired(); an empty state means that the resource is absent. If the states
differ and obstacle() returns None, the run calls apply(). remarks() returns notes for the user, and evidence() returns
observations for programs. before is the state from inspect(). A Host reads and changes the account's files.
"""

import os
from typing import Dict, List, Optional

from .._core.edited_file import read_edited_file, read_text_if_possible, why_not_editable, write_edited_file
from .._core.errors import AccountError
from .._core.host import Host
from .._core.resource import Evidence, Resource, State
from .._formats import environment, section, startup
from .._options.shell_options import ShellEnvironmentOptions
from .._shells.start_up import EVERY, FOLDER, env_file, login_shell_files, start_up_files

HEADER = "# Kept by hpc.onboard. Put your own settings into your start-up file, below its hpc.onboard line.\n"


class ShellEnvironment(ShellEnvironmentOptions, Resource):
    """A section of environment settings, in effect in every new shell of the account.

    The option on_demand has commands that a script defines when they are first used: name -> syntax -> script. The
    option unless_used has variables that are not set if they would hide existing content of the user.
    """

    def with_expanded_paths(self, host: Host) -> "ShellEnvironment":
        """Return the resource with absolute paths in its variables, PATH folders and on-demand commands."""
        variables = {
            name: host.expand(value) if value == "~" or value.startswith(("~/", "$")) else value
            for name, value in self.options["variables"].items()
        }
        folders = {option: [host.expand(path) for path in self.options[option]] for option in ("path", "path_end")}
        commands = {
            name: {dialect: host.expand(file) for dialect, file in files.items()}
            for name, files in self.options["on_demand"].items()
        }
        resource = ShellEnvironment(dict(self.options, variables=variables, on_demand=commands, **folders))
        resource.identity = self.identity
        return resource

    KEEPS_USER_EDITS = True

    def touches(self, host: Host) -> List[str]:
        """Return the generated files, the start-up files of all shells, and the paths in the settings.

        The paths in the settings must be created first.
        """
        files = [env_file(host, dialect) for dialect in environment.DIALECTS] + [host.home + name for name in EVERY]
        values = [value for value in self.options["variables"].values() if value.startswith("/")]
        commands = [file for files in self.options["on_demand"].values() for file in files.values()]
        return [*files, *values, *self.options["path"], *self.options["path_end"], *commands]

    # -- states --------------------------------------------------------------------------------

    def desired(self, host: Host) -> State:
        """Return the section of each generated file, and the line of each start-up file."""
        if self.options["state"] == "absent":
            return {}
        state = {host.shown(env_file(host, dialect)): self._render(dialect, host) for dialect in environment.DIALECTS}
        for path in start_up_files(host):
            state[host.shown(path)] = _render_line(_find_dialect(host))
        return state

    def _settings(self, dialect: str, host: Host) -> environment.ShellSettings:
        """Return the settings of the section for one syntax, without variables that would hide content of the user."""
        commands = {name: files[dialect] for name, files in self.options["on_demand"].items()}
        options, hidden_folders = self.options, self._find_hidden_folders(host)
        variables = {name: value for name, value in options["variables"].items() if name not in hidden_folders}
        return environment.ShellSettings(variables, options["path"], options["path_end"], commands)

    def _find_hidden_folders(self, host: Host) -> Dict[str, str]:
        """Return variable -> folder of the user that the variable would hide. Such a variable is not set.

        A variable that hpc-onboard has set already stays set.
        """
        if not self.options["unless_used"]:
            return {}
        from .._scan.used_folders import find_used_folders  # imported late: few roles use this option

        # one syntax is enough: the sections of all syntaxes set the same variables
        written = section.find(read_edited_file(host, env_file(host, "sh")).text, self.options["section"])
        already_set = environment.parse("sh", written.body).variables if written else {}
        rules = {name: rule for name, rule in self.options["unless_used"].items() if name not in already_set}
        return find_used_folders(rules, host)

    def _render(self, dialect: str, host: Host) -> str:
        """Return the lines of the section in one syntax."""
        return environment.render(dialect, self._settings(dialect, host))

    def _render_checked(self, dialect: str, host: Host) -> str:
        """Return the lines of the section. Raise AccountError if the lines, when parsed, have other settings."""
        body = self._render(dialect, host)
        if environment.parse(dialect, body) != self._settings(dialect, host):
            raise AccountError("the settings cannot be written in the syntax of %s" % dialect)
        return body

    def inspect(self, host: Host) -> State:
        """Return the section of each generated file, and the line of each start-up file, if they exist."""
        state = {host.shown(path): existing.body for path, existing in self._find_sections(host).items()}
        # Sections share the line. A missing section is reported as missing, even if the line exists; and a removal
        # concerns the line only if no other section is left.
        is_about_line = bool(state) if self.options["state"] == "present" else not self._others_need_the_line(host)
        if is_about_line:
            state.update({host.shown(path): line for path, line in self._find_lines(host).items()})
        return state

    def _find_lines(self, host: Host) -> Dict[str, str]:
        """Return path of a start-up file -> the line in this file, for the files that have the line.

        For a removal, these are the files of any shell: the login shell may have changed since the line was written.
        """
        is_present = self.options["state"] == "present"
        files = start_up_files(host) if is_present else [host.home + name for name in EVERY]
        found = {path: startup.find_our_line(read_edited_file(host, path).text) for path in files}
        return {path: line for path, line in found.items() if line}

    def _find_sections(self, host: Host) -> Dict[str, section.Section]:
        """Return path of a generated file -> the section in this file, for the files that have the section."""
        paths = [env_file(host, dialect) for dialect in environment.DIALECTS]
        found = {path: section.find(read_edited_file(host, path).text, self.options["section"]) for path in paths}
        return {path: existing for path, existing in found.items() if existing}

    def _others_need_the_line(self, host: Host) -> bool:
        """Return True if a generated file has another section."""
        texts = [read_edited_file(host, env_file(host, dialect)).text for dialect in environment.DIALECTS]
        return any(section.has_any(section.without(text, self.options["section"])) for text in texts)

    def obstacle(self, before: State, host: Host) -> Optional[str]:
        """Return why a file cannot be edited, or that its section or line was changed by hand; else None.

        before: not used here.
        """
        # a removal also finds the line of a former login shell
        is_present = self.options["state"] == "present"
        lines = list(map(_render_line, [_find_dialect(host)] if is_present else environment.DIALECTS))
        advice = "add this line yourself: %s" % lines[0]
        files = start_up_files(host) if is_present else list(self._find_lines(host))
        for path in [env_file(host, dialect) for dialect in environment.DIALECTS] + files:
            problem = host.why_blocked(os.path.dirname(path)) or why_not_editable(host, path, advice)
            if problem:
                return problem
        for path, existing in self._find_sections(host).items():
            if not existing.untouched:
                text = "the section '%s' of %s was changed by hand: delete the section, then run hpc-onboard again"
                return text % (self.options["section"], host.shown(path))
        for path, line in self._find_lines(host).items():
            if line not in lines:
                return (
                    "the hpc-onboard line in %s was changed by hand: delete the line ending with '%s', then run"
                    " hpc-onboard again" % (host.shown(path), startup.MARK)
                )
        return None

    def remarks(self, host: Host) -> List[str]:
        """Return notes about variables that are not set, and about the user's lines that override variables."""
        if self.options["state"] == "absent":
            return []
        return self._describe_unset_variables(host) + self._describe_overrides(host)

    def _describe_unset_variables(self, host: Host) -> List[str]:
        """Return a note for each folder of the user that variables would hide, so that they are not set."""
        hidden_folders = self._find_hidden_folders(host)
        notes = []
        for folder in sorted(set(hidden_folders.values())):
            names = [name for name in sorted(hidden_folders) if hidden_folders[name] == folder]
            # variables that would hide the same folder have the same setting
            setting = self.options["unless_used"][names[0]]["setting"].replace("FOLDER", host.shown(folder))
            text = "hpc-onboard does not set %s, which would hide the content of %s. To keep using this folder, set %s"
            notes.append(text % (" and ".join(names), host.shown(folder), setting))
        return notes

    def _describe_overrides(self, host: Host) -> List[str]:
        """Return a note for each line of the user's start-up files that gives a variable another value."""
        notes = []
        for path in login_shell_files(host):
            text = read_text_if_possible(host, path)
            if not any(name in text for name in self.options["variables"]):
                continue
            from .._formats.settings import find_overrides  # imported late: few start-up files name a variable

            for override in find_overrides(text, self.options["variables"], host.home):
                if override.is_certain(host.home):  # the line sets the variable unconditionally, to a known value
                    place = "%s:%d" % (host.shown(path), override.line)
                    notes.append("%s overrides %s; remove that line" % (place, override.name))
        return notes

    def evidence(self, before: State, host: Host) -> Evidence:
        """Return {in_use: variable that is not set -> folder of the user that the variable would hide}."""
        hidden_folders = self._find_hidden_folders(host) if self.options["state"] == "present" else {}
        if not hidden_folders:
            return {}
        return {"in_use": {name: host.shown(folder) for name, folder in hidden_folders.items()}}

    # -- changes -------------------------------------------------------------------------------

    def apply(self, host: Host) -> None:
        """Write the sections first, then the lines that read them; or remove both."""
        if self.options["state"] == "absent":
            self._remove(host)
            return
        files = start_up_files(host)
        # a file server may hide a start-up file for a moment, so that the shells seem to read another file
        if files != start_up_files(host):
            raise AccountError("the start-up files changed during the run: run hpc-onboard again")
        host.make_folders(os.path.join(host.home, FOLDER), 0o755)  # of the generated files
        for dialect in environment.DIALECTS:
            file = read_edited_file(host, env_file(host, dialect))
            new = section.put(file.text or HEADER, self.options["section"], self._render_checked(dialect, host))
            write_edited_file(host, file, new)
        for path in files:
            file = read_edited_file(host, path)
            if not startup.find_our_line(file.text):
                host.make_folders(os.path.dirname(path), 0o755)
                write_edited_file(host, file, startup.insert(file.text, _render_line(_find_dialect(host))))

    def _remove(self, host: Host) -> None:
        """Remove the lines, then the sections: after an interruption, the next run finds the sections and continues."""
        files = [read_edited_file(host, env_file(host, dialect)) for dialect in environment.DIALECTS]
        texts = [section.without(file.text, self.options["section"]) for file in files]
        if not any(section.has_any(text) for text in texts):  # no other section needs the line
            for path in self._find_lines(host):
                file = read_edited_file(host, path)
                is_link = file.path != path  # a file that a link points to is kept, even if empty
                text = file.text
                for dialect in environment.DIALECTS:
                    text = startup.remove(text, _render_line(dialect))
                write_edited_file(host, file, text, keep=is_link)
        for file, text in zip(files, texts):
            write_edited_file(host, file, "" if text == HEADER else text)


def _find_dialect(host: Host) -> str:
    """Return the syntax of the login shell, a value of environment.DIALECTS. Raise AccountError for another shell."""
    shell = os.path.basename(host.account.shell)
    if shell not in environment.BY_SHELL:
        raise AccountError(
            "the login shell %s is not supported; ask the site to change your login shell to bash, zsh, ksh, tcsh, fish"
            " or sh" % shell
        )
    return environment.BY_SHELL[shell]


def _render_line(dialect: str) -> str:
    """Return the line that reads the generated file of a dialect."""
    return environment.source_line(dialect, "%s/env.%s" % (FOLDER, dialect), startup.MARK)
