# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of the values that may be sent to an account, and the base class of all resource types' options.

A value that passes means the same inside single quotes in sh, csh and fish, needs no escape in
enroot's credentials file, and cannot leave the folder it was meant for. The controller checks every plan before it
connects, for which it needs the option classes but not the resources. The account checks the paths that it expands.

A plan is the JSON document that says what a run does on an account. The controller, the user's machine, sends it. The
receipt is the account's record of what hpc-onboard created, with a note for each resource.
"""

import re
from typing import Any, Dict, Mapping

from .errors import AccountError

# ~, a variable or nothing, then components with a slash before each
PATH = re.compile(r"^(?:~|\$[A-Za-z_][A-Za-z0-9_]*|)(?:/[A-Za-z0-9_@%+=:,. -]*)*\Z")
PRIVATE = (".ssh", ".gnupg", ".k5login", ".forward")  # folders and files that hpc-onboard does not change
WORD = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._-]*\Z")
FORMER = ".config/hpc.onboard/former"  # below the home: the user's own files that were replaced
KEPT_ENGINE = ".config/hpc.onboard/engine-"  # below the home, and 16 digits: see _engine/kept_engine.py


def note_key(kind: str, identity: str) -> str:
    """Return the dictionary key of a resource's note in a receipt, such as "storage_link link ~/work"."""
    return "%s %s" % (kind, identity)


def is_key_note(note: Mapping[str, Any]) -> bool:
    """Return True if a receipt's note is about a key: it has the key's name ('secret') or fingerprints ('keyed')."""
    return bool(note.get("secret") or note.get("keyed"))


def check_path(name: str, value: Any) -> None:
    """Raise AccountError for a path that is relative, has '..' or special characters, or is in a private folder.

    name: the option whose value is checked, for the message.
    """
    if not isinstance(value, str) or not value or not PATH.match(value):
        raise AccountError(
            "%s: %r is not a valid path; a path begins with /, ~/ or a variable of the site such as $SCRATCH,"
            " and contains only letters, digits, spaces and @%%+=:,._-" % (name, value)
        )
    parts = value.split("/")
    if ".." in parts:
        raise AccountError("%s: %r contains '..'; write the path without it" % (name, value))
    for part in parts:
        if part in PRIVATE:
            raise AccountError("%s: %r is not allowed, because hpc-onboard does not change %s" % (name, value, part))


def check_word(name: str, value: Any) -> None:
    """Raise AccountError for a value that is not a word of letters, digits, '.', '_' and '-', a letter or digit first.

    name: the option whose value is checked, for the message.
    """
    if not isinstance(value, str) or not WORD.match(value):
        raise AccountError(
            "%s: %r is not a valid name; a name begins with a letter or digit and contains only letters, digits and ._-"
            % (name, value)
        )


def check_secret(value: Any) -> None:
    """Raise AccountError for a key that a program would truncate, execute or misread when it reads the key's file."""
    if not isinstance(value, str) or not value:
        raise AccountError("the key is empty; store the key again")
    if value.strip() != value or re.search(r"\s", value):
        raise AccountError("the key contains white space, such as a line break; copy and store the key again")
    if not re.match(r"^[!-~]+\Z", value):
        raise AccountError("the key contains a control or non-ASCII character; copy and store the key again")
    if value[0] in "$\"'#":
        raise AccountError(
            "the key begins with %s, so enroot would execute or truncate the key; store the key without quotes or"
            " variables" % value[0]
        )


def check_proxies(proxies: Mapping[str, Any]) -> None:
    """Raise AccountError for a proxy with an unknown name, or an address that a shell would misread."""
    for name, proxy in proxies.items():
        if name not in ("http", "https", "no") or not isinstance(proxy, str) or re.search(r"[\s'\"]", proxy):
            raise AccountError(
                "proxies: %s: %r is not valid; expected http: ADDRESS, https: ADDRESS or no: HOSTS" % (name, proxy)
            )


STATE = {"type": "str", "default": "present", "choices": ["present", "absent"]}


class Options:
    """The checked options of one resource, and its name. The controller loads this class without the resource type.

    OPTIONS is an Ansible argument spec: the module's options and the plan's are the same. Options
    of type path may begin with ~ or with a variable of the site ($SCRATCH); the account resolves them.
    The docstring of a subclass documents its module: `make generate` (tools/module_pages.py) reads its parts.
    """

    KIND = ""
    TITLE = ""  # template of the name, in which options are inserted, such as "link %(path)s"
    OPTIONS: Dict[str, Dict[str, Any]] = {}

    def __init__(self, options: Mapping[str, Any]) -> None:
        """Store the options, and name the resource after them. Raise AccountError for an invalid option."""
        self.options = dict(options)
        self.check()
        self.identity = self.name()

    @classmethod
    def with_defaults(cls, given: Mapping[str, Any]) -> Dict[str, Any]:
        """Return the given options, with the default of each option that is missing or None."""
        defaults = {name: spec["default"] for name, spec in cls.OPTIONS.items() if "default" in spec}
        return dict(defaults, **{name: value for name, value in given.items() if value is not None})

    @property
    def note_key(self) -> str:
        """Return the dictionary key of this resource's note in a receipt."""
        return note_key(self.KIND, self.identity)

    def name(self) -> str:
        """Return the name of this resource, which is the same in every run."""
        return self.TITLE % self.options

    def check(self) -> None:
        """Raise AccountError for options that must not be sent to an account; a subclass overrides this."""
