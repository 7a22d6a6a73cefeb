# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which values may go to an account: allow-lists, checked before anything is touched.

What passes here means the same inside single quotes in sh, csh and fish, needs no escape in
enroot's credentials file, and cannot leave the folder it was meant for.
"""

import re
from typing import Any

from .errors import AccountError

PATH = re.compile(r"^(?:~|\$[A-Za-z_][A-Za-z0-9_]*|)(?:/[A-Za-z0-9_@%+=:,. -]*)*\Z")
PRIVATE = (".ssh", ".gnupg", ".k5login", ".forward")
VARIABLE = re.compile(r"^[A-Za-z_][A-Za-z0-9_]*\Z")
VALUE = re.compile(r"^[A-Za-z0-9_@%+=:,. /~${}()\[\]*?;|&<>#^-]*\Z")
SHELLS_OWN = frozenset(
    (  # noqa: SIM905  # words read better in one text
        "PATH HOME SHELL USER LOGNAME USERNAME PWD OLDPWD IFS ENV SHLVL _ UID EUID GID EGID PPID GROUPS OPTIND LINENO"
        " RANDOM SECONDS HISTCMD FUNCNAME DIRSTACK SHELLOPTS BASHOPTS BASHPID COLUMNS LINES ERRNO TTYIDLE WATCH"
        " KSH_VERSION FISH_VERSION aliases argv cdpath commands dirstack fpath funcstack functions history hostname"
        " mailpath manpath module_path options parameters path pipestatus psvar signals status umask version watch"
    ).split()
)
SHELLS_FAMILIES = ("BASH_", "fish_")
WORD = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._-]*\Z")


def check_path(name: str, value: Any) -> None:
    """Refuse a path that is relative, climbs, holds odd characters or lies among keys and logins."""
    if not isinstance(value, str) or not value or not PATH.match(value):
        raise AccountError(
            "%s: %r is not a path that can be used; it begins with /, ~/ or a variable of the site such as"
            " $SCRATCH, and holds letters, digits and @%%+=:,._- only" % (name, value)
        )
    parts = value.split("/")
    if ".." in parts:
        raise AccountError("%s: %r climbs with '..'; write the path out" % (name, value))
    for part in parts:
        if part in PRIVATE:
            raise AccountError("%s: %r lies in %s, which is not ours to touch" % (name, value, part))


def check_variable(name: str, value: Any) -> None:
    """Refuse an environment variable whose name or value would not survive every shell."""
    if not isinstance(name, str) or not VARIABLE.match(name):
        raise AccountError("%r is not the name of an environment variable" % (name,))
    if name in SHELLS_OWN or name.startswith(SHELLS_FAMILIES):
        raise AccountError("%s belongs to the shell itself; folders for PATH go into the option 'path'" % name)
    if not isinstance(value, str) or not VALUE.match(value):
        raise AccountError(
            "the value of %s holds a character that not every shell keeps"
            " (a quote, a backslash, an exclamation mark, a control or a non-ASCII character)" % name
        )


def check_word(name: str, value: Any) -> None:
    """Refuse a name that is not one plain word."""
    if not isinstance(value, str) or not WORD.match(value):
        raise AccountError("%s: %r is not a plain name (letters, digits, '.', '_', '-')" % (name, value))


def check_secret(value: Any) -> None:
    """Refuse a key that a reader of the file would cut, run or misread. The value is never shown."""
    if not isinstance(value, str) or not value:
        raise AccountError("the key is empty: store it again")
    if value.strip() != value or re.search(r"\s", value):
        raise AccountError("the key holds white space: it was copied with a line break or a blank; store it again")
    if not re.match(r"^[!-~]+\Z", value):
        raise AccountError("the key holds a control or non-ASCII character: it was damaged when copied; store it again")
    if value[0] in "$\"'#":
        raise AccountError("the key begins with %s: enroot would run or cut it; store the plain key" % value[0])
