# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of environment settings. The class's docstring is the module's documentation (tools/module_pages.py).

KIND is the resource type, TITLE the name of a resource, and OPTIONS the spec of its options. check() is called for each
resource before its options are sent to an account. self.options: these options, with defaults for missing ones. The
first argument of check_path() and similar functions is the name of the option in the error message.
"""

import re
from typing import Any

from .._core.errors import AccountError
from .._core.values import STATE, Options, check_path, check_word
from .._formats import environment

VARIABLE = re.compile(r"^[A-Za-z_][A-Za-z0-9_]*\Z")
VALUE = re.compile(r"^[A-Za-z0-9_@%+=:,. /~${}()\[\]*?;|&<>#^-]*\Z")
SHELL_VARIABLES = frozenset(
    (  # noqa: SIM905  # words read better in one text
        "PATH HOME SHELL USER LOGNAME USERNAME PWD OLDPWD IFS ENV SHLVL _ UID EUID GID EGID PPID GROUPS OPTIND LINENO"
        " RANDOM SECONDS HISTCMD FUNCNAME DIRSTACK SHELLOPTS BASHOPTS BASHPID COLUMNS LINES ERRNO TTYIDLE WATCH"
        " KSH_VERSION FISH_VERSION aliases argv cdpath commands dirstack fpath funcstack functions history hostname"
        " mailpath manpath module_path options parameters path pipestatus psvar signals status umask version watch"
    ).split()
)
SHELL_PREFIXES = ("BASH_", "fish_")


class ShellEnvironmentOptions(Options):
    """Keep environment variables and PATH folders for every shell.

    Writes C(~/.config/hpc.onboard/env.sh), C(env.csh) and C(env.fish). Each O(section) has its own part in each file.

    Adds one line that reads these files to the start-up file that the login shell actually reads, above any line that
    could end the file early.

    Options:
        section: The name of the section. Each section has its own variables.
        variables: The names and values of environment variables. A value that begins with C(~/) or with a variable of
            the site is a path.
        path: Folders for the beginning of PATH, in this order.
        path_end: Folders for the end of PATH, in this order. If the file system of such a folder hangs, a shell still
            finds the commands of the system.
        on_demand: Commands that are defined by a script when they are first used. Each name has the scripts for
            C(sh), C(csh) and C(fish). C({machine}) in a path is the architecture of the machine that runs the shell.
        unless_used: Variables that could hide your existing content, by name. Each variable has the keys C(folders)
            (paths, which may begin with a variable that a start-up file sets), C(below) (a subfolder of these folders)
            and C(setting) (the setting that keeps such a folder in use). While this subfolder contains a folder, the
            variable is not set, unless it was set before.

    Example: Keep the cache of pip out of the home
        section: pip
        variables:
          PIP_CACHE_DIR: $SCRATCH/pip
    """

    KIND = "shell_environment"
    TITLE = "environment: %(section)s"
    OPTIONS = {
        "section": {"type": "str", "default": "environment"},
        "variables": {"type": "dict", "default": {}},
        "path": {"type": "list", "elements": "str", "default": []},
        "path_end": {"type": "list", "elements": "str", "default": []},
        "on_demand": {"type": "dict", "default": {}},
        "unless_used": {"type": "dict", "default": {}},
        "state": STATE,
    }

    def check(self) -> None:
        """Raise AccountError for a setting that some shell does not support."""
        check_word("section", self.options["section"])
        for name, value in self.options["variables"].items():
            check_variable(name, value)
        for option in ("path", "path_end"):
            for folder in self.options[option]:
                check_path(option, folder)
                if ":" in folder:
                    raise AccountError(
                        "%s: %r contains a colon, which separates the folders of PATH" % (option, folder)
                    )
        for name, files in self.options["on_demand"].items():
            check_command(name, files)
        for name, usage in self.options["unless_used"].items():
            if not isinstance(usage, dict) or not all(key in usage for key in ("folders", "below", "setting")):
                raise AccountError("unless_used: %s needs folders, below and setting" % name)
            for folder in usage["folders"]:
                check_path("unless_used", folder)


def check_variable(name: str, value: Any) -> None:
    """Raise AccountError if some shell would reject or change the name or value of an environment variable."""
    if not isinstance(name, str) or not VARIABLE.match(name):
        raise AccountError("%r is not a valid name of an environment variable" % (name,))
    if name in SHELL_VARIABLES or name.startswith(SHELL_PREFIXES):
        raise AccountError(
            "%s is a variable of the shell itself and cannot be set. For folders in PATH, use the option 'path'." % name
        )
    if not isinstance(value, str) or not VALUE.match(value):
        raise AccountError(
            "the value of %s contains a character that some shells do not support"
            " (a quote, a backslash, an exclamation mark, or a control or non-ASCII character)" % name
        )


def check_command(name: Any, files: Any) -> None:
    """Raise AccountError for an on-demand command that a shell could not define.

    files: shell syntax (a value of environment.DIALECTS) -> path of the script that defines the command.
    """
    if not isinstance(name, str) or not re.match(r"^[a-z][a-z0-9_]*\Z", name):
        raise AccountError(
            "on_demand: %r is not a valid command name; expected lower-case letters, digits and _" % (name,)
        )
    if not isinstance(files, dict) or set(files) != set(environment.DIALECTS):
        raise AccountError(
            "on_demand: %s needs one file for each shell syntax: %s" % (name, ", ".join(environment.DIALECTS))
        )
    for file in files.values():
        check_path("on_demand", str(file).replace(environment.MACHINE, "machine"))
        if " " in file:
            raise AccountError("on_demand: %r contains a space, which is not supported" % file)
