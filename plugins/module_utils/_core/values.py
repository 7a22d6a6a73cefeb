# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which values may go to an account: allow-lists, and what is asked of each kind of resource, checked by them.

What passes here means the same inside single quotes in sh, csh and fish, needs no escape in
enroot's credentials file, and cannot leave the folder it was meant for. The controller checks every plan before
anything is touched, and loads this for it, not the resources; the account checks again what it resolves.
"""

import re
from typing import Any, Dict, Mapping

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


STATE = {"type": "str", "default": "present", "choices": ["present", "absent"]}
PASSWORD = {"type": "str", "no_log": True}
APPTAINERS = ".apptainer/docker-config.json"


class Options:
    """What is asked of one resource, checked, and its name. Apart from the resource, so that asking loads no more.

    OPTIONS is an Ansible argument spec: the module's options and the plan's are the same. Options
    of type path may begin with ~ or with a variable of the site ($SCRATCH); the account resolves them.
    """

    KIND = ""
    TITLE = ""  # the name, with options in it
    OPTIONS: Dict[str, Dict[str, Any]] = {}

    def __init__(self, options: Mapping[str, Any]) -> None:
        self.options = dict(options)
        self.check()
        self.identity = self.name()

    @classmethod
    def whole(cls, given: Mapping[str, Any]) -> Dict[str, Any]:
        """The options that are given, and the defaults of those that are not or are None."""
        defaults = {name: spec["default"] for name, spec in cls.OPTIONS.items() if "default" in spec}
        return dict(defaults, **{name: value for name, value in given.items() if value is not None})

    def name(self) -> str:
        """What a person calls this resource; the same in every run."""
        return self.TITLE % self.options

    def check(self) -> None:
        """Refuse an option that must not reach an account, before anything is touched."""


class DirectoryOptions(Options):
    """What is asked of a folder."""

    KIND = "directory"
    TITLE = "folder %(path)s"
    OPTIONS = {
        "path": {"type": "path", "required": True},
        "root": {"type": "path"},
        "mode": {"type": "str", "default": "0700", "choices": ["0700", "0750", "0755", "0770", "2770"]},
        "state": STATE,
    }

    def check(self) -> None:
        check_path("path", self.options["path"])
        if self.options.get("root"):
            check_path("root", self.options["root"])


class StorageLinkOptions(Options):
    """What is asked of a link."""

    KIND = "storage_link"
    TITLE = "link %(path)s"
    OPTIONS = {
        "path": {"type": "path", "required": True},
        "target": {"type": "path", "required": True},
        "state": STATE,
    }

    def check(self) -> None:
        check_path("path", self.options["path"])
        check_path("target", self.options["target"])


class KeyOptions(Options):
    """What is asked of a file that holds a key."""

    def check(self) -> None:
        check_path("path", self.options["path"])
        check_key(self.options)


class EnrootCredentialOptions(KeyOptions):
    """What is asked of a key for enroot."""

    KIND = "enroot_credential"
    TITLE = "credentials %(path)s: %(machine)s"
    OPTIONS = {
        "path": {"type": "path", "default": "~/.config/enroot/.credentials"},
        "machine": {"type": "str", "required": True},
        "login": {"type": "str", "default": "$oauthtoken"},
        "password": PASSWORD,
        "state": STATE,
    }

    def check(self) -> None:
        if not WORD.match(self.options["machine"]):
            raise AccountError("machine: %r is not a host name" % (self.options["machine"],))
        check_login(self.options["login"])
        super().check()


class RegistryAuthOptions(KeyOptions):
    """What is asked of a login for a registry."""

    KIND = "registry_auth"
    TITLE = "login %(path)s: %(registry)s"
    OPTIONS = {
        "path": {"type": "path", "default": "~/" + APPTAINERS},
        "registry": {"type": "str", "required": True},
        "login": {"type": "str", "default": "$oauthtoken"},
        "password": PASSWORD,
        "state": STATE,
    }

    def check(self) -> None:
        if not all(WORD.match(part) for part in self.options["registry"].replace("https://", "").strip("/").split("/")):
            raise AccountError("registry: %r is not the name of a registry" % (self.options["registry"],))
        check_login(self.options["login"])
        super().check()


class NetrcEntryOptions(KeyOptions):
    """What is asked of an entry in ~/.netrc."""

    KIND = "netrc_entry"
    TITLE = "netrc %(path)s: %(machine)s"
    OPTIONS = {
        "path": {"type": "path", "default": "~/.netrc"},
        "machine": {"type": "str", "required": True},
        "login": {"type": "str", "default": "user"},
        "password": PASSWORD,
        "state": STATE,
    }

    def check(self) -> None:
        for option in ("machine", "login"):
            if not WORD.match(self.options[option]):
                raise AccountError("%s: %r is not a plain name" % (option, self.options[option]))
        super().check()


class NgcConfigOptions(KeyOptions):
    """What is asked of the settings of NVIDIA's program."""

    KIND = "ngc_config"
    TITLE = "ngc %(path)s"
    OPTIONS = {"path": {"type": "path", "default": "~/.ngc/config"}, "password": PASSWORD, "state": STATE}


class TokenFileOptions(KeyOptions):
    """What is asked of a file that holds a token."""

    KIND = "token_file"
    TITLE = "token %(path)s"
    OPTIONS = {"path": {"type": "path", "default": "~/.cache/huggingface/token"}, "password": PASSWORD, "state": STATE}


class ShellEnvironmentOptions(Options):
    """What is asked of a section of environment settings."""

    KIND = "shell_environment"
    TITLE = "environment: %(section)s"
    OPTIONS = {
        "section": {"type": "str", "default": "environment"},
        "variables": {"type": "dict", "default": {}},
        "path": {"type": "list", "elements": "str", "default": []},
        "on_demand": {"type": "dict", "default": {}},
        "state": STATE,
    }

    def check(self) -> None:
        check_word("section", self.options["section"])
        for name, value in self.options["variables"].items():
            check_variable(name, value)
        for folder in self.options["path"]:
            check_path("path", folder)
            if ":" in folder:
                raise AccountError("path: %r holds a colon, which PATH cannot" % folder)
        for name, files in self.options["on_demand"].items():
            check_command(name, files)


def check_command(name: Any, files: Any) -> None:
    """Refuse a command on demand that no shell could define."""
    from .._formats import environment  # here, because few sections define commands

    if not isinstance(name, str) or not re.match(r"^[a-z][a-z0-9_]*\Z", name):
        raise AccountError("on_demand: %r is not the name of a command" % (name,))
    if not isinstance(files, dict) or set(files) != set(environment.DIALECTS):
        raise AccountError("on_demand: %s needs a file for each of %s" % (name, ", ".join(environment.DIALECTS)))
    for file in files.values():
        check_path("on_demand", str(file).replace(environment.MACHINE, "machine"))
        if " " in file:
            raise AccountError("on_demand: %r holds a blank" % file)


def check_key(options: Mapping[str, Any]) -> None:
    """Refuse a key that is to be there and that its reader would not take as it is."""
    if options["state"] == "present":
        check_secret(options.get("password"))


def check_login(login: str) -> None:
    """Refuse the name of a user that a reader of the file would misread."""
    if login != "$oauthtoken" and not WORD.match(login.replace("@", "-")):
        raise AccountError("login: %r is not a plain name, nor $oauthtoken" % (login,))
