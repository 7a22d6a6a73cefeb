# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the watches of places share: they gather what they find, and say what they could not look at."""

import os
from typing import Any, Dict, List, Mapping, Optional, Tuple

from .._core.errors import AccountError, printable
from .._core.host import Host
from .watch import Seen, Watch

MACHINE = "{machine}"


class Look(Watch):
    """A watch that notes as it goes. PLACES names the options that are lists of entries with a path each.

    Such a path may begin with a variable of the site. One that cannot be resolved is looked at by nobody, and
    said to be: it costs its own entry and not the others.
    """

    PLACES: Tuple[str, ...] = ()
    KNOWS_SHELL = False  # whether it wants the environment of the login shell, which is asked for once

    def __init__(self, options: Mapping[str, Any]) -> None:
        super().__init__(options)
        self._noted: Dict[Tuple[str, str], Seen] = {}
        self._missed: List[str] = []

    def bound(self, host: Host) -> "Look":
        """The watch with its paths resolved here, before any child is forked that would have to ask again."""
        if self.KNOWS_SHELL:
            host.account.load_environment()
        lists = {name: [_resolved(one, host) for one in self.options[name]] for name in self.PLACES}
        watch = type(self)(dict(self.options, **lists))
        watch.identity = self.identity
        return watch

    def touches(self, host: Host) -> List[str]:
        return [host.home] + [one["path"] for name in self.PLACES for one in self.options[name] if one["path"]]

    def seen(self, host: Host) -> List[Seen]:
        """Everything that was found, in one order."""
        self._noted, self._missed = {}, []
        for name in self.PLACES:
            for one in self.options[name]:
                if one.get("why"):
                    self.miss(one["why"])
        self.look(host)
        return [one for _name, one in sorted(self._noted.items())]

    def unseen(self, host: Host) -> List[str]:
        """What was left out while looking."""
        return list(self._missed)

    def look(self, host: Host) -> None:
        """Look, and call find and miss for what comes up."""
        raise NotImplementedError

    def find(
        self,
        rule: str,
        place: str,
        text: str,
        severity: str = "",
        auto_fix: Optional[Dict[str, Any]] = None,
        case: str = "",
    ) -> None:
        """Note a thing that is found; the first one of a rule at a place counts."""
        one = Seen(rule, printable(place), printable(text), severity, auto_fix, case)
        self._noted.setdefault((one.rule, one.place), one)

    def rules_found(self) -> List[str]:
        """The rules that something was found of so far."""
        return [rule for rule, _place in self._noted]

    def miss(self, text: str) -> None:
        """Note what could not be looked at."""
        if printable(text) not in self._missed:
            self._missed.append(printable(text))

    def places(self, name: str) -> List[Dict[str, Any]]:
        """The entries of an option whose paths are known."""
        return [one for one in self.options[name] if one["path"]]


def _resolved(one: Mapping[str, Any], host: Host) -> Dict[str, Any]:
    path = str(one.get("path") or "").replace(MACHINE, os.uname().machine)
    try:
        return dict(one, path=host.expand(path) if path else "")
    except AccountError as error:
        return dict(one, path="", why=str(error))


def is_in(path: str, folder: str) -> bool:
    """Whether the path is the folder or below it; by names alone."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def real_home(host: Host) -> str:
    """The home with the site's own links followed."""
    return host.resolve(host.home) or host.home


def text_behind(look: Look, host: Host, path: str) -> str:
    """What a text file of the account holds, as latin-1; empty where there is none, or it is somebody else's."""
    try:
        real = host.resolve(path)
        found = host.entry(real) if real else None
        if not real or not found or found.kind != "file" or not (found.mine or is_in(real, real_home(host))):
            return ""
        return host.read(real).decode("latin-1")
    except AccountError as error:
        look.miss(str(error))
        return ""
