# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the options that ssh would use for a name, with the user's own settings (ssh -G, which does not connect).

The block is the lines in ~/.ssh/config that include the file of hpc-onboard. That file has a section for each account,
in which an entry ("Host NAME" with options) gives the account a short name for ssh.
"""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import NamedTuple

from ...module_utils._core.errors import AccountError
from .._input.programs import run_program
from .._input.ssh_arguments import parse_settings
from . import texts

UNNAMED = "hpc-onboard-is-no-such-host"  # a name that no settings mention
SYSTEM = "/etc/ssh/ssh_config"
SECONDS = 10  # time limit of ssh -G
TARGET_KEYWORDS = ("hostname", "port", "user", "proxyjump")  # the options that decide where a name points to
DEFAULTS = {"port": ["22"], "proxyjump": ["none"]}

Settings = Mapping[str, Sequence[str]]


class NameTarget(NamedTuple):
    """The destination of an account's ssh name, as host, port, user and jump host in one text.

    desired: as hpc-onboard has written it. actual: as ssh uses it.
    """

    name: str
    account: str
    desired: str
    actual: str


class SshSettings:
    """Settings of ssh. path: of a settings file; empty for the usual files of ssh."""

    def __init__(self, path: str = "") -> None:
        self._path = path
        self.resolve = cache(self._resolve)  # each call runs ssh

    def _resolve(self, name: str, user: str = "") -> dict[str, list[str]]:
        """Return the output of ssh -G for a name, by keyword. Raise AccountError if ssh refuses the settings.

        user: on that host; empty for the one that the settings set.
        """
        options = [*(["-F", self._path] if self._path else []), *(["-l", user] if user else [])]
        result = run_program(["ssh", *options, "-G", "--", name], SECONDS)
        if result.code is None:
            raise AccountError("ssh does not run on this machine. Install the OpenSSH client, 7.3 or newer")
        if result.code != 0:
            errors = result.errors
            if self._path:  # the user knows the files in ~/.ssh, not these temporary copies
                errors = errors.replace(os.path.dirname(self._path), texts.FOLDER)
            raise AccountError(f"ssh refuses the settings: {' '.join(errors.split())[:300]}")
        return parse_settings(result.output)

    def own_options(self, name: str, user: str = "") -> dict[str, list[str]]:
        """Return the options that apply to this name, but not to all names; {} if the settings do not mention it.

        user: see _resolve. Options for all hosts on which the user has this name are included.
        """
        options, general_options = self.resolve(name, user), self.resolve(UNNAMED)
        own_options = {}
        for keyword, values in options.items():
            general_values = general_options.get(keyword)
            is_same = values == general_values or _replace_name(values, name) == _replace_name(general_values, UNNAMED)
            if keyword != "controlpath" and not is_same:  # a controlpath can contain a hash of the name
                own_options[keyword] = values
        return own_options

    def options_for_host(self, name: str, user: str) -> dict[str, list[str]]:
        """Return the options that apply to this name and user, but not to all names, and its hostname."""
        return {**self.own_options(name, user), "hostname": self.resolve(name, user)["hostname"]}

    def list_targets(self, sections: Mapping[str, texts.NameSection]) -> Iterator[NameTarget]:
        """Yield the target of each account's first name: as runs connect to its host, and as ssh uses the name.

        sections: by account. The first name is that of the account; a second one is that of its jump host. Runs use the
        options of the section, and for the others the user's own settings.
        """
        for account, section in sections.items():
            if section.names:
                name, options = section.names[0], _read_target(section.body)
                host, user = (options.get(keyword, [""])[0] for keyword in ("hostname", "user"))
                desired = _describe_target({**self.resolve(host, user), **options} if host else options)
                actual = _describe_target(self.resolve(name))
                yield NameTarget(name, account, desired, actual)


@contextmanager
def open_settings(config: str, included: str = "") -> Iterator[SshSettings]:
    """Yield the settings that ssh would have with these two texts, in temporary files.

    config: the text of ~/.ssh/config. included: of the file that its block includes.
    """
    with tempfile.TemporaryDirectory(prefix="hpc.onboard-") as folder:
        # with the names of the user's files, which _resolve() shows in errors
        path, included_path = (Path(folder) / os.path.basename(file) for file in (texts.CONFIG, texts.FILE))
        included_path.write_text(included, encoding="latin-1")
        block = f"\nMatch all\nInclude {shlex.quote(str(included_path))}\nMatch all\nInclude {SYSTEM}\n"
        # With -F, ssh reads only this file, so it must include the file of the system, too.
        path.write_text(texts.remove_block(config) + block, encoding="latin-1")
        yield SshSettings(str(path))


def require_valid(lines: str) -> None:
    """Raise AccountError if ssh refuses these lines. In its settings, they would make ssh refuse every connection."""
    with open_settings(config="", included=lines) as settings:
        settings.resolve(UNNAMED)


def _replace_name(values: Sequence[str] | None, name: str) -> list[str] | None:
    """Return the values without the name, which ssh -G puts into some of them, so that they can be compared.

    Return None for None: the keyword is not set.
    """
    return None if values is None else [value.replace(name, "%n") for value in values]


def _read_target(body: str) -> dict[str, list[str]]:
    """Return the options in the first entry of a section, as _resolve returns those of ssh. body: of the section."""
    entry = body.partition("\nHost ")[2].partition("\nHost ")[0]
    options = (line.strip().partition(" ") for line in entry.splitlines() if line.startswith(" "))
    return {keyword.lower(): [value] for keyword, _blank, value in options}


def _describe_target(options: Settings) -> str:
    """Return host, port, user and jump host as one text. options: from ssh -G, by lower-case keyword."""
    host, port, user, jump = ((options.get(keyword) or DEFAULTS.get(keyword, [""]))[0] for keyword in TARGET_KEYWORDS)
    jump = jump.replace("%r@", f"{user}@").replace("[", "").replace("]", "")  # ssh -G puts addresses in brackets
    text = f"{user}@{host}" if user else host
    if port != "22":
        text += f" port {port}"
    return f"{text} through {jump}" if jump not in ("", "none") else text
