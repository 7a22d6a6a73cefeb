# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads how ssh would treat a name with the user's own settings (ssh -G, which does not connect)."""

from __future__ import annotations

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
SECONDS = 10
TARGET = ("hostname", "port", "user", "proxyjump")  # the options that decide where a name points to
USUAL = {"port": ["22"], "proxyjump": ["none"]}

Settings = Mapping[str, Sequence[str]]


class NameTarget(NamedTuple):
    """Where the name of an account points to. desired, actual: host, port, user and jump host as one text."""

    name: str
    account: str
    desired: str
    actual: str


class SshSettings:
    """Settings of ssh. path: of their file; empty for those that ssh reads by default."""

    def __init__(self, path: str = "") -> None:
        self._file = ["-F", path] if path else []
        self.resolve = cache(self._resolve)

    def _resolve(self, name: str) -> dict[str, list[str]]:
        """Return the output of ssh -G for a name, by keyword. Raise AccountError if ssh refuses its settings."""
        done = run_program(["ssh", *self._file, "-G", "--", name], SECONDS)
        if done.code is None:
            raise AccountError("ssh does not answer on this machine: install the OpenSSH client, 7.3 or newer")
        if done.code != 0:
            words = " ".join(done.errors.replace(self._file[-1] if self._file else "", texts.CONFIG).split())
            raise AccountError(f"ssh refuses its settings: {words[:300]}")
        return parse_settings(done.output)

    def own_options(self, name: str) -> dict[str, list[str]]:
        """Return the options that hold for this name and not for every one; {} if the settings do not mention it."""
        own, general = self.resolve(name), self.resolve(UNNAMED)
        found = {}
        for word, values in own.items():
            others = general.get(word)
            if word != "controlpath" and values != others and _neutral(values, name) != _neutral(others, UNNAMED):
                found[word] = values
        return found

    def options_for_host(self, name: str) -> dict[str, list[str]]:
        """Return the options that hold for this name alone, and its hostname."""
        return {**self.own_options(name), "hostname": self.resolve(name)["hostname"]}

    def list_targets(self, sections: Mapping[str, texts.NameSection]) -> Iterator[NameTarget]:
        """Yield where the first name of each account points to with these settings."""
        for account, one in sections.items():
            if one.names:
                actual = self.resolve(one.names[0])
                yield NameTarget(one.names[0], account, _describe(_read_target(one.body)), _describe(actual))


@contextmanager
def open_settings(config: str, ours: str = "") -> Iterator[SshSettings]:
    """Provide the settings of a ~/.ssh/config with this text, the included text in place of the block."""
    with tempfile.TemporaryDirectory(prefix="hpc.onboard-") as folder:
        path, more = Path(folder) / "config", Path(folder) / "ours"
        more.write_text(ours, encoding="latin-1")
        behind = f"\nMatch all\nInclude {shlex.quote(str(more))}\nMatch all\nInclude {SYSTEM}\n"
        path.write_text(texts.remove_block(config) + behind, encoding="latin-1")
        yield SshSettings(str(path))


def require_valid(ours: str) -> None:
    """Raise AccountError if ssh refuses these lines: it would then refuse all its settings, for every host."""
    with open_settings("", ours) as settings_of_entry:
        settings_of_entry.resolve(UNNAMED)


def _neutral(values: Sequence[str] | None, name: str) -> list[str] | None:
    return None if values is None else [value.replace(name, "%n") for value in values]


def _read_target(body: str) -> dict[str, list[str]]:
    """Return where the entry in a section points to."""
    first = body.partition("\nHost ")[2].partition("\nHost ")[0]
    said = dict(line.strip().partition(" ")[::2] for line in first.splitlines() if line.startswith(" "))
    return {word: [said[key]] for word, key in zip(TARGET, ("HostName", "Port", "User", "ProxyJump"), strict=True)
            if key in said}  # fmt: skip


def _describe(parse_settings: Settings) -> str:
    """Return host, port, user and jump host as one text."""
    host, port, user, jump = ((parse_settings.get(word) or USUAL.get(word, [""]))[0] for word in TARGET)
    jump = jump.replace("%r@", f"{user}@").replace("[", "").replace("]", "")  # which ssh -G puts around addresses
    text = f"{user}@{host}" if user else host
    text += f" port {port}" if port != "22" else ""
    return f"{text} through {jump}" if jump not in ("", "none") else text
