# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What ssh makes of a person's own settings, asked of ssh itself (ssh -G), which connects to nothing."""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import NamedTuple

from ...module_utils._core.errors import AccountError
from .._input.programs import ask
from .._input.ssh_arguments import settings
from . import texts

ANYBODY = "hpc-onboard-is-no-such-host"
SYSTEM = "/etc/ssh/ssh_config"
SECONDS = 10
PLACES = ("hostname", "port", "user", "proxyjump")  # where a name leads
USUAL = {"port": ["22"], "proxyjump": ["none"]}

Said = Mapping[str, Sequence[str]]


class Way(NamedTuple):
    """Where a name leads that is to lead to an account. wanted and found: host, port, user and jump host in words."""

    name: str
    account: str
    wanted: str
    found: str


class Person:
    """Settings of ssh in a file. path: empty for those that ssh reads by itself."""

    def __init__(self, path: str = "") -> None:
        self._file = ["-F", path] if path else []
        self.says = cache(self._says)

    def _says(self, name: str) -> dict[str, list[str]]:
        """What ssh would do for a name. Raises AccountError where it does not take its settings."""
        said = ask(["ssh", *self._file, "-G", "--", name], SECONDS)
        if said.code is None:
            raise AccountError("ssh does not answer here: install the OpenSSH client, 7.3 or newer")
        if said.code != 0:
            words = " ".join(said.errors.replace(self._file[-1] if self._file else "", texts.CONFIG).split())
            raise AccountError(f"ssh does not take its settings: {words[:300]}")
        return settings(said.output)

    def of_its_own(self, name: str) -> dict[str, list[str]]:
        """What is said of this name and not of any: empty where the person has not named it. hostname apart."""
        mine, anybodys = self.says(name), self.says(ANYBODY)
        found = {}
        for word, values in mine.items():
            others = anybodys.get(word)
            if word != "controlpath" and values != others and _neutral(values, name) != _neutral(others, ANYBODY):
                found[word] = values
        return found

    def said_of(self, name: str) -> dict[str, list[str]]:
        """What is said of this name alone, and the host that it leads to."""
        return {**self.of_its_own(name), "hostname": self.says(name)["hostname"]}

    def ways(self, sections: Mapping[str, texts.Found]) -> Iterator[Way]:
        """Where the first name of each account leads, by these settings."""
        for account, one in sections.items():
            if one.names:
                wanted = _wanted(one.body)
                found = self.says(one.names[0])
                yield Way(one.names[0], account, _place(wanted), _place(found))


@contextmanager
def person(config: str, ours: str = "") -> Iterator[Person]:
    """The settings that ~/.ssh/config would be with this text, without our lines; then ours, where some are given."""
    with tempfile.TemporaryDirectory(prefix="hpc.onboard-") as folder:
        path, more = Path(folder) / "config", Path(folder) / "ours"
        more.write_text(ours, encoding="latin-1")
        behind = f"\nMatch all\nInclude {shlex.quote(str(more))}\nMatch all\nInclude {SYSTEM}\n"
        path.write_text(texts.remove(config) + behind, encoding="latin-1")
        yield Person(str(path))


def check(ours: str) -> None:
    """Raise AccountError where ssh does not take these lines of ours: it would take no others either, of any host."""
    with person("", ours) as nobody:
        nobody.says(ANYBODY)


def _neutral(values: Sequence[str] | None, name: str) -> list[str] | None:
    return None if values is None else [value.replace(name, "%n") for value in values]


def _wanted(body: str) -> dict[str, list[str]]:
    """Where an entry leads."""
    first = body.partition("\nHost ")[2].partition("\nHost ")[0]
    said = dict(line.strip().partition(" ")[::2] for line in first.splitlines() if line.startswith(" "))
    return {word: [said[key]] for word, key in zip(PLACES, ("HostName", "Port", "User", "ProxyJump"), strict=True)
            if key in said}  # fmt: skip


def _place(found: Said) -> str:
    """Host, port, user and jump host as a person says them."""
    host, port, user, jump = ((found.get(word) or USUAL.get(word, [""]))[0] for word in PLACES)
    jump = jump.replace("%r@", f"{user}@").replace("[", "").replace("]", "")  # which ssh -G puts around addresses
    text = f"{user}@{host}" if user else host
    text += f" port {port}" if port != "22" else ""
    return f"{text} through {jump}" if jump not in ("", "none") else text
